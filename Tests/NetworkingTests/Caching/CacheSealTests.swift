import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingCaching

/// Credentials in URLs, as a store receives them.
@Suite(.stoppedClock, .timeLimit(.minutes(20)))
struct CacheSealTests {
    /// A store that records the text of everything that it receives.
    private final class Recording: CacheStore {
        let entryCostLimit = 1 << 20
        let memory = MemoryCacheStore()
        let texts = Mutex("")

        private func note(_ key: CacheKey) { texts.withLock { $0 += key.url + "\n" } }

        func entries(for key: CacheKey) async throws -> [CachedEntry] {
            note(key)
            return memory.entries(for: key)
        }

        func store(_ entry: CachedEntry, for key: CacheKey) async throws -> Int {
            note(key)
            texts.withLock { text in
                for field in entry.response.headerFields { text += "\(field.name): \(field.value)\n" }
                for (name, value) in entry.varying { text += "\(name): \(value)\n" }
            }
            return memory.store(entry, for: key)
        }

        func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws {
            note(key)
            memory.remove(id, for: key)
        }

        func remove(url: String) async throws {
            texts.withLock { $0 += url + "\n" }
            memory.removeAll { $0.url == url }
        }

        func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws {
            memory.removeAll(where: isUnwanted)
        }
    }

    private let store = Recording()

    private func request(_ secret: String, name: String = "api_key", marked: Bool = false) -> HTTPRequestData {
        var request = HTTPRequestData(authority: "api.example.com", path: "/items")
        request.query["page"] = "1"
        if marked {
            request.setCredential(secret, forQueryItem: name)
        } else {
            request.query[name] = secret
        }
        return request
    }

    @Test(arguments: [("api_key", false), ("access_token", false), ("who", true)])
    func storeReceivesNoCredentialOfAQuery(name: String, marked: Bool) async throws {
        let link = "<https://api.example.com/items?page=2&\(name)=SECRET-1>; rel=\"next\""
        let transport = MockTransport { request in
            .ok(
                Data((request.query[name] ?? "").utf8),
                headerFields: [
                    .cacheControl: "max-age=100", HTTPField.Name("Link")!: link,
                    .contentLocation: "/items?\(name)=SECRET-1",
                    .location: "/items?page=1&\(name)=SECRET-1",
                    HTTPField.Name("Refresh")!: "5; url=/?\(name)=SECRET-1",
                ]
            )
        }
        let cache = ResponseCache(in: store)
        let network = transport.cached(in: cache)
        let first = request("SECRET-1", name: name, marked: marked)
        #expect(try await network.data(first).cacheStatus?.isStored == true)
        let again = try await network.data(first)
        #expect(again.isCached)
        #expect(again.headerFields[HTTPField.Name("Link")!] == link)
        #expect(again.headerFields[.contentLocation] == "/items?\(name)=SECRET-1")
        // Another credential is another URL.
        #expect(try await network.data(request("SECRET-2", name: name, marked: marked)).data == Data("SECRET-2".utf8))
        let text = store.texts.withLock { $0 }
        #expect(text.contains("https://api.example.com/items?"))
        #expect(!text.contains("SECRET"), "\(text)")
        let url = try #require(first.url)
        try await cache.remove(url: url)
        #expect(try await !network.data(first).isCached)
    }

    @Test func changeRemovesTheResponseOfAURLWithACredential() async throws {
        let transport = MockTransport { _ in .ok(headerFields: [.cacheControl: "max-age=100"]) }
        let network = transport.cached(in: store)
        try await network.data(request("SECRET-1"))
        #expect(try await network.data(request("SECRET-1")).isCached)
        try await network.data(request("SECRET-1").with { $0.method = .put })
        #expect(try await !network.data(request("SECRET-1")).isCached)
        #expect(!store.texts.withLock { $0 }.contains("SECRET"))
    }

    /// The client sends its next request to these URLs, so they cannot be stored without their credentials.
    @Test(arguments: [
        (["Link": "<https://a.example/?token=OTHER-SECRET>; rel=next"], 200),
        (["Refresh": "1; url=/?sig=OTHER-SECRET"], 200),
        (["Location": "https://a.example/?X-Amz-Signature=OTHER-SECRET"], 301),
        (["Location": "https://emily:OTHER-SECRET@a.example/"], 301),
        (["Location": "/login?next=/a?code=OTHER-SECRET"], 301),
    ])
    func responseWithAnotherCredentialInAURLIsNotStored(fields: [String: String], status: Int) async throws {
        let transport = MockTransport { _ in
            var head: HTTPFields = [.cacheControl: "max-age=100"]
            for (name, value) in fields { head[HTTPField.Name(name)!] = value }
            return MockResponse(status: .init(code: status), headerFields: head)
        }
        let request = HTTPRequestData.lawful.with { $0.redirects = .never }
        let response = try await transport.cached(in: store).data(request)
        #expect(response.cacheStatus?.detail == "credentials")
        #expect(!store.texts.withLock { $0 }.contains("SECRET"))
        // A store in memory keeps it.
        let memory = MemoryCacheStore()
        #expect(try await transport.cached(in: memory).data(request).cacheStatus?.isStored == true)
    }

    @Test func contentLocationWithAnotherCredentialIsNotStored() async throws {
        let transport = MockTransport { _ in
            .ok(headerFields: [.cacheControl: "max-age=100", .contentLocation: "/a?token=OTHER-SECRET"])
        }
        let network = transport.cached(in: store)
        try await network.data(.lawful)
        let response = try await network.data(.lawful)
        #expect(response.isCached && !response.headerFields.contains(.contentLocation))
        #expect(!store.texts.withLock { $0 }.contains("SECRET"))
    }

    @Test func secretsInAPathOrInAFieldOfVaryAreNotStored() async throws {
        let transport = MockTransport { _ in .ok(headerFields: [.cacheControl: "max-age=100", .vary: "Referer"]) }
        let network = transport.cached(in: store)
        var path = HTTPRequestData(authority: "api.example.com", path: "/reset/PATH-SECRET")
        path.markSecret("PATH-SECRET")
        #expect(try await network.data(path).cacheStatus?.detail == "credentials")
        let referred = HTTPRequestData.lawful.with { $0.headerFields[.referer] = "https://a.example/?token=REF-SECRET" }
        #expect(try await network.data(referred).cacheStatus?.detail == "credentials")
        let text = store.texts.withLock { $0 }
        #expect(!text.contains("-SECRET"))
    }
}
