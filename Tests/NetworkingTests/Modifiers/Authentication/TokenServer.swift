import Foundation
import HTTPTypes
import NetworkingTesting
import Synchronization

@testable import Networking

/// A server whose access tokens run out and whose refresh tokens can be spent once, and the delegate that renews them there.
final class TokenServer: AuthenticationDelegate {
    struct Spent: Error {}

    private struct State {
        var accessToken = "access-0"
        var refreshToken = "refresh-0"
        var number = 0
        var refreshes = 0
        var authorizations = 0
        var failure: (any Error)?
        var refusesAll = false
        var lifetime: Duration?
        var gate: Suspension<Void>?
        /// A cancellation does not reach who is held.
        var isDeaf = false
        var begun = Suspension<Void>()
        var responses: [Int?] = []
    }

    private let state = Mutex(State())

    var refreshes: Int { state.withLock { $0.refreshes } }
    var authorizations: Int { state.withLock { $0.authorizations } }
    /// The statuses after which refreshes were made.
    var causes: [Int?] { state.withLock { $0.responses } }

    /// The session that the server accepts now.
    func session(of user: String? = "emily", expiring: Date? = nil) -> Session {
        state.withLock { state in
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
        state.withLock { $0.accessToken = "none" }
    }

    func refuseAll() {
        state.withLock { $0.refusesAll = true }
    }

    func failRefreshes(with error: (any Error)?) {
        state.withLock { $0.failure = error }
    }

    func giveTokens(lifetime: Duration) {
        state.withLock { $0.lifetime = lifetime }
    }

    /// Holds refreshes until the test lets them go on.
    func holdRefreshes(deafly isDeaf: Bool = false) {
        state.withLock { state in
            state.isDeaf = isDeaf
            state.gate = Suspension()
            state.begun = Suspension()
        }
    }

    func refreshHasBegun() async throws {
        try await state.withLock { $0.begun }.value()
    }

    func letRefreshesGoOn() {
        state.withLock { state in
            defer { state.gate = nil }
            return state.gate
        }?
        .resume()
    }

    /// What the server answers.
    var transport: MockTransport {
        MockTransport { [self] request in
            let isAccepted = state.withLock { state in
                !state.refusesAll && request.headerFields[.authorization] == "Bearer \(state.accessToken)"
            }
            return isAccepted ? .text("hello") : .status(.unauthorized)
        }
    }

    func authorize(over network: any NetworkingComponent) async throws -> Session {
        state.withLock { $0.authorizations += 1 }
        return try await renew(nil)
    }

    func refresh(
        _ session: Session,
        after response: HTTPResponseData?,
        over network: any NetworkingComponent
    ) async throws -> Session {
        state.withLock { state in
            state.refreshes += 1
            state.responses.append(response?.status.code)
        }
        return try await renew(session)
    }

    private func renew(_ session: Session?) async throws -> Session {
        let (gate, begun) = state.withLock { ($0.gate, $0.begun) }
        begun.resume()
        if state.withLock({ $0.isDeaf }) {
            await Task.detached { try? await gate?.value() }.value
        } else {
            try await gate?.value()
        }
        let lifetime = state.withLock { $0.lifetime }
        let expiry = lifetime.map { NetworkEnvironment.current.clock.date.addingTimeInterval($0 / .seconds(1)) }
        return try state.withLock { state in
            if let failure = state.failure { throw failure }
            guard session == nil || session?.refreshToken == state.refreshToken else { throw Spent() }
            state.number += 1
            state.accessToken = "access-\(state.number)"
            state.refreshToken = "refresh-\(state.number)"
            return Session(
                userID: session?.userID ?? "emily",
                accessToken: state.accessToken,
                refreshToken: state.refreshToken,
                expirationDate: expiry
            )
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
