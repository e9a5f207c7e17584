import Foundation
import Networking
import NetworkingTestServer
import Synchronization

/// The server of the tour: users with a login, a route that fails at first, a film, and a slow route.
enum DemoServer {
    static let token = "s3cr3t-token"

    static func script(_ server: TestServer) {
        server.route(.post, "/login") { request in
            request.body.isEmpty ? .status(.badRequest) : try .json(Session(token: token))
        }
        server.route(.get, "/me") { request in
            request.headerFields[.authorization] == "Bearer \(token)"
                ? try .json(User(id: 1, name: "Emily"))
                : TestResponse(status: .unauthorized, headerFields: [.wwwAuthenticate: "Basic realm=\"users\""])
        }
        server.route(.get, "/users/:id") { request in
            guard let id = Int(request.parameters["id"] ?? "") else { return .status(.notFound) }
            return try .json(User(id: id, name: "User \(id)"))
        }
        let calls = Calls()
        server.route(.get, "/flaky") { _ in calls.next() == 1 ? .status(.serviceUnavailable) : .ok }
        let busy = Calls()
        server.route(.get, "/busy") { _ in busy.next() < 3 ? .status(.serviceUnavailable) : .ok }
        server.route(.post, "/down") { _ in .status(.serviceUnavailable) }
        server.route(.post, "/films") { request in
            try .json(Film(parts: request.headerFields[.contentType] ?? "", bytes: request.bodyByteCount))
        }
        server.route(.post, "/orders") { _ in .status(.created) }
        let connections = Calls()
        server.route(.get, "/news") { request in
            let ids = request.headerFields.filter { $0.name.canonicalName == "last-event-id" }.map(\.value)
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
            switch connections.next() {
            case 1:
                return .raw(.text(head), "id: 1\nretry: 50\ndata: one\n\nid: 2\ndata: two\n\nid: 3\ndata: thr", .reset)
            case 2: return .raw(.text(head), .text("data: the stream continues after \(ids.last ?? "nothing")\n\n"))
            default: return .status(.noContent)
            }
        }
        let showings = Calls()
        server.route(.get, "/film.mp4") { request in show(film, to: request, isFirst: showings.next() == 1) }
        server.route(.get, "/slow") { _ in
            TestResponse(body: .data(.init("at last".utf8)), delay: .seconds(30))
        }
    }

    /// A film of 4 MiB, in which adjacent pages of bytes differ.
    static let film = (0..<1_024)
        .reduce(into: Data()) { film, page in
            film.append(Data(repeating: UInt8(page % 251), count: 4_096))
        }

    /// Returns the rest of the film for a request with a range.
    ///
    /// A request for the whole film receives half of it. The first connection is then reset, and later ones stall.
    private static func show(_ film: Data, to request: RecordedRequest, isFirst: Bool) -> TestResponse {
        let entityTag = "\"first-cut\""
        if let range = request.headerFields[.range], request.headerFields[.ifRange] == entityTag,
            let start = Int(range.dropFirst("bytes=".count).dropLast()), film.indices.contains(start)
        {
            let chunks = stride(from: start, to: film.count, by: chunkSize)
                .map { position in
                    TestResponse.Chunk(film[position...].prefix(chunkSize), delay: pace)
                }
            return TestResponse(
                status: .partialContent,
                headerFields: [.eTag: entityTag, .contentRange: "bytes \(start)-\(film.count - 1)/\(film.count)"],
                body: .sized(chunks)
            )
        }
        let head = "HTTP/1.1 200 OK\r\nETag: \(entityTag)\r\nContent-Length: \(film.count)\r\n\r\n"
        let half = TestResponse.RawStep.drip(film.prefix(film.count / 2), by: chunkSize, every: pace)
        return .raw(.text(head), half, isFirst ? .reset : .stall)
    }

    /// The number of bytes in each chunk of the film, small enough to show progress.
    private static let chunkSize = 128 << 10
    private static let pace = Duration.milliseconds(12)
}

/// Counts the calls of a route.
private final class Calls: Sendable {
    private let count = Atomic(0)

    func next() -> Int {
        count.add(1, ordering: .relaxed).newValue
    }
}
