import Foundation
import NetworkClient
import NetworkClientLive
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct NetworkClientLiveTests {
    private let request = HTTPRequestData(scheme: "https", authority: "api.example.com", path: "/users")

    @Test func liveStackHasTheDocumentedModifiers() {
        let outline = "\(NetworkClient.live(over: MockTransport()).network().outline)"
        let names = outline.split(separator: "\n").map { $0.prefix { $0.isLetter } }
        #expect(names == ["cached", "standard"] + Array(repeating: "", count: 7) + ["MockTransport"])
        #expect(outline.contains(MockTransport().standard(.app).outline))
        let server = NetworkClient.live(over: MockTransport(), preset: .server).network()
        #expect(server.outline.hasSuffix(MockTransport().standard(.server).outline))
    }

    @Test func liveStackHasNoDiagnostics() {
        let client = NetworkClient.live(over: MockTransport())
        #expect(client.network().diagnostics == [])
        #expect(UserAPI(client, TokenStore(Session(accessToken: "token"))).network.diagnostics == [])
    }

    @Test func retriesAndCaches() async throws {
        let transport = MockTransport([
            .status(.serviceUnavailable),
            .ok(headerFields: [.cacheControl: "max-age=60"]),
        ])
        let client = NetworkClient.live(over: transport.environment(\.random, .seeded(1)))
        let clock = NetworkClock.immediate()
        #expect(try await client.network().environment(\.clock, clock).data(request).status == .ok)
        // Each call of `network()` returns the same stack with the same cache.
        let again = try await client.network().environment(\.clock, clock).data(request)
        #expect(again.isCached)
        #expect(transport.requests.count == 2)
    }

    /// Three retries, as documented.
    @Test func makesFourAttempts() async throws {
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        let network = NetworkClient.live(over: transport).network().environment(\.clock, .immediate())
        let response = try await network.data(request)
        #expect(response.attempts.count == 3)
        #expect(transport.requests.count == 4)
    }

    /// An API client as in the guide.
    ///
    /// An app may create one for each screen.
    private struct UserAPI {
        let network: any NetworkingComponent

        init(_ client: NetworkClient, _ tokens: TokenStore<Session>) {
            network = client.network()
                .authenticated(with: tokens)
                .cached(in: client.cache)
                .server(authority: "api.example.com")
        }

        func user() async throws -> HTTPResponseData {
            try await network.data(HTTPRequestData(path: "/users/me"))
        }
    }

    @Test func cachesResponsesForEachSignedInUser() async throws {
        let transport = MockTransport { request in
            .ok(Data((request.headerFields[.authorization] ?? "").utf8), headerFields: [.cacheControl: "max-age=60"])
        }
        let client = NetworkClient.live(over: transport)
        let tokens = TokenStore(Session(userID: "emily", accessToken: "e"))
        for number in 0..<3 {
            let response = try await UserAPI(client, tokens).user()
            #expect(response.isCached == (number > 0))
        }
        tokens.update(Session(userID: "emily", accessToken: "e2"))
        #expect(try await UserAPI(client, tokens).user().isCached)
        tokens.set(Session(userID: "james", accessToken: "j"))
        let response = try await UserAPI(client, tokens).user()
        #expect(!response.isCached)
        #expect(response.data == Data("Bearer j".utf8))
        #expect(transport.requests.count == 2)
        // Requests without credentials share the cache.
        _ = try await client.network().data(request)
        #expect(try await client.network().data(request).isCached)
        try await client.cache.removeAll()
        #expect(try await !UserAPI(client, tokens).user().isCached)
    }

    @Test func clientSharesItsCacheWithItsStack() async throws {
        let cache = ResponseCache()
        let transport = MockTransport { _ in .ok(headerFields: [.cacheControl: "max-age=60"]) }
        let client = NetworkClient.live(over: transport, cache: cache)
        #expect(client.cache === cache)
        _ = try await client.network().data(request)
        let unavailable = MockTransport { _ in .status(.serviceUnavailable) }.cached(in: cache)
        #expect(try await unavailable.data(request).isCached)
        try await client.cache.removeAll()
        #expect(try await !client.network().data(request).isCached)
    }

    @Test func sendsSixConcurrentRequestsToAHost() async throws {
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        let network = NetworkClient.live(over: transport).network()
            .environment(\.clock, .manual(ManualClock()))
        try await withThrowingTaskGroup { group in
            for number in 0..<10 {
                let request = HTTPRequestData(authority: "api.example.com", path: "/\(number)")
                group.addTask { _ = try await network.data(request) }
            }
            try await held.waitForRequests(6)
            #expect(transport.active == 6)
            held.respond()
            try await group.waitForAll()
        }
        #expect(transport.requests.count == 10)
    }

    @Test func silentServerFailsWithATimeout() async throws {
        let clock = ManualClock()
        let network = NetworkClient.live(over: MockTransport { _ in .ok().delayed(by: .seconds(3_600)) }).network()
            .environment(\.clock, .manual(clock))
        var withoutRetries = request
        withoutRetries.retryPolicy = .never
        let request = withoutRetries
        async let failure = #expect(throws: NetworkingError.self) { try await network.data(request) }
        try await clock.advance(by: .seconds(20), afterSleepers: 3)
        let error = await failure
        #expect(error?.isTimeout == true)
    }

    #if URLSession
    @Test func liveClientUsesURLSession() {
        #expect("\(NetworkClient.live.network().outline)".contains("URLSessionTransport"))
    }
    #endif
}
