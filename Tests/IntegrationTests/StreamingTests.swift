#if TestServer && URLSession
import Foundation
import HTTPTypes
import Networking
import NetworkingTestServer
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension Loopback {
    /// Response bodies that are read while they arrive, over real sockets.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
    struct StreamingTests {
        private let transport = URLSessionTransport(configuration: .ephemeral)

        private static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

        /// The temporary files of the library.
        ///
        /// On Linux they are unlinked and exist only as open descriptors.
        private static func spools(excluding known: Set<String>) -> Set<String> {
            let manager = FileManager.default
            #if os(Linux)
            let descriptors = (try? manager.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
            let paths = descriptors.compactMap { try? manager.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
            let names = paths.map { String($0[($0.lastIndex(of: "/") ?? $0.startIndex)...].dropFirst()) }
            #else
            let names = (try? manager.contentsOfDirectory(atPath: manager.temporaryDirectory.path)) ?? []
            #endif
            let spools = names.filter { $0.hasPrefix("networking-") && !$0.hasPrefix("networking-tests-") }
            return Set(spools).subtracting(known)
        }

        /// The exchange ends some time after the head of a 204 and is complete, so no log may report it as cancelled.
        @Test func noContentDoesNotCancelTheExchange() async throws {
            final class LateEnd: NetworkingTransport {
                let wasCancelled = Mutex<Bool?>(nil)

                func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
                    let response = try await request.deliver(HTTPResponse(status: .noContent)) { _ in }
                    for _ in 0..<100 { await Task.yield() }
                    wasCancelled.withLock { $0 = Task.isCancelled }
                    return response
                }
            }

            let transport = LateEnd()
            let request = HTTPRequestData(scheme: "https", authority: "example.com", path: "/")
            for try await _ in try await transport.events(request) {}
            #expect(transport.wasCancelled.withLock { $0 } == false)
        }

        @Test func deliversEachChunkAsSoonAsItArrives() async throws {
            try await withTestServer { server in
                let gate = Gate()
                server.route("/") { _ in
                    TestResponse(body: .chunks(["first", TestResponse.Chunk("second", gate: gate)]))
                }
                var chunks = try await transport.stream(HTTPRequestData(url: server.url)).makeAsyncIterator()
                #expect(try await chunks.next() == Data("first".utf8))
                gate.open()
                #expect(try await chunks.next() == Data("second".utf8))
                #expect(try await chunks.next() == nil)
            }
        }

        // MARK: Ending a stream early

        enum Form: CaseIterable, Sendable {
            case stream, scope, lines, events, values
        }

        /// Ends each kind of stream early: by leaving the loop, by releasing the stream unread, and by cancellation.
        @Test(arguments: Form.allCases, ["leave", "drop", "cancel"])
        func endingAStreamEarlyClosesTheConnection(form: Form, way: String) async throws {
            try await withTestServer { server in
                let known = Self.spools(excluding: [])
                // More than fits in memory, so that there is a file to remove.
                let bytes = Data((Self.head + String(repeating: "data: [1]\n\n", count: 700_000)).utf8)
                server.route("/") { _ in .raw(.bytes(bytes), .stall) }
                let network = transport.timeout(.seconds(100))
                let request = HTTPRequestData(url: server.url)
                let (reading, read) = AsyncStream.makeStream(of: Void.self)
                let call = Task {
                    defer { read.finish() }
                    if way == "drop" {
                        read.yield()
                    }
                    @Sendable func consume(_ elements: some AsyncSequence & Sendable) async throws {
                        if way == "drop" { return }
                        for try await _ in elements {
                            read.yield()
                            if way == "leave" { break }
                            try await Suspension<Void>().value()
                        }
                    }
                    switch form {
                    case .stream: try await consume(network.stream(request))
                    case .scope: try await network.stream(request) { _, bytes in try await consume(bytes) }
                    case .lines: try await consume(network.lines(request))
                    case .events: try await consume(network.events(request))
                    case .values:
                        let values = try await network.values(request, as: [Int].self, onDecodingFailure: .skip)
                        try await consume(values)
                    }
                }
                for await _ in reading { break }
                if way == "cancel" {
                    call.cancel()
                }
                let result = await call.result
                if way == "cancel" {
                    #expect(throws: CancellationError.self) { try result.get() }
                } else {
                    #expect(throws: Never.self) { try result.get() }
                }
                try await server.waitForOpenConnections(0)
                try await eventually("Self.spools(excluding: known).isEmpty") { Self.spools(excluding: known).isEmpty }
            }
        }

        // MARK: A slow reader

        @Test func buffersAheadOfTheReaderInAFileAndKeepsTheOrder() async throws {
            try await withTestServer { server in
                // The reader's chunk and the next one may be 4 MiB each before any bytes are written to a file.
                let chunk = Data((0..<(4 << 20)).map { UInt8(truncatingIfNeeded: $0 / 7) })
                let bytes = chunk + chunk + chunk + chunk
                server.route("/") { _ in TestResponse(body: .data(bytes)) }
                let known = Self.spools(excluding: [])
                let stream = try await transport.stream(HTTPRequestData(url: server.url))
                try await eventually("!(Self.spools(excluding: known).isEmpty)") {
                    !(Self.spools(excluding: known).isEmpty)
                }
                var received = Data()
                for try await chunk in stream {
                    received.append(chunk)
                }
                #expect(received == bytes)
                try await eventually("Self.spools(excluding: known).isEmpty") { Self.spools(excluding: known).isEmpty }
            }
        }

        @Test func failsWhenTheReaderFallsTooFarBehind() async throws {
            try await withTestServer { server in
                // The response never ends, because the connection of a complete response is kept.
                let end = TestResponse.Chunk("end", gate: Gate())
                let chunks = [TestResponse.Chunk(Data(count: 32 << 20)), end]
                server.route("/") { _ in TestResponse(body: .chunks(chunks)) }
                var request = HTTPRequestData(url: server.url)
                request.maximumBufferedBytes = 6 << 20
                let stream = try await transport.stream(request)
                try await server.waitForOpenConnections(0)
                let error = await #expect(throws: NetworkingError.self) {
                    for try await _ in stream {}
                }
                #expect(error?.kind == .tooLarge)
                #expect(error?.reason.contains("filled the buffer of 6291456 bytes") == true)
            }
        }

        #if os(Linux)
        @Test func slowReaderReadsAGibibyteInConstantMemory() async {
            await #expect(processExitsWith: .success) {
                try await withTestServer { server in
                    let chunk = TestResponse.Chunk(Data(count: 4 << 20))
                    server.route("/small") { _ in .text("small") }
                    server.route("/") { _ in TestResponse(body: .sized(Array(repeating: chunk, count: 256))) }
                    let network = URLSessionTransport(configuration: .ephemeral)
                    try await network.data(HTTPRequestData(url: server.url.appending(path: "small")))
                    let before = peakMemory()
                    var count = 0
                    var isFirst = true
                    for try await chunk in try await network.stream(HTTPRequestData(url: server.url)) {
                        if isFirst {
                            // The reader is so slow that the whole body has arrived before it reads the second chunk.
                            try await server.waitForActiveRequests(0)
                            isFirst = false
                        }
                        count += chunk.count
                    }
                    #expect(count == 1 << 30)
                    let growth = peakMemory() - before
                    #expect(growth < 40 << 20, "\(growth) bytes")
                }
            }
        }
        #endif

        // MARK: Events

        @Test func reconnectsAfterAResetInTheMiddleOfAnEvent() async throws {
            try await withTestServer { server in
                server.enqueue(
                    .raw(
                        .text(Self.head),
                        "id: 1\nretry: 1\ndata: one\n\nid: 2\ndata: hal",
                        .delay(.milliseconds(20)),
                        .reset
                    ),
                    .raw(.text(Self.head), "id: 3\ndata: two\n\n"),
                    TestResponse(status: .noContent)
                )
                var events: [ServerSentEvent] = []
                for try await event in try await transport.events(HTTPRequestData(url: server.url)) {
                    events.append(event)
                }
                #expect(events == [ServerSentEvent(data: "one", id: "1"), ServerSentEvent(data: "two", id: "3")])
                let ids = server.requests.map { request in
                    request.headerFields.first { $0.name.canonicalName == "last-event-id" }?.value
                }
                #expect(ids == [nil, "1", "3"])
            }
        }

        /// The stream lasts a minute under a timeout of ten seconds, because the timeout restarts with each event.
        @Test func timeoutRestartsWithEachEvent() async throws {
            try await withTestServer { server in
                let gates = (0..<12).map { _ in Gate() }
                let chunks = gates.map { TestResponse.Chunk("data: tick\n\n", gate: $0) }
                server.route("/") { _ in
                    TestResponse(headerFields: [.contentType: "text/event-stream"], body: .sized(chunks))
                }
                let clock = ManualClock()
                let network = transport.timeout(.seconds(10)).retry().throttled(max: 1).server(baseURL: server.url)
                    .environment(\.clock, .manual(clock))
                var events = try await network.events(HTTPRequestData(path: "/"), until: nil).makeAsyncIterator()
                for gate in gates {
                    clock.advance(by: .seconds(5))
                    gate.open()
                    let event = try await events.next()
                    #expect(event?.data == "tick")
                }
            }
        }

        @Test func stalledStreamFailsWithATimeout() async throws {
            try await withTestServer { server in
                server.route("/") { _ in .raw(.text(Self.head), "data: one\n\n", .stall) }
                let network = transport.timeout(.seconds(60), idle: .milliseconds(100)).server(baseURL: server.url)
                var request = HTTPRequestData(path: "/")
                request.isIdempotent = false
                var events = try await network.events(request).makeAsyncIterator()
                #expect(try await events.next()?.data == "one")
                var failure: NetworkingError?
                do {
                    _ = try await events.next()
                } catch let error as NetworkingError {
                    failure = error
                }
                #expect(failure?.kind == .timeout)
                try await server.waitForOpenConnections(0)
            }
        }
    }
}

extension TestServer {
    /// Waits until at most `count` requests are active.
    fileprivate func waitForActiveRequests(_ count: Int) async throws {
        while activeRequests > count {
            try Task.checkCancellation()
            await Task.yield()
        }
    }
}
#endif
