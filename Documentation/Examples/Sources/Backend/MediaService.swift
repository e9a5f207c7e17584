import Foundation
import Networking
import NetworkingTestServer
import Synchronization

/// Simulates a server of films that supports requests for parts of a file.
///
/// It sends slowly. If the name of a film starts with "long", its first response stops in the middle, as on a bad
/// connection, so that the example can pause or cancel the download there.
package final class MediaService: Service {
    private let started = Mutex<Set<String>>([])

    package init() {}

    /// The bytes of a film.
    package static func film(_ name: String) -> Data {
        let first = name.utf8.reduce(0) { $0 &+ Int($1) }
        return (0..<128)
            .reduce(into: Data()) { film, page in
                film.append(Data(repeating: UInt8((first + page) % 251), count: 4_096))
            }
    }

    package func script(_ server: TestServer) {
        server.route(.get, "/films/:name") { [self] request in
            let name = request.parameters["name"] ?? ""
            let film = Self.film(name)
            let tag = "\"\(name)\""
            if let start = Self.start(of: request, tag: tag), film.indices.contains(start) {
                return TestResponse(
                    status: .partialContent,
                    headerFields: [
                        .eTag: tag, .contentRange: "bytes \(start)-\(film.count - 1)/\(film.count)",
                    ],
                    body: .sized(Self.chunks(of: film[start...]))
                )
            }
            guard name.hasPrefix("long"), started.withLock({ $0.insert(name).inserted }) else {
                return TestResponse(headerFields: [.eTag: tag], body: .sized(Self.chunks(of: film)))
            }
            let head = "HTTP/1.1 200 OK\r\nETag: \(tag)\r\nContent-Length: \(film.count)\r\n\r\n"
            return .raw(.text(head), .drip(film.prefix(film.count / 2), by: 32_768, every: Self.pace), .stall)
        }
    }

    private static let pace = Duration.milliseconds(5)

    /// The first byte that a request for the rest of a file asks for.
    private static func start(of request: RecordedRequest, tag: String) -> Int? {
        guard let range = request.headerFields[.range], request.headerFields[.ifRange] == tag else { return nil }
        return Int(range.dropFirst("bytes=".count).dropLast())
    }

    private static func chunks(of film: Data) -> [TestResponse.Chunk] {
        stride(from: film.startIndex, to: film.endIndex, by: 32_768)
            .map { TestResponse.Chunk(film[$0...].prefix(32_768), delay: pace) }
    }
}
