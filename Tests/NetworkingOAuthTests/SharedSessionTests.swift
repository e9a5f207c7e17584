#if Crypto
import Foundation
import Networking
import NetworkingOAuth
import NetworkingTesting
import TestSupport
import Testing

/// Clients in several processes that share the session of one user in a file.
@Suite(.timeLimit(.minutes(20)))
struct SharedSessionTests {
    @Test func usesTheSessionThatAnotherProcessRefreshed() async throws {
        let provider = ScriptedProvider()
        let (transport, clock) = (provider.transport, ManualClock())
        try await withTemporaryDirectory { directory in
            let storage = FileSessionStorage(directory: directory)
            let first = OAuthClient(ScriptedProvider.system(), in: storage)
            let network = provider.network(first, over: transport, clock)
            try await network.oauth(first).signIn(with: provider.user)
            let second = OAuthClient(
                ScriptedProvider.system(),
                session: try storage.session(for: ""),
                in: FileSessionStorage(directory: directory)
            )
            let otherNetwork = provider.network(second, over: transport, clock)
            for number in 3...4 {
                provider.expireTokens()
                for network in [network, otherNetwork] {
                    #expect(try await network.data(HTTPRequestData(path: "orders")).status == .ok)
                }
                #expect(first.session?.refreshToken == "refresh-\(number)")
                #expect(second.session == first.session)
            }
            #expect(provider.get(\.forms).count { $0["grant_type"] == "refresh_token" } == 2)
            first.remove()
            provider.expireTokens()
            await #expect(throws: NetworkingError.self) { try await otherNetwork.data(HTTPRequestData(path: "orders")) }
            #expect(second.session == nil)
            #expect(try storage.userIDs().isEmpty)
        }
    }

    /// Two machines of a service that has tokens of its own.
    @Test func oneOfTwoMachinesRequestsTheTokens() async throws {
        let provider = ScriptedProvider()
        let (transport, clock) = (provider.transport, ManualClock())
        try await withTemporaryDirectory { directory in
            let storage = FileSessionStorage(directory: directory)
            var networks: [AnyNetworkingComponent] = []
            for _ in 0..<2 {
                let client = try await OAuthClient(
                    ScriptedProvider.system(),
                    sharing: storage,
                    grant: .clientCredentials
                )
                networks.append(provider.network(client, over: transport, clock))
            }
            for number in 1...3 {
                for network in networks {
                    #expect(try await network.data(HTTPRequestData(path: "orders")).status == .ok)
                    let names = { try FileManager.default.contentsOfDirectory(atPath: directory.path) }
                    try await eventually("the lock is released") { try names().count == 1 }
                }
                #expect(provider.get(\.forms).count == number)
                provider.expireTokens()
            }
        }
    }
}
#endif
