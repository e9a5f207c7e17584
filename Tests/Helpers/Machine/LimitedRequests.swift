#if Valkey
import Foundation
import HTTPTypes
import Networking
import NetworkingValkey

/// Requests of several callers under a limit of 100 per second, which all machines share.
enum LimitedRequests {
    /// Sends requests until the process ends, and prints the moment of each that reaches the vendor, in seconds.
    static func send(_ valkey: ValkeyClient) async throws {
        let sharing = RateLimiter.Sharing(
            in: ValkeyRateLimit(valkey, namespace: "shop"),
            as: "vendor",
            localShare: 1 / 4,
            timeout: .seconds(10)
        )
        let vendor = MockTransport { _ in
            // The clock is the same one in all processes.
            Machine.print("\(ProcessInfo.processInfo.systemUptime)")
            return .ok()
        }
        let network = vendor.rateLimited(by: RateLimiter(100, per: .seconds(1), burst: 10, sharing: sharing))
            .server(authority: "vendor.example")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    while true { _ = try await network.data(HTTPRequestData(path: "orders")) }
                }
            }
            try await group.waitForAll()
        }
    }
}
#endif
