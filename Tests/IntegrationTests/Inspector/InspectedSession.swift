#if os(Linux) || os(macOS)
import Foundation
import HTTPTypes
import Networking
import NetworkingInspector
import NetworkingTesting

/// Sessions of the library itself, over a transport without a network.
enum InspectedSession {
    /// The number of calls in ``varied()``, and how many of them a page shows for each of its filters.
    static let variedCounts = ["all": 22, "failed": 2, "slow": 0, "retried": 2, "cached": 2, "shared": 1, "pending": 1]

    /// A session with every kind of call.
    ///
    /// The last call is still in progress.
    static func varied() async throws -> HTTPArchive {
        let inspector = NetworkInspector(title: "Every sort of call")
        let joined = AsyncStream.makeStream(of: Never.self)
        let network = transport(releasing: joined.stream)
            .retry(.exponential(base: .milliseconds(100), jitter: .none, maximumRetries: 2))
            .deduplicated()
            .cached()
            .inspected(by: inspector)
            .observed(by: Sharing(began: joined.continuation))
            .server(authority: "api.example.com")
            .environment(\.clock, .immediate())

        _ = try await network.data(request("profile?name=emily&empty=&city=K%C3%B6ln"))
        _ = try await network.data(request("login", .form(["user": "emily", "password": "SECRET"])))
        for path in [
            "flaky", "old", "fresh", "fresh", "validated", "validated", "missing", "binary", "image", "page", "cookies",
        ] {
            _ = try await network.data(request(path))
        }
        async let first = network.data(request("shared"))
        async let second = network.data(request("shared"))
        _ = try await (first, second)
        _ = try? await network.data(request("broken"))
        _ = try await network.data(request("json", .json(["name": "Emily"])))
        _ = try await network.data(request("photos", .multipart(try parts())))
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "notes.txt")
            try Data("What is in a file is not kept.".utf8).write(to: file)
            _ = try await network.data(request("file", .file(file)))
        }
        _ = try await network.data(request("stream", .stream(Once(chunk: Data("one part".utf8)))))
        try await whileInProgress("cancelled", over: network) {}
        return try await whileInProgress("pending", over: network) { inspector.archive }
    }

    /// A session of simple calls.
    static func long(_ count: Int) async throws -> HTTPArchive {
        let inspector = NetworkInspector(title: "A long session", keeping: count, maximumBytes: 256 << 20)
        let network = MockTransport { request in
            let number = request.query.item.flatMap { Int($0) } ?? 0
            if number % 97 == 0 { return .status(.notFound) }
            return .json(["id": "\(number)", "note": "item \(number) of many"])
        }
        .inspected(by: inspector)
        .server(authority: "api.example.com")
        for number in 1...count {
            _ = try await network.data(HTTPRequestData(path: "items/\(number % 7)?item=\(number)"))
        }
        return inspector.archive
    }

    /// A request with an optional body and a matching method.
    private static func request(_ path: String, _ body: RequestBody? = nil) -> HTTPRequestData {
        var request = HTTPRequestData(method: body == nil ? .get : .post, path: path, body: body)
        // Only in this request, because the cache does not store responses to requests with credentials.
        if path == "flaky" { request.headerFields[.authorization] = "Bearer SECRET" }
        return request
    }

    private static func parts() throws -> [MultipartPart] {
        [
            .text("Emily", name: "author"), .text("SECRET", name: "password"),
            .data(png, name: "photo", fileName: "fox.png"),
        ]
    }

    /// Runs an operation while a request is in progress, then cancels the request.
    private static func whileInProgress<Value: Sendable>(
        _ path: String,
        over network: some NetworkingComponent,
        _ body: () -> Value
    ) async throws -> Value {
        let arrival = AsyncStream.makeStream(of: Never.self)
        let call = Task {
            try await network.data(request(path).with(Arrival(continuation: arrival.continuation)))
        }
        for await _ in arrival.stream {}
        let value = body()
        call.cancel()
        _ = await call.result
        return value
    }

    private static func transport(releasing joined: AsyncStream<Never>) -> MockTransport {
        let transport = MockTransport { _ in .ok() }
        transport.on(.get, "profile") { _ in
            .json(["name": "emily", "animal": "zebra", "access_token": "SECRET"]).delayed(by: .milliseconds(80))
        }
        transport.on(.get, "flaky") { request in
            request.attempt < 3 ? .status(.serviceUnavailable).delayed(by: .milliseconds(20)) : .text("up again")
        }
        transport.on(.get, "old") { _ in .redirect(to: "/new?from=old", status: .movedPermanently) }
        transport.on(.get, "new") { _ in .text("moved") }
        transport.on(.get, "fresh") { _ in .ok(Data("kept".utf8), headerFields: [.cacheControl: "max-age=600"]) }
        transport.on(.get, "validated") { request in
            let fields: HTTPFields = [.cacheControl: "no-cache", .eTag: "\"1\""]
            if request.headerFields[.ifNoneMatch] != nil { return .status(.notModified, headerFields: fields) }
            return .ok(Data("the same as before".utf8), headerFields: fields)
        }
        transport.on(.get, "missing") { _ in .json(["error": "no such thing"], status: .notFound) }
        transport.on(.get, "binary") { _ in
            .ok(
                Data((0...255).map { UInt8($0) }),
                headerFields: [.contentType: "application/octet-stream", .server: "walrus"]
            )
        }
        transport.on(.get, "image") { _ in .ok(png, headerFields: [.contentType: "image/png"]) }
        transport.on(.get, "page") { _ in
            .ok(Data("<!doctype html><title>A page</title>".utf8), headerFields: [.contentType: "text/html"])
        }
        transport.on(.get, "cookies") { _ in
            let cookie = "id=SECRET; Path=/; Expires=Wed, 09 Jun 2032 10:18:14 GMT; Secure; HttpOnly"
            return .ok(headerFields: [.setCookie: cookie, .location: "/nowhere"])
        }
        transport.on(.get, "shared") { _ in
            for await _ in joined {}
            return .text("for both")
        }
        transport.on(.get, "broken") { request in
            throw NetworkingError(.connection, request: request, reason: "A pelican sits on the line.")
        }
        for path in ["cancelled", "pending"] {
            transport.on(.get, path) { _ in
                // The sequence ends only when the task is cancelled.
                let never = AsyncStream.makeStream(of: Never.self)
                for await _ in never.stream {}
                _ = never.continuation
                throw CancellationError()
            }
        }
        return transport
    }

    /// A red pixel.
    private static let png =
        Data(
            base64Encoded:
                "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
        ) ?? Data()

    /// A sequence of one element.
    private struct Once: AsyncSequence, Sendable {
        let chunk: Data

        struct AsyncIterator: AsyncIteratorProtocol {
            var chunk: Data?

            mutating func next() async -> Data? {
                defer { chunk = nil }
                return chunk
            }
        }

        func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(chunk: chunk)
        }
    }

    /// Signals when a request has joined the exchange of another one.
    private struct Sharing: NetworkEventObserver {
        let began: AsyncStream<Never>.Continuation

        func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
            if case WaitEvent.waiting(.sharing, _) = event { began.finish() }
        }
    }

    /// Signals when a request has reached the transport.
    fileprivate struct Arrival: NetworkEventObserver {
        let continuation: AsyncStream<Never>.Continuation

        func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
            if case ExchangeEvent.started = event { continuation.finish() }
        }
    }
}

extension HTTPRequestData {
    fileprivate func with(_ observer: InspectedSession.Arrival) -> HTTPRequestData {
        var request = self
        request.addObserver(observer)
        return request
    }
}
#endif
