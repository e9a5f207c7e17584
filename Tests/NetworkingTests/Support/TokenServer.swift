import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization

/// A server with access tokens that expire and refresh tokens that are valid once, and the delegate that uses them.
final class TokenServer: Sendable {
    struct Spent: Error {}

    private struct State {
        var accessToken = "access-0"
        var refreshToken = "refresh-0"
        var number = 0
        var failure: (any Error)?
        var refusesAll = false
        var lifetime: Duration?
    }

    /// A delegate that requests sessions from the server.
    let delegate: ScriptedAuthenticationDelegate<Session>
    private let state: StateBox

    init() {
        let state = StateBox()
        self.state = state
        delegate = ScriptedAuthenticationDelegate(
            authorize: { _ in try state.renew(nil) },
            refresh: { session, _, _ in try state.renew(session) }
        )
    }

    var refreshes: Int { delegate.refreshes }
    var authorizations: Int { delegate.authorizations }

    /// The status that caused each refresh, or `nil` for a refresh before the expiry.
    var causes: [Int?] {
        delegate.calls.compactMap { call in
            if case .refresh(_, let response) = call { .some(response?.status.code) } else { nil }
        }
    }

    /// Returns the session that the server currently accepts.
    func session(of user: String? = "emily", expiring: Date? = nil) -> Session {
        state.value.withLock { state in
            Session(
                userID: user,
                accessToken: state.accessToken,
                refreshToken: state.refreshToken,
                expirationDate: expiring
            )
        }
    }

    /// Makes the server refuse the current access token.
    func expire() {
        state.value.withLock { $0.accessToken = "none" }
    }

    func refuseAll() {
        state.value.withLock { $0.refusesAll = true }
    }

    func failRefreshes(with error: (any Error)?) {
        state.value.withLock { $0.failure = error }
    }

    func giveTokens(lifetime: Duration) {
        state.value.withLock { $0.lifetime = lifetime }
    }

    /// A transport with the responses of the server.
    var transport: MockTransport {
        MockTransport { [state] request in
            let isAccepted = state.value.withLock { state in
                !state.refusesAll && request.headerFields[.authorization] == "Bearer \(state.accessToken)"
            }
            return isAccepted ? .text("hello") : .status(.unauthorized)
        }
    }

    /// State that the server shares with the closures of its delegate.
    private final class StateBox: Sendable {
        let value = Mutex(State())

        func renew(_ session: Session?) throws -> Session {
            let date = NetworkEnvironment.current.clock.date
            return try value.withLock { state in
                if let failure = state.failure { throw failure }
                guard session == nil || session?.refreshToken == state.refreshToken else { throw Spent() }
                state.number += 1
                state.accessToken = "access-\(state.number)"
                state.refreshToken = "refresh-\(state.number)"
                return Session(
                    userID: session?.userID ?? "emily",
                    accessToken: state.accessToken,
                    refreshToken: state.refreshToken,
                    expirationDate: state.lifetime.map { date.addingTimeInterval($0 / .seconds(1)) }
                )
            }
        }
    }
}

extension NetworkingComponent {
    /// Sends a request that waits only for credentials.
    @discardableResult
    func me(_ change: (inout HTTPRequestData) -> Void = { _ in }) async throws -> HTTPResponseData {
        try await data(HTTPRequestData(path: "me").with(change))
    }
}
