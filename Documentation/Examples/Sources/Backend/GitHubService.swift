import Foundation
import Networking
import NetworkingTestServer
import Synchronization

/// Simulates a part of the REST API of GitHub: a user, the user's repositories in pages, and issues.
package final class GitHubService: Service {
    private let issues = Atomic(0)

    package init() {}

    package func script(_ server: TestServer) {
        server.route(.get, "/users/:name") { request in
            guard request.parameters["name"] == "octocat" else { return Self.notFound }
            return .json(text: #"{"id": 583231, "login": "octocat", "public_repos": 8}"#)
        }
        let root = server.url.absoluteString
        server.route(.get, "/users/:name/repos") { request in Self.repositories(for: request, at: root) }
        server.route(.post, "/repos/:owner/:name/issues") { [self] request in
            guard request.headerFields[.authorization] == "Bearer ghp_example" else {
                return .json(text: #"{"message": "Requires authentication"}"#, status: .unauthorized)
            }
            guard let title = try request.json(as: [String: String].self)["title"], !title.isEmpty else {
                return .json(
                    text: """
                        {"message": "Validation Failed", \
                        "errors": [{"resource": "Issue", "field": "title", "code": "missing_field"}]}
                        """,
                    status: .unprocessableContent
                )
            }
            let number = issues.add(1, ordering: .relaxed).newValue
            return .json(text: #"{"number": \#(number), "title": "\#(title)"}"#, status: .created)
        }
    }

    private static var notFound: TestResponse {
        .json(text: #"{"message": "Not Found"}"#, status: .notFound)
    }

    /// Returns one page of the eight repositories; its `Link` field has the URLs of the next and the last page.
    private static func repositories(for request: RecordedRequest, at root: String) -> TestResponse {
        let names = [
            "boysenberry-repo-1", "git-consortium", "hello-worId", "Hello-World", "linguist", "octocat.github.io",
            "Spoon-Knife", "test-repo1",
        ]
        let size = Int(request.queryValues["per_page"] ?? "") ?? 30
        let page = Int(request.queryValues["page"] ?? "") ?? 1
        let rows = names.dropFirst((page - 1) * size).prefix(size)
            .map { #"{"name": "\#($0)", "stargazers_count": \#($0.count), "updated_at": "2026-11-24T02:00:00Z"}"# }
        var fields: HTTPFields = [:]
        if page * size < names.count, let link = HTTPField.Name("Link") {
            let next = "\(root)\(request.path)?per_page=\(size)&page=\(page + 1)"
            let last = "\(root)\(request.path)?per_page=\(size)&page=\((names.count + size - 1) / size)"
            fields[link] = #"<\#(next)>; rel="next", <\#(last)>; rel="last""#
        }
        return .json(text: "[\(rows.joined(separator: ", "))]", headerFields: fields)
    }
}
