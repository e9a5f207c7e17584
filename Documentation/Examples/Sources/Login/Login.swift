import Backend
import Foundation
import Networking

/// The account of the app's user: login, calls with a token that is renewed when necessary, and sign-out.
struct Account: Sendable {
    private let network: any NetworkingComponent
    private let tokens: TokenStore<Session>

    /// Creates the account, signed in if a session is stored.
    ///
    /// On Apple's platforms, use `KeychainSessionStorage` instead of the directory.
    init(at url: URL, sessionsIn directory: URL) throws {
        let storage = FileSessionStorage(directory: directory)
        let session = try storage.userIDs().first.flatMap { try storage.session(for: $0) }
        tokens = TokenStore(session, in: storage, delegate: Renewal(url: url))
        network = URLSession.shared
            .timeout(.seconds(10))
            .authenticated(with: tokens)
            .retry()
            .server(headerField: .accept, "application/json")
            .server(baseURL: url)
    }

    func logIn(username: String, password: String) async throws {
        let form = ["username": username, "password": password]
        // The login itself is sent without credentials.
        let login = HTTPRequestData.post("auth/login", body: .json(form)).with(\.authenticationMethod, .anonymous)
        tokens.set(try await network.request(login, as: Session.self))
    }

    func currentUser() async throws -> User {
        try await network.request(.get("auth/me"), as: User.self)
    }

    func posts() async throws -> String {
        try await network.request(.get("posts"), as: String.self)
    }

    func signOut() {
        tokens.remove()
    }
}

/// Renews a session with its refresh token, once for all requests that wait for a new access token.
struct Renewal: AuthenticationDelegate {
    let url: URL

    func refresh(
        _ session: Session,
        after response: HTTPResponseData?,
        over network: any NetworkingComponent
    ) async throws -> Session {
        let request = HTTPRequestData(
            method: .post,
            url: url.appending(path: "auth/refresh"),
            body: .json(["refreshToken": session.refreshToken])
        )
        let new = try await network.request(request, as: Session.self)
        return session.renewed(accessToken: new.accessToken, refreshToken: new.refreshToken)
    }
}

struct User: Decodable, Sendable {
    let id: Int
    let firstName: String
}

@main
enum Login {
    static func main() async {
        let service = AccountService()
        await withBackend(service) { server in
            try await withTemporaryDirectory { directory in
                let account = try Account(at: server.url, sessionsIn: directory)
                await expectUnauthorized("Before the login") { try await account.currentUser() }

                do {
                    try await account.logIn(username: "emilys", password: "guess")
                    expect(false, "a wrong password is an error")
                } catch let error as NetworkingError where error.kind == .status {
                    print("A wrong password: \(try error.decodeBody(as: [String: String].self)?["message"] ?? "")")
                }

                try await account.logIn(username: "emilys", password: "emilyspass")
                print("Signed in: \(try await account.currentUser().firstName)")

                let relaunched = try Account(at: server.url, sessionsIn: directory)
                let user = try await relaunched.currentUser()
                print("Still signed in after a restart of the app: \(user.firstName)")
                expect(user.id == 1, "the stored session is used")

                try await renew(relaunched, at: service)
                try await cancel(relaunched, at: service)

                relaunched.signOut()
                await expectUnauthorized("After the sign-out") { try await relaunched.currentUser() }
                let stored = try FileSessionStorage(directory: directory).userIDs()
                expect(stored.isEmpty, "the sign-out removes the session from the disk")
            }
        }
    }

    /// Makes ten calls with an expired token, which share one refresh.
    private static func renew(_ account: Account, at service: AccountService) async throws {
        service.expireAccessToken()
        let names = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 1...10 {
                group.addTask { try await account.currentUser().firstName }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        print("The token expired: \(names.count) calls succeeded after \(service.refreshes) refresh.")
        expect(names.count == 10 && service.refreshes == 1, "ten calls share one refresh")
    }

    private static func cancel(_ account: Account, at service: AccountService) async throws {
        let call = Task { try await account.posts() }
        try await service.waitForSlowCall()
        call.cancel()
        do {
            _ = try await call.value
            expect(false, "a cancelled call does not succeed")
        } catch is CancellationError {
            print("A call was cancelled while the server was still busy.")
        }
    }

    private static func expectUnauthorized(_ moment: String, _ call: () async throws -> User) async {
        do {
            _ = try await call()
            expect(false, "a call without a session fails")
        } catch {
            print("\(moment): \(error.localizedDescription)")
            expect((error as? NetworkingError)?.isUnauthorized == true, "a call without a session is unauthorized")
        }
    }
}
