#if URLSession
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

import Networking
@testable import NetworkingBackgroundTransfers

private let home = URL(filePath: "/home/app")

// MARK: - The record

@Suite(.tags(.concurrency))
struct BackgroundTransferRecordTests {
    @Test(
        arguments: [
            nil,
            .file(URL(filePath: "/home/app/Documents/a b/ü~.pdf")),
            .file(URL(filePath: "/elsewhere/report.pdf"), ifExists: .replace),
            .file(URL(filePath: "/home/application/report.pdf"), ifExists: .number),
            .directory(URL(filePath: "/home/app/Documents")),
            .directory(URL(filePath: "/elsewhere"), ifExists: .fail),
        ] as [DownloadDestination?]
    )
    func recordIsReadAsItWasWritten(destination: DownloadDestination?) throws {
        let record = BackgroundTransferRecord(
            id: "film \"42\"\n",
            destination: destination,
            acceptedStatuses: StatusSet(200...299).union([404]),
            secretQueryItems: ["key", "ticket"],
            hidesTarget: true
        )
        let read = try BackgroundTransferRecord(record.text(home: home), home: home)
        #expect(read.id == record.id)
        #expect(read.destination?.url.path == destination?.url.path)
        #expect(read.destination?.place == destination?.place)
        #expect(read.destination?.existingFile == destination?.existingFile)
        #expect(read.acceptedStatuses == record.acceptedStatuses)
        #expect(read.secretQueryItems == record.secretQueryItems)
        #expect(read.hidesTarget)
    }

    @Test(arguments: [StatusSet.all, [], [200], .successful])
    func statusesAreReadAsTheyWereWritten(statuses: StatusSet) throws {
        let record = BackgroundTransferRecord(id: "a", acceptedStatuses: statuses)
        #expect(try BackgroundTransferRecord(record.text(home: home), home: home) == record)
    }

    /// An update can move the container of the app.
    @Test func pathsInTheHomeOfTheAppAreRelative() throws {
        let record = BackgroundTransferRecord(id: "a", destination: .file(URL(filePath: "/home/app/Library/a.txt")))
        let moved = try BackgroundTransferRecord(record.text(home: home), home: URL(filePath: "/home/other/"))
        #expect(moved.destination?.url.path == "/home/other/Library/a.txt")
    }

    /// Records of earlier library versions stay readable.
    @Test func recordsOfVersionOneAreReadable() throws {
        let text = """
            {"acceptedStatuses":[[200,299]],"destination":{"existingFile":"number","isDirectory":true,\
            "path":"~/Documents"},"hidesTarget":false,"id":"film","secretQueryItems":["key"],"version":1}
            """
        let record = BackgroundTransferRecord(
            id: "film",
            destination: .directory(URL(filePath: "/home/app/Documents")),
            secretQueryItems: ["key"]
        )
        #expect(try record.text(home: home) == text)
        #expect(try BackgroundTransferRecord(text, home: home).destination?.url.path == "/home/app/Documents")
    }

    @Test(
        arguments: [
            (nil, "no record"), ("", "damaged"), ("film", "damaged"), ("{}", "damaged"), ("[1]", "damaged"),
            (#"{"version":1}"#, "damaged"), (#"{"version":"1"}"#, "damaged"),
            (#"{"version":2,"id":"film"}"#, "version 2"),
            (
                #"{"version":1,"id":"a","acceptedStatuses":[[300,200]],"secretQueryItems":[],"hidesTarget":false}"#,
                "damaged"
            ),
            (
                #"{"version":1,"id":"a","acceptedStatuses":[],"secretQueryItems":[],"hidesTarget":false,"#
                    + #""destination":{"isDirectory":false,"path":"/a","existingFile":"merge"}}"#,
                "damaged"
            ),
        ] as [(String?, String)]
    )
    func unreadableRecordIsAnError(text: String?, word: String) {
        let error = #expect(throws: BackgroundTransferRecord.Unreadable.self) {
            try BackgroundTransferRecord(text, home: home)
        }
        #expect(error?.reason.contains(word) == true)
    }

    @Test func resumeDataContainTheirRecord() throws {
        let ledger = BackgroundTransferLedger(home: home)
        let record = BackgroundTransferRecord(id: "film", destination: .file(URL(filePath: "/home/app/film")))
        let description = try ledger.description(for: record)
        let kept = try #require(ledger.resumeData(Data("system".utf8), of: description))
        let resumed = try ledger.resumption(of: "other", from: kept)
        #expect(resumed.systemData == Data("system".utf8))
        let read = try BackgroundTransferRecord(resumed.description, home: home)
        #expect(read.id == "other")
        #expect(read.destination == record.destination)

        #expect(ledger.resumeData(nil, of: description) == nil)
        #expect(ledger.resumeData(Data(), of: "something else") == nil)
        let error = #expect(throws: NetworkingError.self) { try ledger.resumption(of: "film", from: Data("{}".utf8)) }
        #expect(error?.kind == .invalidRequest)
    }
}

// MARK: - Requests

struct BackgroundDepartureTests {
    private let destination = DownloadDestination.file(URL(filePath: "/home/app/film"))

    private func refusal(_ body: () throws -> BackgroundDeparture) -> NetworkingError.Kind? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? NetworkingError)?.kind
        }
    }

    @Test func stackRewritesTheRequest() throws {
        let network = MockTransport().server(authority: "films.example").server(customHeaderField: "X-App", "1")
        var request = HTTPRequestData(path: "42", headerFields: [.authorization: "Bearer secret"])
        request.acceptedStatuses = [200]
        request.query.size = "4k"
        let departure = try BackgroundDeparture(request, id: "film", to: destination, over: network)
        #expect(departure.request.url?.absoluteString == "https://films.example/42?size=4k")
        #expect(departure.request.value(forHTTPHeaderField: "X-App") == "1")
        #expect(departure.request.value(forHTTPHeaderField: "Authorization") == "Bearer secret")
        #expect(departure.record.acceptedStatuses == [200])
        let text = try departure.record.text(home: home)
        #expect(!text.contains("Bearer") && !text.contains("4k") && !text.contains("films.example"))
    }

    @Test func targetWithAMarkedSecretIsRedacted() throws {
        let network = MockTransport().server(authority: "films.example")
        var request = HTTPRequestData(path: "reset/t0ps3cret")
        request.markSecret("t0ps3cret")
        let departure = try BackgroundDeparture(request, id: "film", to: destination, over: network)
        #expect(departure.record.hidesTarget)
        #expect(try !departure.record.text(home: home).contains("t0ps3cret"))
        #expect(!everyPrint(of: HTTPRequestData(departure.request, of: departure.record)).contains("t0ps3cret"))
    }

    @Test func unsupportedRequestIsAnError() async throws {
        let network = MockTransport().server(authority: "films.example")
        let withBody = HTTPRequestData(method: .post, body: .data(Data("a".utf8)))
        let place = destination.url
        #expect(refusal { try .init(withBody, id: "a", to: destination, over: network) } == .invalidRequest)
        #expect(refusal { try .init(withBody, id: "a", sending: place, over: network) } == .invalidRequest)
        var withSink = HTTPRequestData()
        withSink.sink = CollectingSink(failingAt: .offer)
        #expect(refusal { try .init(withSink, id: "a", to: destination, over: network) } == .invalidRequest)
        let remote = DownloadDestination.file(URL(string: "https://films.example/a")!)
        let plain = HTTPRequestData()
        #expect(refusal { try .init(plain, id: "a", to: remote, over: network) } == .invalidRequest)
        let homeless = MockTransport()
        #expect(refusal { try .init(plain, id: "a", to: destination, over: homeless) } == .invalidRequest)
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "film.mov")
            try Data("film".utf8).write(to: file)
            #expect(refusal { try .init(withSink, id: "a", sending: file, over: network) } == .invalidRequest)
            for missing in [directory, directory.appending(path: "missing")] {
                #expect(refusal { try .init(plain, id: "a", sending: missing, over: network) } == .storage)
            }
        }
    }

    @Test func uploadHasTheTypeAndLengthOfItsFile() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "photo.png")
            try Data("photo".utf8).write(to: file)
            let network = MockTransport().server(authority: "photos.example")
            let departure = try BackgroundDeparture(HTTPRequestData(), id: "photo", sending: file, over: network)
            #expect(departure.request.httpMethod == "POST")
            #expect(departure.request.value(forHTTPHeaderField: "Content-Type") == "image/png")
            #expect(departure.request.httpBody == nil && departure.request.httpBodyStream == nil)
            #expect(departure.record.destination == nil)
        }
    }
}

// MARK: - Events

@Suite(.tags(.concurrency))
struct BackgroundTransferEventsTests {
    private let failure = BackgroundTransferFailure(CancellationError())

    private func progress(_ count: Int64, of id: String) -> BackgroundTransferEvent {
        .progress(id: id, TransferProgress(received: BytesReceived(count: count)))
    }

    /// Returns the waiting events as text.
    private func waiting(_ events: BackgroundTransferEvents, upTo last: String = "all") async -> [String] {
        var texts: [String] = []
        for await event in events.stream {
            texts.append(event.short)
            if texts.last == last { break }
        }
        return texts
    }

    @Test func eventsWaitForAReaderWithTheLatestProgressOnly() async {
        let events = BackgroundTransferEvents()
        for count in 1...1_000 {
            events.send(progress(Int64(count), of: "a"))
            events.send(progress(Int64(count * 2), of: "b"))
        }
        events.send(.failed(id: "c", failure))
        events.send(.unrecognized(failure))
        events.send(progress(1_001, of: "a"))
        events.send(.allDelivered)
        #expect(await waiting(events) == ["a 1001", "b 2000", "c failed", "unrecognized", "all"])
    }

    @Test func outdatedProgressIsSkipped() async {
        let events = BackgroundTransferEvents()
        events.send(progress(1, of: "a"))
        events.send(.failed(id: "a", failure))
        // A new transfer with the same ID.
        events.send(progress(0, of: "a"))
        events.send(progress(2, of: "a"))
        events.send(.failed(id: "a", failure))
        events.send(progress(3, of: "a"))
        events.send(.allDelivered)
        #expect(await waiting(events) == ["a failed", "a failed", "a 3", "all"])
    }

    @Test func nextReaderContinuesAfterTheLastReadEvent() async {
        let events = BackgroundTransferEvents()
        events.send(.failed(id: "a", failure))
        events.send(.failed(id: "b", failure))
        events.send(.allDelivered)
        #expect(await waiting(events, upTo: "a failed") == ["a failed"])
        #expect(await waiting(events) == ["b failed", "all"])
    }

    @Test func cancelledReaderConsumesNoEvent() async {
        let events = BackgroundTransferEvents()
        let reader = Task { await waiting(events) }
        reader.cancel()
        #expect(await reader.value == [])
        events.send(.allDelivered)
        #expect(await waiting(events) == ["all"])
    }

    @Test func readerWaitsForEvents() async {
        let events = BackgroundTransferEvents()
        async let texts = waiting(events)
        for count in 1...50 {
            events.send(.failed(id: "\(count)", failure))
            await Task.yield()
        }
        events.send(.allDelivered)
        #expect(await texts == (1...50).map { "\($0) failed" } + ["all"])
    }

    @MainActor
    @Test func systemHandlerIsCalledOnceAfterTheEvents() async {
        let events = BackgroundTransferEvents()
        var calls = 0
        events.whenDelivered {
            MainActor.assertIsolated()
            calls += 1
        }
        events.send(.failed(id: "a", failure))
        events.send(.allDelivered)
        events.send(.allDelivered)
        var reader = events.stream.makeAsyncIterator()
        _ = await reader.next(isolation: nil)
        #expect(calls == 0)
        _ = await reader.next(isolation: nil)
        #expect(calls == 1)
        _ = await reader.next(isolation: nil)
        #expect(calls == 1)
    }
}

// MARK: - Ends of transfers

@Suite(.tags(.concurrency))
struct BackgroundTransferLedgerTests {
    /// A ledger in its own directory, and the reported progress of one transfer.
    private struct Bench {
        let directory: URL
        let ledger: BackgroundTransferLedger
        var url = "https://films.example/v1/film.mov?size=4k"

        init(_ directory: URL) {
            self.directory = directory
            ledger = BackgroundTransferLedger(home: directory, temporaryDirectory: directory)
        }

        func task(
            _ record: BackgroundTransferRecord?,
            status: Int? = 200,
            headerFields: [String: String] = [:],
            isDownload: Bool = true
        ) throws -> BackgroundTransferLedger.EndOfTask {
            let url = try #require(URL(string: url))
            return BackgroundTransferLedger.EndOfTask(
                number: 7,
                description: try record.map { try ledger.description(for: $0) },
                isDownload: isDownload,
                request: URLRequest(url: url),
                response: status.flatMap {
                    HTTPURLResponse(url: url, statusCode: $0, httpVersion: "HTTP/1.1", headerFields: headerFields)
                }
            )
        }

        /// Ends a download with a file and returns its last event.
        func download(
            _ task: BackgroundTransferLedger.EndOfTask,
            _ text: String = "film"
        ) async throws -> BackgroundTransferEvent {
            let file = directory.appending(path: "system-\(UUID())")
            try Data(text.utf8).write(to: file)
            ledger.take(file, of: task)
            // The system deletes the file after the delegate call.
            try? FileManager.default.removeItem(at: file)
            return try await end(task)
        }

        func end(
            _ task: BackgroundTransferLedger.EndOfTask,
            with error: (any Error)? = nil,
            resumeData: Data? = nil
        ) async throws -> BackgroundTransferEvent {
            ledger.end(task, with: error, resumeData: resumeData)
            ledger.events.send(.allDelivered)
            var reader = ledger.events.stream.makeAsyncIterator()
            let event = try #require(await reader.next())
            let end = try #require(await reader.next())
            #expect(end.short == "all", "A transfer ends once.")
            return event
        }

        func text(_ name: String) -> String? {
            try? String(contentsOf: directory.appending(path: name), encoding: .utf8)
        }

        var names: [String] {
            get throws { try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() }
        }
    }

    @Test func downloadIsMovedToItsDestination() async throws {
        try await withTemporaryDirectory { directory in
            let bench = Bench(directory)
            let place = directory.appending(path: "mine.mov")
            let event = try await bench.download(
                bench.task(BackgroundTransferRecord(id: "film", destination: .file(place)))
            )
            guard case .finished("film", let response, let file) = event else {
                Issue.record("\(event)")
                return
            }
            #expect(file?.path == place.path)
            #expect(bench.text("mine.mov") == "film")
            #expect(response.status == .ok && response.body == .delivered(byteCount: 4))
            #expect(response.url?.absoluteString == bench.url)
            #expect(try bench.names == ["mine.mov"])
        }
    }

    @Test func serverNamesAFileInADirectory() async throws {
        try await withTemporaryDirectory { directory in
            let bench = Bench(directory)
            let record = BackgroundTransferRecord(id: "film", destination: .directory(directory))
            _ = try await bench.download(bench.task(record), "1")
            _ = try await bench.download(bench.task(record), "2")
            let fields = ["Content-Disposition": "attachment; filename=\"../../etc/passwd\""]
            _ = try await bench.download(bench.task(record, headerFields: fields), "3")
            // The path is redacted, but it provides the name of the file.
            var secret = record
            secret.hidesTarget = true
            let event = try await bench.download(bench.task(secret), "4")
            #expect(!everyPrint(of: event).contains("v1") && !everyPrint(of: event).contains("4k"))
            #expect(try bench.names == ["film 2.mov", "film 3.mov", "film.mov", "passwd"])
            #expect(bench.text("film.mov") == "1" && bench.text("film 3.mov") == "4")
        }
    }

    @Test(arguments: [404, 401, 503, 304])
    func pageOfAnErrorIsNotStored(status: Int) async throws {
        try await withTemporaryDirectory { directory in
            let bench = Bench(directory)
            let place = directory.appending(path: "film.mov")
            try Data("old".utf8).write(to: place)
            let record = BackgroundTransferRecord(id: "film", destination: .file(place, ifExists: .replace))
            let event = try await bench.download(bench.task(record, status: status), "not here")
            let error = try #require(event.failure?.error as? NetworkingError)
            #expect(error.kind == (status == 401 ? .unauthorized : .status))
            #expect(error.bodyText == "not here")
            #expect(try bench.names == ["film.mov"])
            #expect(bench.text("film.mov") == "old")
        }
    }

    @Test func acceptedStatusesOfTheRequestAreApplied() async throws {
        try await withTemporaryDirectory { directory in
            let bench = Bench(directory)
            var record = BackgroundTransferRecord(id: "film", destination: .directory(directory))
            // A 206 is the response to a transfer that the system has resumed.
            let cases: [(StatusSet, status: Int, isAccepted: Bool)] = [
                ([200], 202, false), ([200], 206, true), ([404], 404, true), ([404], 206, false),
            ]
            for (statuses, status, isAccepted) in cases {
                record.acceptedStatuses = statuses
                let event = try await bench.download(bench.task(record, status: status))
                #expect((event.failure == nil) == isAccepted, "\(status)")
            }
        }
    }

    @Test func fileThatCannotBeMovedIsKept() async throws {
        try await withTemporaryDirectory { directory in
            let bench = Bench(directory)
            let place = directory.appending(path: "film.mov")
            try Data("old".utf8).write(to: place)
            let taken = BackgroundTransferRecord(id: "film", destination: .file(place))
            let nowhere = directory.appending(path: "no/film.mov")
            let lost = BackgroundTransferRecord(id: "film", destination: .file(nowhere))
            for (record, words) in [(taken, "already"), (lost, "There is no directory")] {
                let event = try await bench.download(bench.task(record), "new")
                let failure = try #require(event.failure)
                let error = try #require(failure.error as? NetworkingError)
                #expect(error.kind == .storage && error.response?.status == .ok)
                #expect(error.reason.contains(words), "\(error.reason)")
                let saved = try #require(failure.savedFile)
                #expect(try String(contentsOf: saved, encoding: .utf8) == "new")
                #expect("\(failure)".contains(saved.path))
            }
            #expect(bench.text("film.mov") == "old")
        }
    }

    @Test func unknownTransferIsReported() async throws {
        try await withTemporaryDirectory { directory in
            let bench = Bench(directory)
            guard case .unrecognized(let failure) = try await bench.download(bench.task(nil), "whose?") else {
                Issue.record("The transfer was recognized.")
                return
            }
            let saved = try #require(failure.savedFile)
            #expect(try String(contentsOf: saved, encoding: .utf8) == "whose?")
            #expect(!everyPrint(of: failure).contains("size"))
            guard case .unrecognized = try await bench.end(bench.task(nil), with: URLError(.timedOut)) else {
                Issue.record("The transfer was recognized.")
                return
            }
        }
    }

    @Test func responseOtherThanHTTPIsAFailure() async throws {
        try await withTemporaryDirectory { directory in
            let bench = Bench(directory)
            let record = BackgroundTransferRecord(id: "film", destination: .directory(directory))
            let event = try await bench.download(bench.task(record, status: nil))
            #expect((event.failure?.error as? NetworkingError)?.kind == .invalidResponse)
            // The transfer ended without a file and without an error.
            let nothing = try await bench.end(bench.task(record))
            #expect((nothing.failure?.error as? NetworkingError)?.kind == .storage)
            #expect(try bench.names == [])
        }
    }

    @Test func uploadReturnsItsResponse() async throws {
        try await withTemporaryDirectory { directory in
            let bench = Bench(directory)
            let record = BackgroundTransferRecord(id: "photo")
            bench.ledger.receive(Data("{\"id\":".utf8), of: 7)
            bench.ledger.receive(Data("1}".utf8), of: 7)
            let event = try await bench.end(bench.task(record, status: 201, isDownload: false))
            guard case .finished("photo", let response, nil) = event else {
                Issue.record("\(event)")
                return
            }
            #expect(response.status == .created && response.data == Data("{\"id\":1}".utf8))

            bench.ledger.receive(Data(count: 3 << 20), of: 7)
            bench.ledger.receive(Data(count: 1), of: 7)
            let refused = try await bench.end(bench.task(record, status: 413, isDownload: false))
            let error = try #require(refused.failure?.error as? NetworkingError)
            #expect(error.kind == .status && error.response?.data.count == BackgroundTransferLedger.maximumBody)

            // The received bytes do not belong to the next task.
            let next = try await bench.end(bench.task(record, isDownload: false))
            guard case .finished(_, let last, _) = next else {
                Issue.record("\(next)")
                return
            }
            #expect(last.data.isEmpty)
        }
    }

    @Test func errorsAreNetworkingErrors() async throws {
        try await withTemporaryDirectory { directory in
            var bench = Bench(directory)
            bench.url = "https://films.example/film.mov?ticket=t0ps3cret&token=t0ps3cret"
            let record = BackgroundTransferRecord(
                id: "film",
                destination: .directory(directory),
                secretQueryItems: ["ticket"]
            )
            let task = try bench.task(record, status: nil)
            let codes: [(URLError.Code, NetworkingError.Kind)] = [
                (.timedOut, .timeout), (.notConnectedToInternet, .offline), (.cannotFindHost, .nameResolution),
                (.networkConnectionLost, .connectionLost), (.cannotWriteToFile, .storage),
            ]
            for (code, kind) in codes {
                let error = URLError(code, userInfo: [NSURLErrorFailingURLErrorKey: bench.url])
                let event = try await bench.end(task, with: error, resumeData: Data("t0ps3cret".utf8))
                let failure = try #require(event.failure)
                #expect((failure.error as? NetworkingError)?.kind == kind)
                #expect(!failure.isCancellation)
                #expect(!everyPrint(of: event).contains("t0ps3cret"))
                #expect(!everyPrint(of: failure).contains("t0ps3cret"))
                let kept = try #require(failure.resumeData)
                #expect(try bench.ledger.resumption(of: "film", from: kept).systemData == Data("t0ps3cret".utf8))
            }
        }
    }

    @Test func cancellationReasonIsReported() async throws {
        try await withTemporaryDirectory { directory in
            let bench = Bench(directory)
            let task = try bench.task(BackgroundTransferRecord(id: "film", destination: .directory(directory)))
            let own = try await bench.end(task, with: URLError(.cancelled), resumeData: Data("1".utf8))
            #expect(own.failure?.isCancellation == true && own.failure?.resumeData != nil)
            let reasons = [(0, "quit"), (1, "background"), (2, "resources"), (99, "ended the transfer. ")]
            for (reason, words) in reasons {
                let error = URLError(.cancelled, userInfo: [NSURLErrorBackgroundTaskCancelledReasonKey: reason])
                let systems = try await bench.end(task, with: error)
                let failure = try #require(systems.failure?.error as? NetworkingError)
                #expect(failure.kind == .connectionLost && failure.reason.contains(words))
            }
        }
    }

    /// A transfer ends once, even if an error follows its file.
    @Test func errorAfterTheFileIsIgnored() async throws {
        try await withTemporaryDirectory { directory in
            let bench = Bench(directory)
            let task = try bench.task(BackgroundTransferRecord(id: "film", destination: .directory(directory)))
            let file = directory.appending(path: "system")
            try Data("film".utf8).write(to: file)
            bench.ledger.take(file, of: task)
            #expect(try await bench.end(task, with: URLError(.networkConnectionLost)).failure == nil)
            #expect(try bench.names == ["film.mov"])
        }
    }

    @Test func unknownTotalIsNil() async throws {
        let ledger = BackgroundTransferLedger(home: home)
        let description = try ledger.description(for: BackgroundTransferRecord(id: "a"))
        let other = try ledger.description(for: BackgroundTransferRecord(id: "b"))
        ledger.progress(of: description, received: (5, of: -1))
        ledger.progress(of: other, sent: (5, of: 10))
        ledger.progress(of: "of nobody", sent: (5, of: 10))
        ledger.events.send(.allDelivered)
        var progressEvents: [TransferProgress] = []
        for await event in ledger.events.stream {
            guard case .progress(_, let progress) = event else { break }
            progressEvents.append(progress)
        }
        #expect(
            progressEvents == [
                TransferProgress(received: BytesReceived(count: 5)),
                TransferProgress(sent: BytesSent(count: 5, expected: 10)),
            ]
        )
    }

    /// Shared memory is a separate volume on Linux.
    @Test(.requires(.sharedMemory))
    func fileIsMovedToAnotherVolume() async throws {
        try await withTemporaryDirectory { directory in
            let other = URL(filePath: "/dev/shm/networking-tests-\(UUID())")
            try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: other) }
            let name = String(repeating: "a", count: 255)
            for policy in [ExistingFilePolicy.fail, .replace, .number] {
                let file = directory.appending(path: "film")
                try Data("film \(policy)".utf8).write(to: file)
                let place = other.appending(path: policy == .fail ? name : "film").path
                let path = try FilePlacement.move(file.path, to: place, ifExists: policy)
                #expect(try String(contentsOfFile: path, encoding: .utf8) == "film \(policy)")
                #expect(!FileManager.default.fileExists(atPath: file.path))
            }
            let file = directory.appending(path: "film")
            try Data("new".utf8).write(to: file)
            #expect(throws: FileFault.self) {
                try FilePlacement.move(file.path, to: other.appending(path: "film").path, ifExists: .fail)
            }
            // The copy on the other volume is removed if it cannot get its name.
            let folder = other.appending(path: "folder")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            #expect(throws: FileFault.self) {
                try FilePlacement.move(file.path, to: folder.path, ifExists: .replace)
            }
            #expect(try String(contentsOf: file, encoding: .utf8) == "new")
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: other.path).sorted() == [
                    name, "film", "film 2", "folder",
                ]
            )
        }
    }
}

extension BackgroundTransferEvent {
    /// A short description for comparisons.
    fileprivate var short: String {
        switch self {
        case .progress(let id, let progress): "\(id) \(progress.received.count)"
        case .finished(let id, _, _): "\(id) finished"
        case .failed(let id, _): "\(id) failed"
        case .unrecognized: "unrecognized"
        case .allDelivered: "all"
        }
    }

    fileprivate var failure: BackgroundTransferFailure? {
        if case .failed(_, let failure) = self { failure } else { nil }
    }
}
#endif
