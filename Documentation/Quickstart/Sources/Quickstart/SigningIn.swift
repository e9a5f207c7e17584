import Foundation
import Networking
import NetworkingTestServer
import Synchronization

/// Signs in with a password and stays signed in when the token expires, as an app does with dummyjson.com.
enum SigningIn {
    static func show(_ server: TestServer) async throws {
        let accounts = Accounts()
        accounts.script(server)
        Terminal.title("15. Sign in, and stay signed in")
        Terminal.code(
            """
            let tokens = TokenStore(nil, in: InMemorySessionStorage(), delegate: Renewal(url: server.url))
            let network = URLSession.shared
                .authenticated(with: tokens) { $0.path == "/auth/login" }
                .server(baseURL: server.url)
            tokens.set(try await logIn(over: network))
            """
        )
        let tokens = TokenStore(nil, in: InMemorySessionStorage(), delegate: Renewal(url: server.url))
        let network = URLSession.shared
            .authenticated(with: tokens) { $0.path == "/auth/login" }
            .instrument(Tour.instrument).server(baseURL: server.url)

        tokens.set(try await logIn(over: network))
        Terminal.say("Signed in as \(try await me(over: network)).")

        accounts.expire()
        let names = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 1...10 {
                group.addTask { try await me(over: network) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let refreshes = server.requests(for: .post, path: "/auth/refresh").count
        Terminal.say(
            "The token expired. \(names.count) callers got their response after \(refreshes) refresh."
        )
        try Tour.expect(names.count == 10 && refreshes == 1, "ten callers share a refresh")
        Terminal.say("And again: \(try await me(over: network)). The tokens are redacted in descriptions: \(tokens)")

        tokens.remove()
        do {
            _ = try await me(over: network)
        } catch let error as NetworkingError {
            Terminal.say("Signed out: \(error.reason)")
            try Tour.expect(error.kind == .unauthorized, "a request without a signed-in user fails")
        }
    }

    private static func logIn(over network: some NetworkingComponent) async throws -> Networking.Session {
        let credentials = ["username": "emilys", "password": "emilyspass"]
        let request = HTTPRequestData(method: .post, path: "auth/login", body: .json(credentials))
        let login = try await network.request(request, as: Login.self)
        return Networking.Session(
            userID: "\(login.id)",
            accessToken: login.accessToken,
            refreshToken: login.refreshToken
        )
    }

    private static func me(over network: some NetworkingComponent) async throws -> String {
        try await network.request(HTTPRequestData(path: "auth/me"), as: Person.self).username
    }
}

/// Refreshes a session at the server.
private struct Renewal: AuthenticationDelegate {
    let url: URL

    func refresh(
        _ session: Networking.Session,
        after response: HTTPResponseData?,
        over network: any NetworkingComponent
    ) async throws -> Networking.Session {
        let request = HTTPRequestData(
            method: .post,
            url: url.appending(path: "auth/refresh"),
            body: .json(["refreshToken": session.refreshToken])
        )
        let tokens = try await network.request(request, as: Tokens.self)
        return session.renewed(accessToken: tokens.accessToken, refreshToken: tokens.refreshToken)
    }
}

private struct Person: Codable {
    let username: String
}

private struct Tokens: Codable {
    let accessToken: String
    let refreshToken: String
}

private struct Login: Codable {
    let id: Int
    let accessToken: String
    let refreshToken: String
}

/// The server: one user, with refresh tokens that are valid once.
private final class Accounts: Sendable {
    private let number = Mutex(0)
    private let isExpired = Atomic(false)

    func script(_ server: TestServer) {
        server.route(.post, "/auth/login") { [self] _ in
            try .json(Login(id: 1, accessToken: "access-\(current)", refreshToken: "refresh-\(current)"))
        }
        server.route(.get, "/auth/me") { [self] request in
            guard !isExpired.load(ordering: .relaxed),
                request.headerFields[.authorization] == "Bearer access-\(current)"
            else { return .status(.unauthorized) }
            return try .json(Person(username: "emilys"))
        }
        server.route(.post, "/auth/refresh") { [self] request in
            let sent = try JSONDecoder().decode([String: String].self, from: request.body)["refreshToken"]
            guard sent == "refresh-\(current)" else { return .status(.forbidden) }
            number.withLock { $0 += 1 }
            isExpired.store(false, ordering: .relaxed)
            return try .json(Tokens(accessToken: "access-\(current)", refreshToken: "refresh-\(current)"))
        }
    }

    func expire() {
        isExpired.store(true, ordering: .relaxed)
    }

    private var current: Int {
        number.withLock { $0 }
    }
}
