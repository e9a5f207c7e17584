#if TestServer && URLSession && os(Linux)
import Foundation
import HTTPTypes
import Networking
import NetworkingTestServer
import NetworkingTesting
import Synchronization
import TestSupport

/// A kind of call in the mixed traffic of a soak test.
enum SoakTraffic: String, CaseIterable, Sendable {
    case json
    case chunked
    case upload
    case streamedUpload
    case download
    case lostDownload
    case events
    case leftEvents
    case redirected
    case revalidated
    case shared
    case retried
    case unavailable
    case undecodable
    case refused
    case truncated
    case stalled
    case cancelled
    case cancelledEvents
    case reset

    /// The outcome of the call: a result, the kind of its error, or the type of another error.
    var expectedOutcome: String {
        switch self {
        case .json, .chunked, .upload, .streamedUpload, .download, .events, .leftEvents: "complete"
        case .redirected, .revalidated, .shared, .retried: "complete"
        case .unavailable: "status"
        case .undecodable: "decoding"
        case .refused: "connection"
        case .truncated, .lostDownload: "truncated"
        case .stalled: "timeout"
        case .cancelled, .cancelledEvents: "CancellationError"
        case .reset: "connectionLost"
        }
    }

    static let numbers = Array(0..<100)
    static let sentBytes = Data(repeating: 1, count: 64 << 10)
    static let servedBytes = Data(repeating: 2, count: 256 << 10)

    /// Adds the routes of the traffic to a server.
    static func route(on server: TestServer) {
        let chunks = numbers.map { TestResponse.Chunk("\($0)\n") }
        let stream: HTTPFields = [.contentType: "text/event-stream"]
        let event = TestResponse.Chunk("data: 1\n\n")
        let failed = Mutex<Set<String>>([])
        let file = ServedFile(byteCount: servedBytes.count)
        server.route("/json") { _ in try .json(numbers) }
        server.route("/chunked") { _ in TestResponse(body: .chunks(chunks)) }
        server.route("/upload") { request in .text("\(request.body.count)") }
        server.route("/download") { _ in TestResponse(body: .data(servedBytes)) }
        server.route("/lost") { _ in
            .raw("HTTP/1.1 200 OK\r\nContent-Length: \(file.count)\r\n\r\n", .bytes(file.bytes.prefix(9_000)), .close)
        }
        server.route("/events") { _ in TestResponse(headerFields: stream, body: .chunks([event, event, event])) }
        server.route("/stalledEvents") { _ in
            .raw("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n", .stall)
        }
        server.route("/redirected") { _ in .redirect(to: "/json") }
        server.route("/revalidated/:number") { request in
            let fields: HTTPFields = [.eTag: "\"1\"", .cacheControl: "no-cache", .contentType: "application/json"]
            guard request.headerFields[.ifNoneMatch] == nil else {
                return TestResponse(status: .notModified, headerFields: fields)
            }
            var response = try TestResponse.json(numbers)
            response.headerFields = fields
            return response
        }
        server.route("/retried/:number") { request in
            let isFirst = failed.withLock { failed in
                guard failed.insert(request.path).inserted else { return failed.remove(request.path) == nil }
                return true
            }
            return isFirst ? .status(.serviceUnavailable) : try .json(numbers)
        }
        server.route("/unavailable") { _ in .status(.serviceUnavailable) }
        server.route("/undecodable") { _ in .text("[1, 2") }
        let half = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
        server.route("/truncated") { _ in .raw(.text(half), .close) }
        server.route("/stalled") { _ in .raw(.text(half), .stall) }
        server.route("/reset") { _ in .raw(.text(half), .reset) }
    }
}

/// The stack that the calls of a soak test go through.
struct SoakClient: Sendable {
    private let network: AnyNetworkingComponent
    private let cached: AnyNetworkingComponent
    /// The URL of a port on which no server listens.
    private let closed: URL?

    init(_ transport: AnyNetworkingComponent, _ server: TestServer) {
        // A call that exceeds the limit has met a fault of the library, such as a connection that was not returned.
        let stack = transport.timeout(.seconds(30)).retry(.immediate(maximumRetries: 2), budget: .unlimited)
            .deduplicated().server(baseURL: server.url)
        network = AnyNetworkingComponent(stack)
        cached = AnyNetworkingComponent(network.cached())
        closed = (try? ValkeyServer.freePort()).flatMap { URL(string: "http://127.0.0.1:\($0)") }
    }

    /// Sends a call and returns how it has ended.
    func outcome(of traffic: SoakTraffic, number: Int) async -> String {
        do {
            return try await send(traffic, number) ? "complete" : "another result"
        } catch let error as NetworkingError {
            return "\(error.kind)"
        } catch {
            return "\(type(of: error))"
        }
    }

    /// Returns whether the result of a call is right.
    private func send(_ traffic: SoakTraffic, _ number: Int) async throws -> Bool {
        var request = HTTPRequestData(path: "\(traffic.rawValue)")
        request.isDeduplicated = traffic == .shared
        // Only where a retry could follow, because URLSession on Linux has a connection for each request without one.
        if traffic.expectedOutcome != "complete" {
            request.retryPolicy = .never
        }
        switch traffic {
        case .json, .redirected, .unavailable, .undecodable, .truncated, .reset:
            return try await network.request(request, as: [Int].self) == SoakTraffic.numbers
        case .chunked:
            return try await network.data(request).data.count == 290
        case .upload, .streamedUpload:
            request.method = .post
            request.path = "upload"
            request.body = traffic == .upload ? .data(SoakTraffic.sentBytes) : Self.stream
            return try await network.data(request).data == Data("\(SoakTraffic.sentBytes.count)".utf8)
        case .download, .lostDownload:
            request.path = traffic == .download ? "download" : "lost"
            return try await withTemporaryDirectory { directory in
                let file = directory.appending(path: "file")
                let downloaded = try await network.download(request, to: file)
                return try downloaded.byteCount == SoakTraffic.servedBytes.count
                    && Data(contentsOf: file) == SoakTraffic.servedBytes
            }
        case .events, .leftEvents:
            request.path = "events"
            var count = 0
            for try await event in try await network.events(request) where event.data == "1" {
                count += 1
                if count == (traffic == .events ? 3 : 1) { break }
            }
            return count == (traffic == .events ? 3 : 1)
        case .revalidated:
            request.path = "revalidated/\(number % 50)"
            return try await cached.request(request, as: [Int].self) == SoakTraffic.numbers
        case .retried:
            request.path = "retried/\(number)"
            return try await network.request(request, as: [Int].self) == SoakTraffic.numbers
        case .shared:
            request.path = "chunked"
            return try await sendTwice(request)
        case .refused:
            request = HTTPRequestData(url: closed ?? URL(filePath: "/"))
            request.retryPolicy = .never
            return try await network.data(request).data.isEmpty
        case .stalled:
            request.timeout = .milliseconds(100)
            return try await network.data(request).data.isEmpty
        case .cancelled:
            request.path = "stalled"
            return try await cancel { [request] began in
                let marker = CallMarker.current
                _ = try await network.data(request) { progress in
                    withExtendedLifetime(marker) {}
                    if progress.received.count > 0 {
                        began()
                    }
                }
            }
        case .cancelledEvents:
            request.path = "stalledEvents"
            return try await cancel { [request] began in
                for try await _ in try await network.events(request) { began() }
            }
        }
    }

    /// Sends a request for two callers, of which one is cancelled at any moment.
    private func sendTwice(_ request: HTTPRequestData) async throws -> Bool {
        let leaving = Task { try await network.data(request) }
        async let staying = network.data(request)
        await Task.yield()
        leaving.cancel()
        _ = await leaving.result
        return try await staying.data.count == 290
    }

    /// Runs a call in a task, and cancels it when it has begun.
    private func cancel(
        _ call: @escaping @Sendable (_ began: @escaping @Sendable () -> Void) async throws -> Void
    ) async throws -> Bool {
        let (reading, began) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            defer { began.finish() }
            try await call { began.finish() }
        }
        for await _ in reading {}
        task.cancel()
        try await task.value
        return true
    }

    private static let stream = RequestBody.stream {
        AsyncStream { continuation in
            for start in stride(from: 0, to: SoakTraffic.sentBytes.count, by: 16 << 10) {
                continuation.yield(SoakTraffic.sentBytes[start..<start + 16 << 10])
            }
            continuation.finish()
        }
    }
}
#endif
