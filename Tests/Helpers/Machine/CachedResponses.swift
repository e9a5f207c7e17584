#if Valkey
import Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingValkey

/// Requests whose responses all machines share.
enum CachedResponses {
    /// Requests pages as one of two users, and prints how many of them the origin sent.
    static func read(_ count: Int, as user: String, _ valkey: ValkeyClient) async throws {
        let origin = MockTransport { request in
            .ok(Data((request.path ?? "").utf8), headerFields: [.cacheControl: "max-age=600"])
        }
        let network = stack(origin, user, valkey)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<20 {
                group.addTask {
                    for number in stride(from: worker, to: count, by: 20) {
                        let response = try await network.data(HTTPRequestData(path: "pages/\(number)"))
                        precondition(response.data == Data("/pages/\(number)".utf8))
                    }
                }
            }
            try await group.waitForAll()
        }
        Machine.print("fetched \(origin.requests.count)")
    }

    /// Changes the first page.
    static func write(as user: String, _ valkey: ValkeyClient) async throws {
        let network = stack(MockTransport { _ in .ok() }, user, valkey)
        _ = try await network.data(.post("pages/0"))
        Machine.print("written")
    }

    private static func stack(
        _ origin: MockTransport,
        _ user: String,
        _ valkey: ValkeyClient
    ) -> some NetworkingComponent {
        let key = SymmetricKey(data: Array(repeating: 2, count: 32))
        let store = ValkeyCacheStore(valkey, namespace: "shop", key: key, timeout: .seconds(10))
        return origin.authenticated(with: Session(userID: user, accessToken: "token"))
            .cached(in: ResponseCache(in: store))
            .server(authority: "origin.example")
    }
}
#endif
