import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingTransfers

/// Servers that send inconsistent responses, files that change, and disks with errors.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct HostileDownloadTests {
    private static let bytes = Data((0..<100).map { UInt8($0) })
    private static let changed = Data((0..<80).map { UInt8(200 - $0) })
    private let request = HTTPRequestData(url: URL(string: "https://files.example/film.mp4")!)

    /// Runs a test with a destination beside which a partial file of 40 bytes is stored.
    private func withPartialFile(
        _ options: DownloadOptions = DownloadOptions(),
        _ body: nonisolated(nonsending) (URL, FileOrigin) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let place = directory.appending(path: "film")
            let origin = FileOrigin(Self.bytes, [.eTag: "\"1\""], .breaks(after: 40))
            await #expect(throws: NetworkingError.self) { try await origin.download(request, to: place) }
            try #require(try DownloadState(at: place)?.byteCount == 40)
            try await body(place, origin)
        }
    }

    private func expectUntouched(
        _ place: URL,
        _ count: Int = 40,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let kept = try Data(contentsOf: URL(fileURLWithPath: place.path + ".download"))
        #expect(kept == Self.bytes.prefix(count), sourceLocation: sourceLocation)
        try expectPartialFile(Int64(count), of: place, sourceLocation: sourceLocation)
        #expect(!FileManager.default.fileExists(atPath: place.path), sourceLocation: sourceLocation)
    }

    private func part(_ contentRange: String?, _ count: Int, _ fields: HTTPFields = [:]) -> FileOrigin.Fault {
        var head = HTTPResponse(status: .partialContent, headerFields: fields)
        head.headerFields[.contentRange] = contentRange
        return .responds(head, Data(Self.bytes.suffix(count)))
    }

    // MARK: The file has changed

    /// The new file may be shorter than the kept bytes of the old one.
    @Test(arguments: [80, 20])
    func changedFileIsDownloadedAgain(count: Int) async throws {
        try await withPartialFile { place, origin in
            origin.change(Self.changed.prefix(count), [.eTag: "\"2\""])
            let file = try await origin.download(request, to: place)
            #expect(try Data(contentsOf: place) == Self.changed.prefix(count) && file.resumedByteCount == 0)
            #expect(origin.ranges == [nil, "bytes=40-"])
        }
    }

    @Test func changedFileIsAnErrorIfRequested() async throws {
        try await withPartialFile { place, origin in
            origin.change(Self.changed, [.eTag: "\"2\""])
            let options = DownloadOptions(changedFile: .fail)
            let error = await #expect(throws: NetworkingError.self) {
                try await origin.download(request, to: place, options: options)
            }
            #expect(error?.kind == .representationChanged && error?.response?.headerFields[.eTag] == "\"2\"")
            try expectUntouched(place)
        }
    }

    @Test func fileThatChangesBetweenAttemptsIsDownloadedAgain() async throws {
        try await withPartialFile { place, origin in
            origin.add(.breaks(after: 20))
            let network = origin.modified(Changing(origin: origin)).retry(.exponential(base: .zero))
            try await network.download(request, to: place)
            #expect(try Data(contentsOf: place) == Self.changed)
            #expect(origin.ranges == [nil, "bytes=40-", "bytes=60-"])
        }
    }

    /// Changes the file after a failed attempt.
    private struct Changing: NetworkingModifier {
        let origin: FileOrigin

        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            do {
                return try await upstream.send(request)
            } catch {
                origin.change(HostileDownloadTests.changed, [.eTag: "\"2\""])
                throw error
            }
        }
    }

    @Test func rangeOfAnotherFileIsNeverAppended() async throws {
        // The server does not support If-Range, and its response has the validator of another file.
        for (fields, range) in [
            ([.eTag: "\"2\""], "bytes 40-99/100"), ([.eTag: "W/\"1\""], "bytes 40-99/100"), ([:], "bytes 40-99/120"),
        ] as [(HTTPFields, String)] {
            try await withPartialFile { place, origin in
                origin.add(part(range, 60, fields))
                let options = DownloadOptions(changedFile: .fail)
                let error = await #expect(throws: NetworkingError.self) {
                    try await origin.download(request, to: place, options: options)
                }
                #expect(error?.kind == .representationChanged)
                try expectUntouched(place)

                origin.add(part(range, 60, fields))
                try await origin.download(request, to: place)
                #expect(try Data(contentsOf: place) == Self.bytes)
                #expect(origin.ranges == [nil, "bytes=40-", "bytes=40-", nil])
            }
        }
    }

    // MARK: The server sends something else than requested

    @Test func serverThatIgnoresRangesRestartsTheDownload() async throws {
        try await withPartialFile { place, origin in
            origin.ignoreRanges()
            origin.add(.breaks(after: 20))
            await #expect(throws: NetworkingError.self) { try await origin.download(request, to: place) }
            // The file has not changed, so the partial file remains.
            try expectUntouched(place)
            let file = try await origin.download(request, to: place)
            #expect(try Data(contentsOf: place) == Self.bytes && file.resumedByteCount == 0)
        }
    }

    /// A strong validator names one content, so one of the two lengths is wrong and the bytes cannot be trusted.
    @Test func otherLengthWithTheSameValidatorIsAnotherFile() async throws {
        try await withPartialFile { place, origin in
            origin.ignoreRanges()
            origin.change(Self.changed, [.eTag: "\"1\""])
            let error = await #expect(throws: NetworkingError.self) {
                try await origin.download(request, to: place, options: DownloadOptions(changedFile: .fail))
            }
            #expect(error?.kind == .representationChanged)
            try expectUntouched(place)
            let file = try await origin.download(request, to: place)
            #expect(try Data(contentsOf: place) == Self.changed && file.resumedByteCount == 0)
        }
    }

    @Test func refusedRangeRestartsTheDownload() async throws {
        try await withPartialFile { place, origin in
            let head = HTTPResponse(status: .rangeNotSatisfiable, headerFields: [.contentRange: "bytes */100"])
            origin.add(.responds(head))
            try await origin.download(request, to: place)
            #expect(try Data(contentsOf: place) == Self.bytes)
            #expect(origin.ranges == [nil, "bytes=40-", nil])
        }
        try await withPartialFile { place, origin in
            origin.add(.responds(HTTPResponse(status: .rangeNotSatisfiable)))
            let error = await #expect(throws: NetworkingError.self) {
                try await origin.download(request, to: place, options: DownloadOptions(changedFile: .fail))
            }
            #expect(error?.kind == .representationChanged)
            try expectUntouched(place)
        }
    }

    @Test func refusedRangeOfTheCallerIsAnError() async throws {
        try await withTemporaryDirectory { directory in
            let origin = FileOrigin(Self.bytes)
            let error = await #expect(throws: NetworkingError.self) {
                try await origin.download(
                    request.with { $0.headerFields[.range] = "bytes=200-" },
                    to: directory.appending(path: "film")
                )
            }
            #expect(error?.kind == .status && origin.requests.count == 1)
        }
    }

    /// Each case has a `Content-Range` value, the number of sent bytes, and header fields.
    @Test(
        arguments: [
            ("bytes 50-99/100", 50, [:]),  // a gap
            ("bytes 40-100/100", 60, [:]),  // beyond the end
            ("bytes 99-40/100", 60, [:]),
            ("bytes 40-99", 60, [:]),
            ("lines 40-99/100", 60, [:]),
            ("40-99/100", 60, [:]),
            ("bytes 40-99/100", 60, [.contentLength: "59"]),
            ("bytes 40-59/100", 60, [:]),  // too much data
            (nil, 60, [:]),
            (nil, 60, [.contentType: "multipart/byteranges; boundary=x"]),
        ] as [(String?, Int, HTTPFields)]
    )
    func inconsistentRangeIsAnInvalidResponse(contentRange: String?, count: Int, fields: HTTPFields) async throws {
        try await withPartialFile { place, origin in
            origin.add(part(contentRange, count, fields))
            let error = await #expect(throws: NetworkingError.self) { try await origin.download(request, to: place) }
            #expect(error?.kind == .invalidResponse)
            #expect(error?.reason.contains("kept") == true)
            try expectUntouched(place)
            // The error suggests this option.
            try await origin.download(request, to: place, options: DownloadOptions(partialFile: .discard))
            #expect(try Data(contentsOf: place) == Self.bytes && origin.ranges == [nil, "bytes=40-", nil])
        }
    }

    /// The server sends the rest of the file with the status of the whole file.
    @Test(
        arguments: [
            ("bytes 40-99/100", 60, "60"), ("bytes 40-99/100", 60, nil), ("bytes 40-99/*", 60, "60"),
            ("bytes 0-39/100", 40, "40"), ("bytes 10-99/100", 90, "90"),
        ] as [(String, Int, String?)]
    )
    func partWithTheStatusOfTheWholeIsAnInvalidResponse(range: String, count: Int, length: String?) async throws {
        try await withPartialFile { place, origin in
            var head = HTTPResponse(status: .ok, headerFields: [.eTag: "\"1\"", .contentRange: range])
            head.headerFields[.contentLength] = length
            origin.add(.responds(head, Data(Self.bytes.suffix(count))))
            let error = await #expect(throws: NetworkingError.self) { try await origin.download(request, to: place) }
            #expect(error?.kind == .invalidResponse)
            #expect(error?.reason.contains("kept") == true)
            try expectUntouched(place)
            try await origin.download(request, to: place)
            #expect(try Data(contentsOf: place) == Self.bytes)
        }
    }

    @Test func wholeFileWithItsRangeIsAccepted() async throws {
        try await withPartialFile { place, origin in
            let head = HTTPResponse(status: .ok, headerFields: [.eTag: "\"1\"", .contentRange: "bytes 0-99/100"])
            origin.add(.responds(head, Self.bytes))
            try await origin.download(request, to: place)
            #expect(try Data(contentsOf: place) == Self.bytes)
        }
    }

    @Test func partInPlaceOfTheWholeFileIsNotSaved() async throws {
        try await withTemporaryDirectory { directory in
            let head = HTTPResponse(status: .ok, headerFields: [.contentRange: "bytes 40-99/100"])
            let origin = FileOrigin(Self.bytes, [:], .responds(head, Data(Self.bytes.suffix(60))))
            let error = await #expect(throws: NetworkingError.self) {
                try await origin.download(request, to: directory.appending(path: "film"))
            }
            #expect(error?.kind == .invalidResponse)
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(names == [])
        }
    }

    @Test func rangeThatStartsEarlierIsAccepted() async throws {
        try await withPartialFile { place, origin in
            origin.add(part("bytes 30-99/100", 70, [.eTag: "\"1\""]))
            try await origin.download(request, to: place)
            #expect(try Data(contentsOf: place) == Self.bytes)
        }
    }

    @Test func unexpectedRangeIsAnError() async throws {
        try await withTemporaryDirectory { directory in
            let origin = FileOrigin(Self.bytes, [:], part("bytes 40-99/100", 60))
            let error = await #expect(throws: NetworkingError.self) {
                try await origin.download(request, to: directory.appending(path: "film"))
            }
            #expect(error?.kind == .invalidResponse)
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(names == [])
        }
    }

    @Test func serverWithoutProgressIsNotRequestedForever() async throws {
        try await withPartialFile { place, origin in
            // The server repeatedly sends bytes that the partial file already has.
            for _ in 0..<3 {
                let head = HTTPResponse(
                    status: .partialContent,
                    headerFields: [.contentRange: "bytes 0-9/100", .eTag: "\"1\""]
                )
                origin.add(.responds(head, Self.bytes.prefix(10)))
            }
            let error = await #expect(throws: NetworkingError.self) { try await origin.download(request, to: place) }
            #expect(error?.kind == .truncated && origin.requests.count == 2)
            try expectUntouched(place)
        }
    }

    // MARK: The state

    @Test(arguments: ["{", "[]", "{\"version\":1}", "{\"version\":\"1\"}", "\u{0}\u{0}"])
    func damagedStateIsAnErrorAndKeepsThePartialFile(text: String) async throws {
        try await expectStateError(text, saying: "damaged")
    }

    @Test(arguments: ["{\"version\":0}", "{\"version\":2,\"more\":[]}"])
    func stateOfAnotherFormatIsAnErrorAndKeepsThePartialFile(text: String) async throws {
        try await expectStateError(text, saying: "another version")
    }

    @Test func inconsistentStateIsAnError() async throws {
        for (name, value) in [
            ("length", "-5"), ("synchronizedCount", "101"), ("eTag", "{\"_0\":\"\\\"1\\r\\nX: y\\\"\"}"),
        ] {
            try await withPartialFile { place, origin in
                let path = place.path + ".download-state"
                var state = try #require(
                    try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path)))
                        as? [String: Any]
                )
                let json = try JSONSerialization.jsonObject(with: Data(value.utf8), options: .fragmentsAllowed)
                if name == "eTag" {
                    state["validator"] = ["eTag": json]
                } else {
                    state[name] = json
                }
                try JSONSerialization.data(withJSONObject: state).write(to: URL(fileURLWithPath: path))
                let error = await #expect(throws: NetworkingError.self) {
                    try await origin.download(request, to: place)
                }
                #expect(error?.kind == .storage && error?.reason.contains("damaged") == true, "\(name)")
            }
        }
    }

    private func expectStateError(_ text: String, saying words: String) async throws {
        try await withPartialFile { place, origin in
            try Data(text.utf8).write(to: URL(fileURLWithPath: place.path + ".download-state"))
            let error = await #expect(throws: NetworkingError.self) { try await origin.download(request, to: place) }
            #expect(error?.kind == .storage && error?.reason.contains(words) == true)
            #expect(origin.requests.count == 1)
            #expect(try Data(contentsOf: URL(fileURLWithPath: place.path + ".download")).count == 40)
            let stateError = #expect(throws: DownloadStateError.self) { try DownloadState(at: place) }
            #expect(stateError?.localizedDescription == "A file could not be read or written.")

            try await origin.download(request, to: place, options: DownloadOptions(partialFile: .discard))
            #expect(try Data(contentsOf: place) == Self.bytes)
        }
    }

    @Test func emptyStateAfterACrashRestartsTheDownload() async throws {
        try await withPartialFile { place, origin in
            try Data().write(to: URL(fileURLWithPath: place.path + ".download-state"))
            try await origin.download(request, to: place)
            #expect(try Data(contentsOf: place) == Self.bytes && origin.ranges == [nil, nil])
        }
    }

    @Test func bytesThatWereNotSynchronizedBeforeACrashAreDownloadedAgain() async throws {
        try await withPartialFile { place, origin in
            var record = try #require(try DownloadRecord.read(beside: place.path + ".download"))
            #expect(record.bootSession != nil && record.bootSession == BootSession.current)
            record.bootSession = "an earlier one"
            record.synchronizedCount = 25
            try record.write(beside: place.path + ".download", isDurable: true)
            // A file system can leave a file of the former length with zeros at its end after a crash.
            let bytes = Self.bytes.prefix(25) + Data(count: 15)
            try bytes.write(to: URL(fileURLWithPath: place.path + ".download"))
            let file = try await origin.download(request, to: place)
            #expect(try Data(contentsOf: place) == Self.bytes && file.resumedByteCount == 25)
            #expect(origin.ranges == [nil, "bytes=25-"])
        }
    }

    @Test func bytesThatAreNoLongerInTheFileDoNotCountAsSynchronized() async throws {
        try await withPartialFile { place, origin in
            let path = place.path + ".download"
            var record = try #require(try DownloadRecord.read(beside: path))
            record.synchronizedCount = 40
            try record.write(beside: path, isDurable: true)
            try FileManager.default.removeItem(atPath: path)
            origin.add(.breaks(after: 20))
            await #expect(throws: NetworkingError.self) { try await origin.download(request, to: place) }
            try expectUntouched(place, 20)
            #expect(try #require(try DownloadRecord.read(beside: path)).synchronizedCount == 0)
        }
    }

    @Test func foreignFileIsNotChanged() async throws {
        try await withTemporaryDirectory { directory in
            let place = directory.appending(path: "film")
            let other = URL(fileURLWithPath: place.path + ".download")
            try Data("mine".utf8).write(to: other)
            for policy: DownloadOptions.PartialFile in [.resume, .discard] {
                let origin = FileOrigin(Self.bytes)
                let error = await #expect(throws: NetworkingError.self) {
                    try await origin.download(request, to: place, options: DownloadOptions(partialFile: policy))
                }
                #expect(error?.kind == .storage && error?.reason.contains("is not a partial download") == true)
                #expect(try Data(contentsOf: other) == Data("mine".utf8) && origin.requests.isEmpty)
            }
        }
    }

    @Test func terminationBetweenLinkAndUnlinkIsHarmless() async throws {
        try await withPartialFile { place, origin in
            let part = place.path + ".download"
            try Self.bytes.write(to: URL(fileURLWithPath: part))
            try #require(link(part, place.path) == 0)
            origin.change(Self.changed, [.eTag: "\"2\""])
            let file = try await origin.download(request, to: .file(place, ifExists: .number))
            // The file at the destination is unchanged.
            #expect(try Data(contentsOf: place) == Self.bytes)
            #expect(file.url.lastPathComponent == "film 2" && origin.ranges == [nil, nil])
            #expect(try Data(contentsOf: file.url) == Self.changed)
        }
    }

    @Test func discardingAfterATerminationBetweenLinkAndUnlinkIsHarmless() async throws {
        try await withPartialFile { place, _ in
            try #require(link(place.path + ".download", place.path) == 0)
            try DownloadState.discard(at: place)
            #expect(try Data(contentsOf: place) == Self.bytes.prefix(40))
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: place.deletingLastPathComponent().path) == ["film"]
            )
        }
    }

    @Test func serverThatKeepsRefusingTheRangeIsNotRequestedForever() async throws {
        try await withPartialFile { place, origin in
            for _ in 0..<5 {
                origin.add(.responds(HTTPResponse(status: .rangeNotSatisfiable)), .breaks(after: 10))
            }
            let error = await #expect(throws: NetworkingError.self) {
                try await origin.retry(.exponential(base: .zero)).download(request, to: place)
            }
            #expect(error?.kind == .status && origin.ranges == [nil, "bytes=40-", nil, "bytes=10-"])
        }
    }

    @Test func deadlineCoversAllExchanges() async throws {
        struct Slow: NetworkingModifier {
            let clock: ManualClock

            func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
                let response = try await upstream.send(request)
                clock.advance(by: .seconds(20))
                return response
            }
        }
        try await withPartialFile { place, origin in
            let clock = ManualClock()
            var environment = NetworkEnvironment.current
            environment.clock = .manual(clock)
            origin.add(.responds(HTTPResponse(status: .rangeNotSatisfiable)), .hangs(after: 10))
            let network = origin.modified(Slow(clock: clock)).deadline(.seconds(60))
            // The download runs in the environment of its start.
            let download = await withEnvironment(environment) {
                Task { [request] in
                    try await network.download(request.with { $0.deadline = .seconds(30) }, to: place)
                }
            }
            try await origin.waitUntilSent(50)
            // 20 of the 30 seconds have passed.
            try await clock.waitForSleepers(1)
            clock.advance(by: .seconds(10))
            let error = await #expect(throws: NetworkingError.self) { try await download.value }
            #expect(error?.kind == .deadline)
        }
    }

    @Test func failedRestartAfterACrashKeepsTheSynchronizedBytes() async throws {
        try await withPartialFile { place, origin in
            var record = try #require(try DownloadRecord.read(beside: place.path + ".download"))
            record.bootSession = "an earlier one"
            record.synchronizedCount = 25
            try record.write(beside: place.path + ".download", isDurable: true)
            origin.ignoreRanges()
            origin.add(.breaks(after: 10))
            await #expect(throws: NetworkingError.self) { try await origin.download(request, to: place) }
            try expectUntouched(place, 25)
        }
    }

    @Test func partialFileCanBeDiscarded() async throws {
        try await withPartialFile { place, origin in
            let state = try #require(try DownloadState(at: place))
            #expect(state.expectedByteCount == 100)
            // A process that ended while it wrote the state has left a second file.
            try Data("{".utf8).write(to: URL(filePath: place.path + ".download-state.new"))
            try state.discard()
            #expect(try FileManager.default.contentsOfDirectory(atPath: place.deletingLastPathComponent().path) == [])
        }
    }

    @Test func discardingALinkThrowsAStateError() async throws {
        try await withPartialFile { place, _ in
            let state = try #require(try DownloadState(at: place))
            let (part, other) = (place.path + ".download", place.path + ".other")
            try FileManager.default.moveItem(atPath: part, toPath: other)
            try FileManager.default.createSymbolicLink(atPath: part, withDestinationPath: other)
            #expect(throws: DownloadStateError.self) { try state.discard() }
            #expect(FileManager.default.fileExists(atPath: other))
        }
    }

    @Test func recordThatCannotBeWrittenIsAStorageError() async throws {
        try await withTemporaryDirectory { directory in
            let place = directory.appending(path: "film")
            let record = place.path + ".download-state"
            let origin = MockTransport { _ in
                try? FileManager.default.createDirectory(atPath: record, withIntermediateDirectories: false)
                return .ok(Self.bytes, headerFields: [.eTag: "\"1\""])
            }
            let error = await #expect(throws: NetworkingError.self) { try await origin.download(request, to: place) }
            #expect(error?.kind == .storage)
            #expect(!FileManager.default.fileExists(atPath: place.path))
        }
    }

    // MARK: Two at once

    @Test func secondDownloadToTheSameDestinationIsAnError() async throws {
        try await withTemporaryDirectory { directory in
            let place = directory.appending(path: "film")
            let origin = FileOrigin(Self.bytes, [.eTag: "\"1\""], .hangs(after: 40))
            let first = origin.transfer(downloading: request, to: place)
            try await origin.waitUntilSent(40)
            let error = await #expect(throws: NetworkingError.self) { try await origin.download(request, to: place) }
            #expect(error?.kind == .storage && error?.reason.contains("in progress") == true)
            #expect(origin.requests.count == 1)
            let state = try #require(try DownloadState(at: place))
            #expect(state.byteCount == 40)
            #expect(throws: DownloadStateError.self) { try state.discard() }

            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            try await origin.download(request, to: place)
            #expect(try Data(contentsOf: place) == Self.bytes && origin.ranges.last == "bytes=40-")
        }
    }

    // MARK: Destination

    @Test func invalidDestinationIsAnErrorBeforeSending() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "file")
            try Data("x".utf8).write(to: file)
            let cases: [(DownloadDestination, String)] = [
                (.file(directory), "is a directory"),
                (.file(directory.appending(path: "no/film")), "There is no directory"),
                (.file(file.appending(path: "film")), "There is no directory"),
                (.file(file), "already"),
                (.file(URL(string: "https://files.example/film")!), "must be a file URL"),
                (.directory(file), "There is no directory"),
                (.directory(directory.appending(path: "no")), "There is no directory"),
                (
                    .file(URL(fileURLWithPath: "/proc/self/film"), ifExists: .replace),
                    "cannot be stored at /proc/self/film.download. Use another"
                ),
            ]
            for (destination, words) in cases {
                let origin = FileOrigin(Self.bytes)
                let error = await #expect(throws: NetworkingError.self) {
                    try await origin.download(request, to: destination)
                }
                #expect(error?.kind == .storage && error?.reason.contains(words) == true, "\(error?.reason ?? "none")")
                #expect(origin.requests.isEmpty)
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["file"])
        }
    }

    @Test func existingFilePolicyIsApplied() async throws {
        try await withTemporaryDirectory { directory in
            let place = directory.appending(path: "film.tar.gz")
            try Data("old".utf8).write(to: place)
            let origin = FileOrigin(Self.bytes)
            let numbers = try await [
                origin.download(request, to: .file(place, ifExists: .number)),
                origin.download(request, to: .file(place, ifExists: .number)),
            ]
            #expect(numbers.map(\.url.lastPathComponent) == ["film 2.tar.gz", "film 3.tar.gz"])
            #expect(try Data(contentsOf: place) == Data("old".utf8))
            try await origin.download(request, to: .file(place, ifExists: .replace))
            #expect(try Data(contentsOf: place) == Self.bytes)

            // A link is replaced, and its target is unchanged.
            let other = directory.appending(path: "other")
            try Data("other".utf8).write(to: other)
            let link = directory.appending(path: "link")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: other)
            try await origin.download(request, to: .file(link, ifExists: .replace))
            #expect(try Data(contentsOf: other) == Data("other".utf8) && Data(contentsOf: link) == Self.bytes)
        }
    }

    @Test func linkAtThePathOfThePartialFileIsNotFollowed() async throws {
        try await withTemporaryDirectory { directory in
            let other = directory.appending(path: "other")
            try Data("other".utf8).write(to: other)
            let place = directory.appending(path: "film")
            try FileManager.default.createSymbolicLink(
                atPath: place.path + ".download",
                withDestinationPath: other.path
            )
            let error = await #expect(throws: NetworkingError.self) {
                try await FileOrigin(Self.bytes).download(request, to: place)
            }
            #expect(error?.kind == .storage)
            #expect(try Data(contentsOf: other) == Data("other".utf8))
        }
    }

    @Test func longestNameStillAllowsAPartialFile() async throws {
        try await withTemporaryDirectory { directory in
            let name = String(repeating: "é", count: 120) + ".mp4"
            let place = directory.appending(path: name)
            let origin = FileOrigin(Self.bytes, [.eTag: "\"1\""], .breaks(after: 40))
            await #expect(throws: NetworkingError.self) { try await origin.download(request, to: place) }
            try await origin.download(request, to: place)
            #expect(origin.ranges == [nil, "bytes=40-"])
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [name])
            try await origin.download(request, to: .file(place, ifExists: .number))
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).count == 2)
        }
    }

    @Test func longNameOfAPartialFileHasTheMaximumLength() throws {
        let path = PartialFile.path(for: "/downloads/" + String(repeating: "x", count: 250))
        #expect((URL(filePath: path).lastPathComponent + "-state.new").utf8.count == 255)
    }

    /// The partial file is sparse: it has the length of the free space and takes none of it.
    @Test func onlyTheRestOfAFileNeedsSpace() async throws {
        try await withPartialFile { place, origin in
            let path = place.path + ".download"
            let volume = try FileManager.default.attributesOfFileSystem(forPath: path)
            let free = try #require((volume[.systemFreeSize] as? NSNumber)?.int64Value)
            let file = try FileHandle(forWritingTo: URL(filePath: path))
            try file.truncate(atOffset: UInt64(free))
            try file.close()
            var record = try #require(try DownloadRecord.read(beside: path))
            record.length = free + 1_000
            try record.write(beside: path, isDurable: false)
            origin.add(part("bytes \(free)-\(free + 999)/\(free + 1_000)", 10), .fails(.connection))
            let error = await #expect(throws: NetworkingError.self) { try await origin.download(request, to: place) }
            #expect(error?.kind == .connection)
            #expect(origin.ranges.last == "bytes=\(free + 10)-")
        }
    }

    @Test func fileThatExceedsTheFreeSpaceIsAnErrorBeforeWriting() async throws {
        try await withTemporaryDirectory { directory in
            let place = directory.appending(path: "film")
            let head = HTTPResponse(
                status: .ok,
                headerFields: [.contentLength: "9000000000000000000", .eTag: "\"1\""]
            )
            let origin = FileOrigin(Self.bytes, [.eTag: "\"1\""], .responds(head, Self.bytes))
            let error = await #expect(throws: NetworkingError.self) { try await origin.download(request, to: place) }
            #expect(error?.kind == .storage && error?.reason.contains("Free some space") == true)
            #expect(!origin.hasSent)
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(names == [])
        }
    }

    // MARK: Names

    @Test func serverNamesTheFile() async throws {
        try await withTemporaryDirectory { directory in
            let fields: HTTPFields = [.eTag: "\"1\"", .contentDisposition: "attachment; filename=\"../../etc/passwd\""]
            let origin = FileOrigin(Self.bytes, fields, .breaks(after: 40))
            await #expect(throws: NetworkingError.self) {
                try await origin.download(request, to: .directory(directory))
            }
            let first = try await origin.download(request, to: .directory(directory))
            #expect(first.url.path == directory.appending(path: "passwd").path && first.resumedByteCount == 40)
            let second = try await origin.download(request, to: .directory(directory))
            #expect(second.url.lastPathComponent == "passwd 2")
            origin.change(Self.bytes, [:])
            let third = try await origin.download(request, to: .directory(directory))
            #expect(third.url.lastPathComponent == "film.mp4")
            let names = Set(try FileManager.default.contentsOfDirectory(atPath: directory.path))
            #expect(names == ["passwd", "passwd 2", "film.mp4"])
        }
    }
}
