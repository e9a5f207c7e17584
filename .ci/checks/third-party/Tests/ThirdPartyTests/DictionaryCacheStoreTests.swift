import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing
import ThirdParty

@Suite(.timeLimit(.minutes(20)))
struct DictionaryCacheStoreTests {
    private let transport = MockTransport { request in
        MockResponse(
            status: .ok,
            data: Data((request.path ?? "").utf8),
            headerFields: [.cacheControl: "max-age=60"]
        )
    }

    private func text(_ path: String, over network: some NetworkingComponent) async throws -> String {
        let response = try await network.data(HTTPRequestData(authority: "api.example.com", path: path))
        return String(decoding: response.data, as: UTF8.self)
    }

    @Test func keepsTheLaws() async throws {
        try await checkLaws { AnyNetworkingComponent($0.cached(in: DictionaryCacheStore())) }
    }

    @Test func servesStoredResponses() async throws {
        let store = DictionaryCacheStore()
        let network = transport.cached(in: store)
        for _ in 1...2 {
            #expect(try await text("/a", over: network) == "/a")
        }
        #expect(transport.requests.count == 1)
        #expect(await store.count == 1)
        // Another stack over the same store has the response too.
        #expect(try await text("/a", over: transport.cached(in: store)) == "/a")
        #expect(transport.requests.count == 1)
    }

    @Test func evictsTheOldestKey() async throws {
        let store = DictionaryCacheStore(maximumKeys: 2)
        let network = transport.cached(in: store)
        for path in ["/a", "/b", "/c", "/c", "/a"] {
            #expect(try await text(path, over: network) == path)
        }
        #expect(transport.requests.map(\.path) == ["/a", "/b", "/c", "/a"])
        #expect(await store.count == 2)
    }

    @Test func removesTheEntriesThatTheAppNames() async throws {
        let store = DictionaryCacheStore()
        let network = transport.cached(in: store)
        _ = try await text("/a", over: network)
        _ = try await text("/b", over: network)
        await store.removeAll { $0.url.hasSuffix("/a") }
        #expect(await store.count == 1)
    }

    @Test func doesNotStoreLargerEntries() async throws {
        let store = DictionaryCacheStore(entryCostLimit: 10)
        _ = try await text("/a", over: transport.cached(in: store))
        #expect(await store.count == 0)
        #expect(store.entryCostLimit == 10)
    }
}
