// The network of the app: a stack, the calls, and the session of the signed-in user.
import Foundation
import Networking

// A new Xcode app isolates its types to the main actor, but bodies are decoded off it.
nonisolated struct User: Codable, Identifiable, Hashable {
    let id: Int
    let name: String
}

nonisolated struct Problem: LocalizedError, Decodable {
    let message: String
    var errorDescription: String? { message }
}

nonisolated struct UserAPI: Sendable {
    let tokens: TokenStore<Session>
    private let network: any NetworkingComponent

    init(
        over transport: some NetworkingComponent = URLSession.shared,
        tokens: TokenStore<Session> = TokenStore()
    ) {
        self.tokens = tokens
        network =
            transport
            .standard(.app)
            .authenticated(with: tokens)
            .cached()
            .whenOffline(.cached)
            .checkedStatusCode(as: Problem.self)
            .logged()
            .server(baseURL: URL(string: "https://api.example.com/v1")!)
    }

    func users(matching text: String) async throws -> [User] {
        try await network.request(.get("users", query: ["q": text]))
    }

    func save(_ user: User) async throws {
        try await network.perform(.put("users/\(user.id)", body: .json(user)))
    }

    /// Uploads a photo.
    ///
    /// The progress arrives on any thread.
    func upload(
        photo: Data,
        of user: User,
        progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws {
        let body = RequestBody.data(photo, contentType: "image/jpeg")
        try await network.upload(body, to: .put("users/\(user.id)/photo"), progress: progress)
    }

    func signIn(name: String, password: String) async throws {
        let form = ["name": name, "password": password]
        // The sign-in itself is sent without credentials.
        let request = HTTPRequestData.post("sessions", body: .json(form))
            .with(\.authenticationMethod, .anonymous)
        try await tokens.set(network.request(request, as: Session.self))
    }

    func signOut() {
        tokens.remove()
    }
}

extension TokenStore<Session> {
    /// The session of the user who has signed in, from the Keychain.
    nonisolated static var stored: TokenStore<Session> {
        let storage = KeychainSessionStorage(service: "com.example.users")
        let session = try? storage.userIDs().first.flatMap { try storage.session(for: $0) }
        return TokenStore(session, in: storage, delegate: Renewal())
    }
}

/// Renews a session with its refresh token, once for all requests that wait for it.
nonisolated struct Renewal: AuthenticationDelegate {
    func refresh(
        _ session: Session,
        after response: HTTPResponseData?,
        over network: any NetworkingComponent
    ) async throws -> Session {
        let request = HTTPRequestData(
            method: .post,
            url: URL(string: "https://api.example.com/v1/sessions/renewal")!,
            body: .json(["refreshToken": session.refreshToken])
        )
        let new = try await network.request(request, as: Session.self)
        return session.renewed(
            accessToken: new.accessToken,
            refreshToken: new.refreshToken,
            expirationDate: new.expirationDate
        )
    }
}
