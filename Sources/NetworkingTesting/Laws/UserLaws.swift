import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import Synchronization

extension LawCheck {
    /// Another user signs in at each moment at which a request may wait or be sent again.
    func sendsForOneUser() async throws {
        for moment in SignInMoment.allCases {
            let account = Account()
            let transport = Probe { request in
                guard account.record(request), moment == .afterFirstAttempt else {
                    return HTTPResponseData(request: request, data: Data("body".utf8))
                }
                account.signInAnother()
                let http = HTTPResponse(status: .serviceUnavailable)
                return HTTPResponseData(request: request, http: http, body: .collected(Data()))
            }
            let inner = transport.modified(AccountCredentials(account: account))
                .modified(moment == .behind ? SigningIn(account: account) : nil)
            let stack = stack(around: inner).modified(moment == .before ? SigningIn(account: account) : nil)
            // Other laws report a request that never ends.
            _ = try? await LawCall(request, over: stack).finished()
            try require(
                account.hasSentForFirstUserOnly,
                "A request of one user is sent with the credentials of another user, who signed in \(moment.rawValue)."
            )
        }
    }
}

/// The moment at which another user signs in.
private enum SignInMoment: String, CaseIterable {
    case before = "before the request arrived at the modifier"
    case behind = "after the modifier sent it upstream"
    case afterFirstAttempt = "before the response to the first attempt"
}

/// The account of the app, in which one user after the other signs in.
private final class Account: Sendable {
    private let state = Mutex((user: 1, sent: [String?]()))

    var user: Principal {
        Principal(id: "user \(state.withLock { $0.user })")
    }

    func signInAnother() {
        state.withLock { $0.user += 1 }
    }

    /// Records the user of a request that arrives at the transport, and returns whether it is the first one.
    func record(_ request: HTTPRequestData) -> Bool {
        state.withLock { state in
            state.sent.append(request.headerFields[.lawsUser])
            return state.sent.count == 1
        }
    }

    var hasSentForFirstUserOnly: Bool {
        state.withLock { $0.sent.allSatisfy { $0 == nil || $0 == "user 1" } }
    }
}

/// Adds the credentials of an account, as `authenticated` does.
private struct AccountCredentials: NetworkingModifier {
    let account: Account

    func resolve(_ request: inout HTTPRequestData) {
        request.noteUser(account.user, of: account)
    }

    func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal? {
        request.user(of: account, signedIn: account.user)
    }

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        // Another law reports a part that does not forward `resolve`.
        guard request.notedUser(of: account) != nil else { return try await upstream.send(request) }
        let user = account.user
        try request.checkUser(user, of: account)
        var request = request
        request.headerFields[.lawsUser] = user.id
        var response = try await upstream.send(request)
        response.principal = user
        return response
    }
}

/// Signs in another user when a request arrives.
private struct SigningIn: NetworkingModifier {
    let account: Account

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        account.signInAnother()
        return try await upstream.send(request)
    }
}

extension HTTPField.Name {
    // The name is valid, so the initializer returns a value.
    fileprivate static let lawsUser = HTTPField.Name("X-Laws-User")!
}
