import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization

/// A server whose access tokens run out and whose refresh tokens can be spent once, and the delegate that renews them
/// there.
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

    /// Asks the server for sessions.
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

    /// The statuses after which refreshes were made.
    var causes: [Int?] {
        delegate.calls.compactMap { call in
            if case .refresh(_, let response) = call { .some(response?.status.code) } else { nil }
        }
    }

    /// The session that the server accepts now.
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

    /// From now on the access token is refused.
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

    /// What the server answers.
    var transport: MockTransport {
        MockTransport { [state] request in
            let isAccepted = state.value.withLock { state in
                !state.refusesAll && request.headerFields[.authorization] == "Bearer \(state.accessToken)"
            }
            return isAccepted ? .text("hello") : .status(.unauthorized)
        }
    }

    /// Shared by the server and the closures of its delegate.
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
    /// The path of a request that waits for nothing but credentials.
    @discardableResult
    func me(_ change: (inout HTTPRequestData) -> Void = { _ in }) async throws -> HTTPResponseData {
        try await data(HTTPRequestData(path: "me").with(change))
    }
}
