import Foundation

#if Valkey
import Crypto
import Networking
import NetworkingValkey

/// A machine of a service whose session is shared through a server, for tests that run several and kill one.
///
/// Arguments: the port of the server, the number of requests, and `run`, or `hang` for a machine that prints
/// `refreshing` with the lock and never sends its refresh. It prints how many requests were answered. It also ends with
/// its standard input.
///
/// The server also plays the token server: it counts how often each refresh token arrives.
@main
enum SessionMachine {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let port = Int(arguments[1]), let count = Int(arguments[2]) else {
            fatalError("usage: SessionMachine <port> <requests> run|hang")
        }
        endWithParent()
        let valkey = ValkeyClient(
            .host("127.0.0.1", port: port),
            configuration: ValkeyConfiguration(timeout: .seconds(10), connectTimeout: .seconds(10))
        )
        let key = SessionSealingKey(id: "1", SymmetricKey(data: Array(repeating: 1, count: 32)))
        let storage = ValkeySessionStorage(valkey, namespace: "shop", keys: [key], timeout: .seconds(10))
        let delegate = Delegate(valkey: valkey, hangs: arguments[3] == "hang")
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
        print("answered \(answered)")
        await valkey.shutdown()
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
                SessionMachine.print("refreshing")
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

    /// Writes a line at once, and not through a buffer that would end with the process.
    private static func print(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }

    /// Ends this process when its standard input ends, which it does with the process of the tests, however that ends.
    private static func endWithParent() {
        Thread.detachNewThread {
            while !FileHandle.standardInput.availableData.isEmpty {}
            exit(1)
        }
    }
}
#else
@main
enum SessionMachine {
    static func main() {}
}
#endif
