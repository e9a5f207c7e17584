#if Valkey
import Crypto
import Foundation
import Networking
import NetworkingTesting
import Synchronization

@testable import NetworkingValkey

extension FakeValkey {
    /// Creates a server with the scripts of sessions.
    static func ofSessions(on clock: NetworkClock) -> FakeValkey {
        FakeValkey(
            on: clock,
            [
                SessionScript.remove: Script(name: "REMOVE") { keys, names, _ in .integer(keys.remove(names[0]) ? 1 : 0)
                },
                SessionScript.renew: Script(name: "RENEW") { keys, names, arguments in
                    guard let owner = keys[names[0]], owner == arguments[0] else { return 0 }
                    keys.set(names[0], to: owner, expiry: duration(arguments[1]))
                    return 1
                },
                SessionScript.release: Script(name: "RELEASE") { keys, names, arguments in
                    guard keys[names[0]] == arguments[0] else { return 0 }
                    return .integer(keys.remove(names[0]) ? 1 : 0)
                },
                SessionScript.replace: Script(name: "REPLACE") { keys, names, arguments in
                    guard keys[names[0]] ?? arguments[0] == arguments[0], keys[names[1]] ?? [] == arguments[1] else {
                        return 0
                    }
                    keys.set(names[1], to: arguments[2], expiry: duration(arguments[3]))
                    return 1
                },
            ]
        )
    }

    private static func duration(_ digits: [UInt8]) -> Duration {
        .milliseconds(Int64(String(decoding: digits, as: UTF8.self)) ?? 0)
    }
}

extension SessionSealingKey {
    static let first = SessionSealingKey(id: "1", SymmetricKey(data: Array(repeating: 1, count: 32)))
    static let second = SessionSealingKey(id: "2", SymmetricKey(data: Array(repeating: 2, count: 32)))
}

/// A token server that accepts each refresh token once, and revokes all tokens when one arrives a second time.
final class RotatingTokens: Sendable {
    struct Revoked: Error {}

    private struct State {
        var number = 0
        var isRevoked = false
        var lifetime: Duration?
        var authorizations = 0
    }

    private let state = Mutex(State())

    /// The number of refreshes.
    var refreshes: Int { state.withLock { $0.number } }
    var authorizations: Int { state.withLock { $0.authorizations } }
    /// Whether a refresh token has arrived twice.
    var isRevoked: Bool { state.withLock { $0.isRevoked } }

    /// The session that is valid now, and has expired by its date unless it is said otherwise.
    func session(of user: String? = "emily", expiring date: Date = .distantPast) -> Session {
        session(user, number: state.withLock { $0.number }, date)
    }

    private func session(_ user: String?, number: Int, _ date: Date?) -> Session {
        Session(userID: user, accessToken: "access-\(number)", refreshToken: "refresh-\(number)", expirationDate: date)
    }

    func refresh(_ session: Session) throws -> Session {
        let number = try state.withLock { state in
            guard !state.isRevoked, session.refreshToken == "refresh-\(state.number)" else {
                state.isRevoked = true
                throw Revoked()
            }
            state.number += 1
            return state.number
        }
        return self.session(session.userID, number: number, nil)
    }

    func authorize() -> Session {
        state.withLock { $0.authorizations += 1 }
        return session(nil, number: state.withLock { $0.number }, nil)
    }

    /// A delegate of one machine, which needs some time for each refresh.
    func delegate(taking duration: Duration = .zero) -> ScriptedAuthenticationDelegate<Session> {
        ScriptedAuthenticationDelegate { [self] _ in
            authorize()
        } refresh: { [self] session, _, _ in
            if duration > .zero { try await Task.sleep(for: duration) }
            return try refresh(session)
        }
    }

    /// An API that accepts the access token that is valid now.
    var api: MockTransport {
        MockTransport { [self] request in
            let (number, isRevoked) = state.withLock { ($0.number, $0.isRevoked) }
            let isAccepted = !isRevoked && request.headerFields[.authorization] == "Bearer access-\(number)"
            return isAccepted ? .ok() : .status(.unauthorized)
        }
    }

    func stack(_ tokens: TokenStore<Session>, on clock: NetworkClock = .continuous) -> AnyNetworkingComponent {
        AnyNetworkingComponent(
            api.authenticated(with: tokens).server(authority: "api.example.com").environment(\.clock, clock)
        )
    }
}

extension NetworkingComponent {
    /// Sends a request that waits only for credentials.
    @discardableResult
    func me() async throws -> HTTPResponseData {
        try await data(HTTPRequestData(path: "me"))
    }
}
#endif
