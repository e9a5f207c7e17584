import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCaching

/// No user gets a response that was fetched with another user's credentials.
///
/// The cache stores no credential.
@Suite(.tags(.concurrency), .stoppedClock, .timeLimit(.minutes(20)))
struct CachedCredentialTests {
    private let clock = ManualClock()
    private let store = MemoryCacheStore()
    private let marked = HTTPField.Name("X-Marked")!
    private let apiKey = HTTPField.Name("X-API-Key")!

    /// Creates a server that returns the values of the fields that a response may vary by.
    private func transport(_ fields: HTTPFields) -> MockTransport {
        MockTransport { [marked, apiKey] request in
            let values = [HTTPField.Name.authorization, .cookie, marked, apiKey]
                .map {
                    request.headerFields[fields: $0].map { "\($0.withUnsafeBytesOfValue { Array($0) })" }.joined()
                }
            return .ok(Data(values.joined(separator: "|").utf8), headerFields: fields)
        }
    }

    private func stack(
        over transport: some NetworkingComponent,
        in store: (any CacheStore)? = nil,
        isShared: Bool = false
    ) -> some NetworkingComponent {
        transport.cached(in: ResponseCache(in: store ?? self.store, isShared: isShared))
            .environment(\.clock, .manual(clock))
    }

    private func request(_ name: HTTPField.Name, _ value: String?) -> HTTPRequestData {
        HTTPRequestData.lawful.with { request in
            guard let value else { return }
            request.headerFields.append(field(name, value))
        }
    }

    private func field(_ name: HTTPField.Name, _ value: String) -> HTTPField {
        var field = HTTPField(name: name, value: value)
        if name == marked {
            field.indexingStrategy = .disallow
        }
        return field
    }

    private func entries() -> [CachedEntry] {
        store.entries(for: CacheKey(principal: nil, url: "https://laws.example/check"))
    }

    // MARK: Users

    @Test(arguments: [("X-API-Key", 3), ("X-Marked", 3), ("Authorization", 5)])
    func separatesUsersByEachCredential(name: String, requests: Int) async throws {
        let name = try #require(HTTPField.Name(name))
        let transport = transport([.cacheControl: "max-age=100"])
        let network = stack(over: transport)
        for user in ["emily", "james", nil, "emily", "james"] {
            let data = try await network.data(request(name, user)).data
            let bytes = user.map { "\(Array($0.utf8))" } ?? ""
            #expect(String(decoding: data, as: UTF8.self).filter { $0 != "|" } == bytes)
        }
        #expect(transport.requests.count == requests)
        #expect(!"\(entries().map(\.varying))".contains("emily"))
    }

    /// Decoded as text, both values would become the replacement character.
    @Test func separatesCredentialsThatAreNotUTF8() async throws {
        let network = stack(over: transport([.cacheControl: "max-age=100"]))
        for byte in [0xfe, 0xff] as [UInt8] {
            let request = HTTPRequestData.lawful.with {
                $0.headerFields.append(HTTPField(name: apiKey, lenientValue: [byte]))
            }
            #expect(try await network.data(request).data == Data("|||[\(byte)]".utf8))
        }
        #expect(store.count == 2)
    }

    @Test func separatesOneCredentialFromTwo() async throws {
        let network = stack(over: transport([.cacheControl: "max-age=100"]))
        for values in [["a", "b"], ["ab"], ["a"]] {
            let request = HTTPRequestData.lawful.with { request in
                for value in values {
                    request.headerFields.append(HTTPField(name: apiKey, value: value))
                }
            }
            try await network.data(request)
        }
        #expect(store.count == 3)
    }

    /// The cache cannot distinguish the users of a component further in that adds credentials.
    @Test func storesNothingForCredentialsOfAnInnerModifier() async throws {
        for user in ["emily", "james"] {
            let field = field(apiKey, user)
            let transport = transport([.cacheControl: "max-age=100"])
                .modified(
                    Sending { request, upstream in
                        try await upstream.send(request.with { $0.headerFields.append(field) })
                    }
                )
            let response = try await stack(over: transport).data(.lawful)
            #expect(response.data == Data("|||\(Array(user.utf8))".utf8))
            #expect(response.cacheStatus?.detail == "credentials")
        }
        #expect(store.count == 0)
    }

    // MARK: Stored entries

    @Test(arguments: [true, false]) func storesCredentialsInVaryAsDigests(isShared: Bool) async throws {
        let transport = transport([.cacheControl: "public, max-age=100", .vary: "X-API-Key, X-Marked, Accept"])
        let network = stack(over: transport, isShared: isShared)
        for user in ["emily", "james"] {
            for isCached in [false, true] {
                let request = HTTPRequestData.lawful.with {
                    $0.headerFields = [.accept: "text/plain", .init(apiKey): user]
                    $0.headerFields.append(field(marked, user))
                }
                let response = try await network.data(request)
                #expect(response.isCached == isCached)
                guard isCached else { continue }
                let original = try #require(response.cachedOriginalRequest)
                #expect(original.headerFields == [.accept: "text/plain"])
            }
        }
        #expect(store.count == 2)
        #expect(!entries().contains { "\($0.varying)".contains("emily") })
    }

    /// A client that sends a digest as its credential does not get the entry with that digest.
    @Test(arguments: [0, 1]) func digestIsNotAcceptedAsACredential(dropping count: Int) async throws {
        let transport = transport([.cacheControl: "public, max-age=100", .vary: "X-Marked"])
        let network = stack(over: transport, isShared: true)
        try await network.data(request(marked, "emily"))
        let digest = try #require(entries().first?.varying["x-marked"])
        let forged = HTTPRequestData.lawful.with { $0.headerFields[marked] = String(digest.dropFirst(count)) }
        #expect(try await network.data(forged).isCached == false)
    }

    // MARK: Keys

    @Test func credentialHasADifferentDigestInEachStore() async throws {
        var digests: Set<String?> = []
        for _ in 0..<2 {
            let store = MemoryCacheStore()
            try await stack(over: transport([.cacheControl: "max-age=100"]), in: store).data(request(apiKey, "emily"))
            digests.insert(
                store.entries(for: CacheKey(principal: nil, url: "https://laws.example/check")).first?
                    .varying["x-api-key"]
            )
        }
        #expect(digests.count == 2 && !digests.contains(nil))
    }

    @Test func cachesOnOneStoreShareItsEntries() async throws {
        let transport = transport([.cacheControl: "max-age=100"])
        let stacks: [any CacheStore] = [
            store, store, StackedCacheStore(over: store), StackedCacheStore(over: StackedCacheStore(over: store)),
        ]
        for store in stacks {
            #expect(try await stack(over: transport, in: store).data(request(apiKey, "emily")).status == .ok)
        }
        #expect(transport.requests.count == 1)
    }

    private struct Keyless: CacheStore {
        let store = MemoryCacheStore()

        var entryCostLimit: Int { store.entryCostLimit }
        func entries(for key: CacheKey) -> [CachedEntry] { store.entries(for: key) }
        func store(_ entry: CachedEntry, for key: CacheKey) -> Int { store.store(entry, for: key) }
        func remove(_ id: CachedEntry.ID?, for key: CacheKey) { store.remove(id, for: key) }
        func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) { store.removeAll(where: isUnwanted) }
    }

    private struct Failing: CacheStore {
        let store = MemoryCacheStore()

        var entryCostLimit: Int { store.entryCostLimit }
        func digestKey() async throws -> CacheDigestKey? { throw NetworkingError(.offline, request: .lawful) }
        func entries(for key: CacheKey) -> [CachedEntry] { store.entries(for: key) }
        func store(_ entry: CachedEntry, for key: CacheKey) -> Int { store.store(entry, for: key) }
        func remove(_ id: CachedEntry.ID?, for key: CacheKey) { store.remove(id, for: key) }
        func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) { store.removeAll(where: isUnwanted) }
    }

    /// Each cache creates its own key and finds only the entries that it has stored.
    @Test func storeWithoutAKeyServesOneCache() async throws {
        let keyless = Keyless()
        let transport = transport([.cacheControl: "max-age=100"])
        for cache in 1...2 {
            let network = stack(over: transport, in: keyless)
            for _ in 0..<2 {
                try await network.data(request(apiKey, "emily"))
            }
            #expect(transport.requests.count == cache)
        }
    }

    @Test func storeThatCannotReadItsKeyIsReported() async throws {
        let events = EventRecorder()
        let store = Failing()
        let network = stack(over: transport([.cacheControl: "max-age=100"]), in: store)
        let response = try await network.data(request(apiKey, "emily").with { $0.addObserver(events) })
        #expect(response.status == .ok)
        #expect(events.names.filter { $0.hasPrefix("cache") } == ["cacheFailed", "cacheMissed", "cacheBypassed"])
        #expect(response.cacheStatus?.detail == "store")
        #expect(try await network.data(request(apiKey, "james")).isCached == false)
        // No request would find an entry under another key, and no removal would match it.
        #expect(store.store.count == 0)
    }

    // MARK: Shared caches

    @Test(arguments: [
        ("max-age=100", false), ("max-age=100, public", true), ("s-maxage=100", true),
        ("max-age=100, must-revalidate", true),
    ])
    func sharedCacheStoresAnAuthorizedResponseOnlyIfTheServerAllowsIt(control: String, isStored: Bool) async throws {
        for name in [HTTPField.Name.authorization, apiKey, marked] {
            let store = MemoryCacheStore()
            let network = stack(over: transport([.cacheControl: control]), in: store, isShared: true)
            try await network.data(request(name, "emily"))
            #expect((store.count == 1) == isStored, "\(name)")
        }
    }

    @Test(
        arguments: [
            ([.cacheControl: "max-age=100"], false), ([.cacheControl: "max-age=100, must-revalidate"], false),
            ([.cacheControl: "max-age=100, public"], true), ([.cacheControl: "s-maxage=100"], true),
            ([.cacheControl: "max-age=100, private=\"Set-Cookie\""], true),
            ([.cacheControl: "max-age=100, no-cache=\"set-cookie\""], false),
            ([.cacheControl: "public", .cdnCacheControl: "max-age=100"], false),
            ([.cdnCacheControl: "max-age=100, public"], true),
        ] as [(HTTPFields, Bool)]
    )
    func sharedCacheStoresNoCookieOfAUser(fields: HTTPFields, isStored: Bool) {
        var fields = fields
        fields[.setCookie] = "session=secret"
        let response = HTTPResponse(status: .ok, headerFields: fields)
        for mode in [CacheMode.standard, .fixed(.seconds(100))] {
            let request = HTTPRequestData.lawful.with { $0.cacheMode = mode }
            #expect((CacheRules(isShared: true).refusal(toStore: response, of: request) == nil) == isStored)
            #expect(CacheRules().refusal(toStore: response, of: request) == nil)
        }
    }

    /// The caller gets the cookie.
    ///
    /// No other user gets it.
    @Test func notModifiedWithACookieIsNotStoredInASharedCache() async throws {
        let transport = MockTransport { request in
            request.headerFields.contains(.ifNoneMatch)
                ? .status(.notModified, headerFields: [.eTag: "\"a\"", .setCookie: "session=emily"])
                : .ok(Data("page".utf8), headerFields: [.cacheControl: "max-age=10", .eTag: "\"a\""])
        }
        let network = stack(over: transport, isShared: true)
        try await network.data(.lawful)
        clock.advance(by: .seconds(20))
        #expect(try await network.data(.lawful).headerFields[.setCookie] == "session=emily")
        #expect(store.count == 0)
        #expect(try await network.data(.lawful).headerFields[.setCookie] == nil)
    }

    // MARK: Certificates

    @Test(arguments: ["max-age=10", "max-age=10, stale-if-error=100"])
    func staleResponseDoesNotReplaceACertificateError(control: String) async throws {
        let transport = MockTransport { request in
            request.headerFields.contains(.ifNoneMatch)
                ? .failure(NetworkingError(.tls, request: request))
                : .ok(Data("page".utf8), headerFields: [.cacheControl: control, .eTag: "\"a\""])
        }
        let network = stack(over: transport)
        try await network.data(.lawful)
        clock.advance(by: .seconds(20))
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.kind == .tls)
    }
}
