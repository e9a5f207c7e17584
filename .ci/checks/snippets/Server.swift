// The server of the snippets that run, and what connects them to it. See `check`.
//
// In such a snippet, `URLSession` is `LoopbackSession`, and `network` is a stack over it: each host is the test server.

import Foundation
import FoundationNetworking
import HTTPTypes
import Networking
import NetworkingTestServer
import Synchronization

/// URLSession, which sends every request to the test server, without TLS.
///
/// The rest of the stack, and the response, see the URL of the request.
struct LoopbackSession: NetworkingTransport {
    static let shared = LoopbackSession()

    /// The port of the server, which `run` sets.
    static let port = Mutex(0)

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        let session = FoundationNetworking.URLSession.shared
        // A server of the snippet.
        if request.authority?.hasPrefix("127.0.0.1:") == true { return try await session.exchange(request) }
        var local = request
        local.scheme = "http"
        local.authority = "127.0.0.1:\(Self.port.withLock { $0 })"
        var response = try await session.exchange(local)
        response.sentRequest = request
        return response
    }

    var stackPart: StackPart {
        FoundationNetworking.URLSession.shared.stackPart
    }
}

/// Runs the snippet that the first argument names, and exits.
@MainActor
func run(_ snippets: [String: @MainActor () async throws -> Void]) async {
    do {
        try await runSnippet(of: snippets)
        exit(0)
    } catch {
        try? FileHandle.standardError.write(contentsOf: Data("\(error)\n".utf8))
        exit(1)
    }
}

@MainActor
private func runSnippet(of snippets: [String: @MainActor () async throws -> Void]) async throws {
    guard let snippet = snippets[CommandLine.arguments[1]] else { fatalError("there is no such snippet") }
    try await withTestServer { server in
        LoopbackSession.port.withLock { $0 = server.port }
        script(server)
        try FileManager.default.createDirectory(at: downloads, withIntermediateDirectories: true)
        for file in [url, elsewhere] {
            try Data("photo".utf8).write(to: file)
        }
        var environment = NetworkEnvironment.current
        environment.connectivity = ManualConnectivity()
        environment.random = .seeded(42)
        try await withEnvironment(environment, snippet)
    }
}

/// The API of the pages, with and without the version in its paths.
private func script(_ server: TestServer) {
    for root in ["", "/v1"] {
        server.route(.get, "\(root)/users") { request in
            request.query == "q=li" ? .json("[\(liam)]") : .json("[\(emily), \(liam)]", deprecated)
        }
        server.route("\(root)/users/:id") { _ in .status(.notFound) }
        server.route(.get, "\(root)/users/42") { _ in .json(emily, [.eTag: #""7""#]) }
    }
    server.route(.put, "/users/42") { _ in .status(.preconditionFailed) }
    server.route(.get, "/users/42/orders") { _ in .json(#"[{"id": 7}, {"id": 8}]"#) }
    server.route(.query, "/users") { _ in .json("[\(emily), \(liam)]") }
    server.route(.options, "/users") { _ in .text("", [.acceptQuery: #""application/json""#]) }

    server.route(.post, "/orders") { _ in .status(.created) }
    server.route(.post, "/orders/7/payment") { _ in .status(.serviceUnavailable) }
    server.route(.get, "/orders/7/status") { _ in .json(#""refunded""#) }
    server.route(.get, "/jobs/7", responses: .json(#"{"isDone": false}"#), .json(#"{"isDone": true}"#))
    server.route(.post, "/reports") { _ in .text("", [.location: "/report"], status: .accepted) }
    server.route(.get, "/report") { _ in .text("3 orders") }
    server.route(.get, "/offers", responses: .status(.serviceUnavailable), .text("3 orders"))
    server.route(.get, "/news") { _ in .text("news", [.cacheControl: "max-age=60", .age: "18"]) }
    server.route(.get, "/report.pdf") { _ in .text("report") }

    server.route(.get, "/films/42") { _ in .redirect(to: "/films/43") }
    server.route(.post, "/photos") { _ in
        var response = TestResponse.json(#"{"url": "https://api.example.com/photos/7"}"#)
        response.status = .created
        return response
    }
    server.route(.get, "/photos/7.jpg") { _ in .text(String(repeating: "-", count: 20_000)) }
    server.route(.put, "/backup") { _ in .status(.noContent) }
    server.route(.get, "/204") { _ in .status(.noContent) }

    server.route(.post, "/login") { _ in .text("", [.setCookie: "session=1; Max-Age=3600"]) }
    server.route(.post, "/auth/login") { request in
        request.headerFields[.authorization] == nil
            ? .json(#"{"userID": "emily", "accessToken": "token-1"}"#) : .status(.badRequest)
    }
    server.route(.get, "/account") { _ in .status(.unauthorized) }
    server.route(.get, "/mail") { request in
        request.headerFields[.authorization] == "Bearer token-1" ? .text("2 letters") : .status(.unauthorized)
    }
    server.route(.get, "/photos") { request in
        request.headerFields[.authorization] == "Bearer token-2" ? .text("3 photos") : .status(.unauthorized)
    }
    server.route(.get, "/tiles/7") { request in
        request.headerFields[HTTPField.Name("X-API-Key")!] == "key-1" ? .ok : .status(.unauthorized)
    }
}

private let deprecated: HTTPFields = [
    HTTPField.Name("Deprecation")!: "@1782777600",
    HTTPField.Name("Link")!: #"</v2/users>; rel="successor-version""#,
    HTTPField.Name("Sunset")!: "Wed, 30 Jun 2027 00:00:00 GMT",
]
private let emily = #"{"id": 42, "name": "Emily"}"#
private let liam = #"{"id": 43, "name": "Liam"}"#

extension TestResponse {
    /// Returns a response with JSON.
    fileprivate static func json(_ text: String, _ fields: HTTPFields = [:]) -> TestResponse {
        .text(text, HTTPFields([HTTPField(name: .contentType, value: "application/json")] + fields))
    }

    /// Returns a response with text and header fields.
    fileprivate static func text(
        _ text: String,
        _ fields: HTTPFields,
        status: HTTPResponse.Status = .ok
    ) -> TestResponse {
        var response = TestResponse.text(text, status: status)
        for field in fields {
            response.headerFields[field.name] = field.value
        }
        return response
    }
}
