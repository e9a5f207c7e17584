import Networking
import NetworkingTestServer

/// Simulates the API of a news app: articles, bookmarks, and an archive that takes half a minute.
package final class ArticleService: Service {
    private let archive = Gate()

    package init() {}

    /// Waits until a request for the archive has arrived.
    package func waitForArchiveRequest() async throws {
        try await archive.wait()
    }

    package func script(_ server: TestServer) {
        let articles = [#"{"id": 1, "title": "Callbacks"}"#, #"{"id": 2, "title": "Async functions"}"#]
        server.route(.get, "/articles") { _ in .json(text: "[\(articles.joined(separator: ", "))]") }
        server.route(.get, "/articles/:id") { request in
            guard let id = Int(request.parameters["id"] ?? ""), articles.indices.contains(id - 1) else {
                return .json(text: #"{"message": "There is no such article."}"#, status: .notFound)
            }
            return .json(text: articles[id - 1])
        }
        server.route(.post, "/bookmarks") { _ in .status(.noContent) }
        server.route(.get, "/archive") { [self] _ in
            archive.open()
            return .text("The archive").delayed(head: .seconds(30))
        }
    }
}
