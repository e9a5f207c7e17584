import Foundation
import NetworkClient
import NetworkClientLive
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// A cache that an app shares between its clients.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct SharedCacheTests {
    private let request = HTTPRequestData(scheme: "https", authority: "api.example.com", path: "/users")
    private let cache = ResponseCache()

    private var page: MockResponse {
        .ok(Data("users".utf8), headerFields: [.cacheControl: "max-age=60"])
    }

    /// Stores a response in the client's cache through an API of the client.
    private func fill(_ client: NetworkClient) async throws {
        _ = try await client.network().cached(in: client.cache).data(request)
    }

    @Test func liveClientUsesTheGivenCache() async throws {
        _ = try await NetworkClient.live(over: MockTransport([page]), cache: cache).network().data(request)
        let unused = MockTransport()
        let response = try await NetworkClient.live(over: unused, cache: cache).network().data(request)
        #expect(response.isCached)
        #expect(unused.requests.isEmpty)
    }

    @Test func clientOfAStackHasTheGivenCache() async throws {
        try await fill(NetworkClient(MockTransport([page]), cache: cache))
        #expect(try await MockTransport().cached(in: cache).data(request).isCached)
    }

    @Test func clientOfAClosureHasTheGivenCache() async throws {
        let transport = MockTransport([page])
        try await fill(NetworkClient(cache: cache) { transport })
        #expect(try await MockTransport().cached(in: cache).data(request).isCached)
    }

    @Test func clientsHaveSeparateCachesByDefault() async throws {
        try await fill(NetworkClient(MockTransport([page])))
        let transport = MockTransport([page])
        try await fill(NetworkClient(transport))
        #expect(transport.requests.count == 1)
    }
}
