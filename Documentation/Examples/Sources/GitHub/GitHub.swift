import Backend
import Foundation
import Networking

/// A part of the REST API of GitHub.
///
/// The responses have different types, so each call names the type to decode.
enum GitHub: Endpoint {
    typealias Response = HTTPResponseData

    case user(String)
    case repositories(of: String, perPage: Int)
    case createIssue(NewIssue, owner: String, repository: String)

    var method: HTTPRequest.Method {
        switch self {
        case .user, .repositories: .get
        case .createIssue: .post
        }
    }

    var path: RequestPath {
        switch self {
        case .user(let name): "users/\(name)"
        case .repositories(let name, _): "users/\(name)/repos"
        case .createIssue(_, let owner, let repository): "repos/\(owner)/\(repository)/issues"
        }
    }

    var query: RequestQuery {
        switch self {
        case .repositories(_, let perPage): ["per_page": perPage, "sort": "full_name"]
        case .user, .createIssue: [:]
        }
    }

    var headers: HeaderFields {
        [.accept: "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"]
    }

    var body: RequestBody? {
        switch self {
        case .createIssue(let issue, _, _): .json(issue)
        case .user, .repositories: nil
        }
    }
}

struct User: Decodable, Sendable {
    let login: String
    let publicRepos: Int
}

struct Repository: Decodable, Sendable {
    let name: String
    let stargazersCount: Int
    let updatedAt: Date
}

struct NewIssue: Encodable, Sendable {
    let title: String
}

struct Issue: Decodable, Sendable {
    let number: Int
    let title: String
}

/// The body of an error response.
///
/// Calls throw it as an error.
struct GitHubError: Error, Decodable {
    let message: String
    let errors: [Detail]?

    struct Detail: Decodable {
        let field: String
        let code: String
    }
}

@main
enum Example {
    static func main() async {
        await withBackend(GitHubService()) { server in
            // In an app, the base URL is https://api.github.com.
            let gitHub = APIService(URLSession.shared.timeout(.seconds(10)).retry(), baseURL: server.url) { network in
                network
                    .authenticated(with: BearerCredentials(token: "ghp_example"))
                    .decoder(.json(keys: .convertFromSnakeCase, dates: .iso8601))
                    .checkedStatusCode(as: GitHubError.self)
            }

            let user = try await gitHub.request(GitHub.user("octocat"), as: User.self)
            print("\(user.login) has \(user.publicRepos) repositories:")

            // Each page is fetched when the loop reaches it.
            let list = GitHub.repositories(of: user.login, perPage: 3)
            var count = 0
            for try await repository in gitHub.elements(list.request(as: [Repository].self), next: .link, of: \.self) {
                print("  \(repository.name): \(repository.stargazersCount) stars")
                count += 1
            }
            let pageCount = server.requests(for: .get, path: "/users/:name/repos").count
            expect(count == user.publicRepos && pageCount == 3, "three pages have all repositories")

            let title = "Pages have gaps"
            let issue = try await gitHub.request(
                GitHub.createIssue(NewIssue(title: title), owner: "octocat", repository: "linguist"),
                as: Issue.self
            )
            print("Created issue \(issue.number): \(issue.title)")
            expect(issue.title == title, "the issue has its title")

            do {
                let untitled = GitHub.createIssue(NewIssue(title: ""), owner: "octocat", repository: "linguist")
                _ = try await gitHub.request(untitled, as: Issue.self)
                expect(false, "an issue without a title is refused")
            } catch let error as GitHubError {
                let fields = error.errors?.map { "\($0.field) (\($0.code))" } ?? []
                print("\(error.message): \(fields.joined(separator: ", "))")
                expect(error.errors?.first?.field == "title", "the error says which field is missing")
            }
        }
    }
}
