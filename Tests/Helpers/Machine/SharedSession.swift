#if Valkey
import Crypto
import HTTPTypes
import Networking
import NetworkingValkey

/// Requests with an expired session, which all machines share.
///
/// The server of the sessions also plays the token server: it counts how often each refresh token arrives.
enum SharedSession {
    /// Sends requests at the same time, and prints how many were answered.
    ///
    /// A machine that hangs prints `refreshing` when it has the lock, and never sends its refresh.
    static func send(_ count: Int, _ valkey: ValkeyClient, hangs: Bool = false) async throws {
        let key = SessionSealingKey(id: "1", SymmetricKey(data: Array(repeating: 1, count: 32)))
        let storage = ValkeySessionStorage(valkey, namespace: "shop", keys: [key], timeout: .seconds(10))
        let delegate = Delegate(valkey: valkey, hangs: hangs)
        // The lease of the lock is 2.25 seconds.
        let timeout = Duration.milliseconds(1_500)
        let tokens = try await TokenStore(for: "emily", sharing: storage, delegate: delegate, timeout: timeout)
        let api = MockTransport { request in
            request.headerFields[.authorization] == "Bearer access-0" ? .status(.unauthorized) : .ok()
        }
        let network = api.authenticated(with: tokens).server(authority: "api.example.com")
        let answered = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<count {
                group.addTask {
                    // The wait for the lock of a killed machine is longer than one attempt.
                    for _ in 0..<4 where (try? await network.data(HTTPRequestData(path: "me")))?.status == .ok {
                        return true
                    }
                    return false
                }
            }
            var answered = 0
            for await isAnswered in group where isAnswered { answered += 1 }
            return answered
        }
        Machine.print("answered \(answered)")
    }

    private struct Delegate: AuthenticationDelegate {
        let valkey: ValkeyClient
        let hangs: Bool

        private static let refresh = ValkeyScript("return redis.call('INCR', KEYS[1])")

        func refresh(
            _ session: Session,
            after response: HTTPResponseData?,
            over network: any NetworkingComponent
        ) async throws -> Session {
            if hangs {
                Machine.print("refreshing")
                try await Task.sleep(for: .seconds(600))
            }
            let token = session.refreshToken ?? "none"
            guard try await valkey.evaluate(Self.refresh, keys: ["used:\(token)"], arguments: []).integer == 1 else {
                throw CancellationError()
            }
            // A token server takes some time.
            try await Task.sleep(for: .milliseconds(100))
            let number = (token.split(separator: "-").last.flatMap { Int($0) } ?? 0) + 1
            return Session(userID: "emily", accessToken: "access-\(number)", refreshToken: "refresh-\(number)")
        }
    }
}
#endif
