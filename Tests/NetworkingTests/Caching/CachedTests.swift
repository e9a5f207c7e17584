import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@Suite(.tags(.concurrency), .stoppedClock, .timeLimit(.minutes(20)))
struct CachedTests {
    private let clock = ManualClock()
    private let store = MemoryCacheStore()

    /// Creates a stack over a server that numbers its responses.
    private func stack(
        _ fields: HTTPFields,
        fails: @escaping @Sendable (Int) -> MockResponse? = { _ in nil }
    ) -> (network: AnyNetworkingComponent, transport: MockTransport) {
        let count = Counter()
        let transport = MockTransport { [clock] request in
            let number = count.next()
            if let failure = fails(number) { return failure }
            var fields = fields
            fields[.date] = NetworkClock.manual(clock).date.httpDate
            let isKnown = fields[.eTag] != nil && request.headerFields[.ifNoneMatch] == fields[.eTag]
            return MockResponse(
                status: isKnown ? .notModified : .ok,
                data: isKnown ? Data() : Data("\(number)".utf8),
                headerFields: fields
            )
        }
        let network = transport.cached(in: ResponseCache(in: store)).environment(\.clock, .manual(clock))
        return (AnyNetworkingComponent(network), transport)
    }

    private final class Counter: Sendable {
        private let count = Atomic(0)

        func next() -> Int {
            count.add(1, ordering: .relaxed).newValue
        }
    }

    private func text(
        _ network: some NetworkingComponent,
        _ change: (inout HTTPRequestData) -> Void = { _ in }
    ) async throws
        -> String
    {
        String(decoding: try await network.data(.lawful.with(change)).data, as: UTF8.self)
    }

    @Test func freshResponseIsNotFetchedAgain() async throws {
        let (network, transport) = stack([.cacheControl: "max-age=10"])
        let events = EventRecorder()
        #expect(try await text(network) { $0.addObserver(events) } == "1")
        #expect(events.names.filter { $0.hasPrefix("cache") } == ["cacheMissed", "cacheStored"])
        clock.advance(by: .seconds(9))
        let response = try await network.data(.lawful)
        #expect(response.isCached)
        #expect(response.headerFields[.age] == "9")
        #expect(response.data == Data("1".utf8))
        clock.advance(by: .seconds(1))
        #expect(try await text(network) == "2")
        #expect(transport.requests.count == 2)
    }

    @Test func staleResponseIsValidated() async throws {
        let (network, transport) = stack([.cacheControl: "max-age=10", .eTag: "\"a\""])
        #expect(try await text(network) == "1")
        clock.advance(by: .seconds(11))
        let events = EventRecorder()
        #expect(try await text(network) { $0.addObserver(events) } == "1")
        #expect(events.names.contains("cacheRevalidated"))
        #expect(transport.requests.last?.headerFields[.ifNoneMatch] == "\"a\"")
        clock.advance(by: .seconds(9))
        #expect(try await text(network) == "1")
        #expect(transport.requests.count == 2)
    }

    /// RFC 9111 section 4.3.5.
    @Test func headResponseRefreshesTheStoredOne() async throws {
        let transport = MockTransport { [clock] request in
            let fields: HTTPFields = [
                .cacheControl: "max-age=10", .eTag: "\"1\"", .date: NetworkClock.manual(clock).date.httpDate,
            ]
            return .ok(request.method == .head ? Data() : Data("page".utf8), headerFields: fields)
        }
        let network = transport.cached(in: store).environment(\.clock, .manual(clock))
        try await network.data(.lawful)
        clock.advance(by: .seconds(20))
        try await network.data(.lawful.with { $0.method = .head })
        let response = try await network.data(.lawful)
        #expect(response.isCached)
        #expect(response.data == Data("page".utf8))
        #expect(transport.requests.map(\.method) == [.get, .head])
    }

    @Test func changeRemovesTheStoredResponse() async throws {
        let (network, _) = stack([.cacheControl: "max-age=100"])
        #expect(try await text(network) == "1")
        try await network.data(.lawful.with { $0.method = .post })
        #expect(try await text(network) == "3")
    }

    @Test func staleResponseIsUsedIfTheServerIsUnreachable() async throws {
        for (control, isServed) in [("max-age=1", true), ("max-age=1, must-revalidate", false)] {
            store.removeAll { _ in true }
            let (network, _) = stack([.cacheControl: control]) { number in
                number > 1 ? .failure(NetworkingError(.connection, request: .lawful)) : nil
            }
            #expect(try await text(network) == "1")
            clock.advance(by: .seconds(100))
            if isServed {
                #expect(try await text(network) == "1")
            } else {
                await #expect(throws: NetworkingError.self) { try await text(network) }
            }
        }
    }

    @Test func staleResponseIsUsedDuringOneRevalidation() async throws {
        let (network, transport) = stack([.cacheControl: "max-age=1, stale-while-revalidate=100"])
        #expect(try await text(network) == "1")
        clock.advance(by: .seconds(2))
        #expect(try await text(network) == "1")
        try await eventually("transport.requests.count >= 2") { transport.requests.count >= 2 }
        try await eventually("try await text(network) == '2'") { try await text(network) == "2" }
        #expect(transport.requests.count == 2)
    }

    @Test func modesReplaceTheRules() async throws {
        let (network, transport) = stack([.cacheControl: "max-age=10"])
        #expect(try await network.data(.lawful.with { $0.cacheMode = .onlyIfCached }).status == .gatewayTimeout)
        #expect(try await text(network) { $0.cacheMode = .readOnly } == "1")
        #expect(try await text(network) == "2")
        #expect(try await text(network) { $0.cacheMode = .noStore } == "3")
        #expect(try await text(network) == "2")
        #expect(try await text(network) { $0.cacheMode = .reload } == "4")
        #expect(try await text(network) == "4")
        clock.advance(by: .seconds(1_000))
        #expect(try await text(network) { $0.cacheMode = .forceCache } == "4")
        #expect(try await text(network) { $0.cacheMode = .onlyIfCached } == "4")
        #expect(try await text(network) { $0.cacheMode = .noCache } == "5")
        #expect(transport.requests.count == 5)
        let (uncached, _) = stack([.cacheControl: "no-store"])
        store.removeAll { _ in true }
        #expect(try await text(uncached) { $0.cacheMode = .fixed(.seconds(60)) } == "1")
        clock.advance(by: .seconds(59))
        #expect(try await text(uncached) { $0.cacheMode = .fixed(.seconds(60)) } == "1")
        clock.advance(by: .seconds(1))
        #expect(try await text(uncached) { $0.cacheMode = .fixed(.seconds(60)) } == "2")
    }

    /// A caller that sent no condition gets no 304, whether the cache or another request caused it.
    @Test func notModifiedWithoutAMatchingEntryIsFetchedAgain() async throws {
        let (network, transport) = stack([.cacheControl: "max-age=1", .eTag: "\"a\""]) { number in
            number == 2 ? MockResponse(status: .notModified, headerFields: [.eTag: "\"other\""]) : nil
        }
        #expect(try await text(network) == "1")
        clock.advance(by: .seconds(2))
        let response = try await network.data(.lawful)
        #expect(response.status == .ok)
        #expect(transport.requests.count >= 2)
    }

    /// Only unreachable servers are covered.
    ///
    /// A caller with invalid credentials gets the error.
    @Test(arguments: [NetworkingError.Kind.unauthorized, .invalidRequest, .tooLarge, .rejected])
    func otherFailuresAreThrown(kind: NetworkingError.Kind) async throws {
        let (network, _) = stack([.cacheControl: "max-age=1"]) { number in
            number > 1 ? .failure(NetworkingError(kind, request: .lawful)) : nil
        }
        #expect(try await text(network) == "1")
        clock.advance(by: .seconds(2))
        let error = await #expect(throws: NetworkingError.self) { try await text(network) }
        #expect(error?.kind == kind)
    }

    @Test func backgroundRevalidationHasNeitherObserverNorDeadlineOfItsCaller() async throws {
        let (network, transport) = stack([.cacheControl: "max-age=1, stale-while-revalidate=100"])
        let events = EventRecorder()
        _ = try await text(network)
        clock.advance(by: .seconds(2))
        let call = network.deadline(.seconds(1)).environment(\.clock, .manual(clock))
        _ = try await text(call) { $0.addObserver(events) }
        try await eventually("transport.requests.count >= 2") { transport.requests.count >= 2 }
        #expect(!transport.requests[1].isObserved)
        #expect(events.names == ["cacheHit"])
    }

    @Test func conditionsThatOnlyTheServerCanCheckAreSent() async throws {
        let (network, transport) = stack([.cacheControl: "max-age=100", .eTag: "\"a\""])
        _ = try await text(network)
        _ = try await text(network) { $0.headerFields[.ifMatch] = "\"a\"" }
        #expect(transport.requests.count == 2)
    }

    // MARK: Changes

    /// A response that was fetched before a change is not stored after it.
    @Test(arguments: ["post", "remove", "removeAll"]) func changeOutdatesAFetchInProgress(change: String) async throws {
        let (arrived, gate) = (Suspension<Void>(), Suspension<Void>())
        let count = Counter()
        let transport = MockTransport { request in
            let number = count.next()
            if number == 1 {
                arrived.resume()
                try await gate.value()
            }
            return .ok(Data("\(number)".utf8), headerFields: [.cacheControl: "max-age=100"])
        }
        let cache = ResponseCache(in: store)
        let network = transport.cached(in: cache).environment(\.clock, .manual(clock))
        async let before = network.data(.lawful)
        try await arrived.value()
        switch change {
        case "post": try await network.data(.lawful.with { $0.method = .post })
        case "remove": try await cache.remove(url: #require(HTTPRequestData.lawful.url))
        default: try await cache.removeAll()
        }
        gate.resume()
        #expect(try await before.data == Data("1".utf8))
        #expect(try await before.cacheStatus?.detail == "outdated")
        #expect(store.count == 0)
        #expect(try await text(network) == (change == "post" ? "3" : "2"))
    }

    /// A response to POST can state that it represents the resource for later GETs (RFC 9110, section 9.3.3).
    @Test func responseToAPostIsStoredIfItsLocationAndFreshnessAllowIt() async throws {
        for (location, control, isKept) in [
            ("/", "max-age=10", true), ("/other", "max-age=10", false), ("/", "public", false),
            ("/", "no-store", false),
        ] {
            store.removeAll { _ in true }
            let (network, transport) = stack([.cacheControl: control, .contentLocation: location])
            try await network.data(
                .lawful.with {
                    $0.method = .post
                    $0.target = "/"
                }
            )
            let response = try await network.data(.lawful.with { $0.target = "/" })
            #expect(response.isCached == isKept)
            #expect(transport.requests.count == (isKept ? 1 : 2))
        }
    }

    /// Locations are resolved as those of redirects are: escapes stay, and other characters are escaped.
    @Test(arguments: ["/a%20<b>", "http:/a%20<b>", "http:a%20<b>"])
    func changeRemovesTheEntryOfItsLocation(location: String) async throws {
        let transport = MockTransport { _ in
            .ok(headerFields: [.cacheControl: "max-age=100", .location: location])
        }
        let network = transport.cached(in: ResponseCache(in: store))
        let item = HTTPRequestData(url: try #require(URL(string: "http://example.com/a%20%3Cb%3E")))
        let list = try #require(URL(string: "http://example.com/list"))
        try await network.data(item)
        #expect(try await network.data(item).isCached)
        try await network.data(HTTPRequestData(method: .post, url: list))
        #expect(try await network.data(item).isCached == false)
    }

    /// A change by one user removes the entries of the other users.
    @Test func changeRemovesTheEntriesOfOtherUsers() async throws {
        let tokens = TokenStore(Session(userID: "emily", accessToken: "emily"))
        let transport = MockTransport { _ in .ok(headerFields: [.cacheControl: "max-age=100"]) }
        let network = transport.authenticated(with: tokens).cached(in: ResponseCache(in: store))
            .server(authority: "api.example.com")
        for user in ["emily", "james"] {
            tokens.set(Session(userID: user, accessToken: user))
            try await network.data(HTTPRequestData(path: "board"))
        }
        #expect(store.count == 2)
        try await network.data(HTTPRequestData(method: .put, path: "board"))
        #expect(store.count == 0)
    }

    @Test func equivalentURLsShareAnEntry() async throws {
        let (network, transport) = stack([.cacheControl: "max-age=100"])
        for url in ["https://API.example.com:443/a", "HTTPS://api.example.com/a", "https://api.example.com/a#b"] {
            try await network.data(HTTPRequestData(url: #require(URL(string: url))))
        }
        #expect(transport.requests.count == 1)
        try await network.data(HTTPRequestData(url: #require(URL(string: "https://api.example.com/A"))))
        #expect(transport.requests.count == 2)
    }

    @Test func concurrentMissesForOneURLAreFetchedOnce() async throws {
        let (arrived, gate) = (Suspension<Void>(), Suspension<Void>())
        let transport = MockTransport { _ in
            arrived.resume()
            try await gate.value()
            return .ok(Data("page".utf8), headerFields: [.cacheControl: "max-age=100"])
        }
        let network = transport.deduplicated().cached(in: store).environment(\.clock, .manual(clock))
        try await withThrowingTaskGroup(of: Data.self) { group in
            for _ in 0..<100 {
                group.addImmediateTask { try await network.data(.lawful).data }
            }
            try await arrived.value()
            gate.resume()
            for try await data in group {
                #expect(data == Data("page".utf8))
            }
        }
        #expect(transport.requests.count == 1)
        #expect(store.count == 1)
    }

    @Test func entriesOfAUserCanBeRemoved() async throws {
        let tokens = TokenStore(Session(userID: "emily", accessToken: "emily"))
        let cache = ResponseCache(in: store)
        let transport = MockTransport { _ in .ok(headerFields: [.cacheControl: "max-age=100"]) }
        let network = transport.authenticated(with: tokens).cached(in: cache).server(authority: "api.example.com")
        for path in ["a", "b"] {
            for user in ["emily", "james"] {
                tokens.set(Session(userID: user, accessToken: user))
                try await network.data(HTTPRequestData(path: path))
            }
        }
        #expect(store.count == 4)
        try await cache.remove(principal: tokens.principal)
        #expect(store.count == 2)
        try await cache.removeAll { $0.url.hasSuffix("/a") }
        #expect(store.count == 1)
    }

    // MARK: Status and events

    @Test func cacheStatusReportsTheOriginOfAResponse() async throws {
        let (network, _) = stack([.cacheControl: "max-age=10", .eTag: "\"a\"", .vary: "Accept"])
        func status(_ change: (inout HTTPRequestData) -> Void = { _ in }) async throws -> String? {
            try await network.data(.lawful.with(change)).cacheStatus.map { "\($0)" }
        }
        #expect(try await status() == "Networking; fwd=uri-miss; fwd-status=200; stored")
        clock.advance(by: .seconds(4))
        #expect(try await status() == "Networking; hit; ttl=6")
        #expect(try await status { $0.cacheMode = .reload } == "Networking; fwd=bypass; fwd-status=200; stored")
        clock.advance(by: .seconds(11))
        #expect(try await status() == "Networking; fwd=stale; fwd-status=304; ttl=10; stored")
        #expect(try await status { $0.method = .put } == "Networking; fwd=method; fwd-status=200")
        #expect(
            try await status { $0.headerFields[.authorization] = "Bearer a" }
                == "Networking; fwd=bypass; fwd-status=200; detail=credentials"
        )
        #expect(
            try await status { $0.headerFields[.accept] = "text/html" }
                == "Networking; fwd=uri-miss; fwd-status=200; stored"
        )
        let response = try await network.data(.lawful.with { $0.headerFields[.accept] = "text/html" })
        #expect(response.age == .zero)
        #expect(response.cachedOriginalRequest?.url == HTTPRequestData.lawful.url)
        #expect(response.cachedOriginalRequest?.headerFields[.accept] == "text/html")
        #expect(response.headerFields[.cacheControl] == "max-age=10")
    }

    @Test func evictionIsReported() async throws {
        let small = MemoryCacheStore(countLimit: 1, entryCostLimit: 1_000)
        let transport = MockTransport { request in
            .ok(Data(count: request.target == "/large" ? 2_000 : 1), headerFields: [.cacheControl: "max-age=100"])
        }
        let network = transport.cached(in: small)
        let events = EventRecorder()
        for path in ["/a", "/b", "/large"] {
            try await network.data(
                .lawful.with {
                    $0.target = path
                    $0.addObserver(events)
                }
            )
        }
        #expect(
            events.names.filter { $0.hasPrefix("cache") } == [
                "cacheMissed", "cacheStored", "cacheMissed", "cacheStored", "cacheEvicted", "cacheMissed",
                "cacheBypassed",
            ]
        )
        #expect(small.count == 1)
    }

    @Test func entriesAndKeysPrintNoSecret() throws {
        let entry = CachedEntry(
            response: HTTPResponse(status: .ok, headerFields: [.setCookie: "session=secret"]),
            body: Data("secret".utf8),
            varying: ["cookie": "secret"],
            requestDate: clock.date,
            responseDate: clock.date
        )
        let key = CacheKey(principal: Principal(id: "secret"), url: "https://api.example.com/?token=secret")
        #expect(!everyPrint(of: entry).contains("secret"))
        #expect(!everyPrint(of: key).contains("secret"))
    }

    // MARK: Malformed input and concurrency

    @Test func malformedFieldsDoNotCrash() async {
        let fragments = [
            "max-age", "=", "\"", ",", " ", "99999999999999999999", "-1", "no-cache", "bytes", "-", "/", "*", "W/",
            "\\", "é",
            "0", "Thu, 18 Aug 2050", "02:01:18", "GMT", "5", "9223372036854775807", "s-maxage", "stale-if-error",
        ]
        await withSeed { random in
            func randomText(_ random: inout SeededRandom) -> String {
                (0..<Int.random(in: 0...6, using: &random)).map { _ in fragments.randomElement(using: &random)! }
                    .joined()
                    .trimmingCharacters(in: .whitespaces)
            }
            for _ in 0..<500 {
                var fields: HTTPFields = [:]
                for name in [
                    HTTPField.Name.cacheControl, .age, .expires, .date, .eTag, .lastModified, .vary, .contentRange,
                    .connection,
                ] where Bool.random(using: &random) {
                    fields[name] = randomText(&random)
                }
                let code = [200, 206, 304, 404, 500].randomElement(using: &random)!
                let response = MockResponse(
                    status: HTTPResponse.Status(code: code),
                    data: Data(count: Int.random(in: 0...9, using: &random)),
                    headerFields: fields
                )
                let network = MockTransport { _ in response }
                    .cached(in: ResponseCache(in: store, isShared: code == 404))
                    .environment(\.clock, .manual(clock))
                var request = HTTPRequestData.lawful
                for name in [
                    HTTPField.Name.cacheControl, .range, .ifNoneMatch, .ifModifiedSince, .ifRange,
                ] where Bool.random(using: &random) {
                    request.headerFields[name] = randomText(&random)
                }
                do {
                    _ = try await network.data(request)
                } catch {
                    #expect(error is NetworkingError)
                }
                clock.advance(by: .seconds(1))
            }
        }
    }

    @Test func manyTasksShareACache() async throws {
        let (network, _) = stack([.cacheControl: "max-age=1, stale-while-revalidate=2", .eTag: "\"a\""])
        let cache = ResponseCache(in: store)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                group.addTask { [clock] in
                    for round in 0..<40 {
                        let request = HTTPRequestData.lawful.with { $0.target = "/\((number + round) % 7)" }
                        switch (number * 7 + round) % 20 {
                        case 0: clock.advance(by: .milliseconds(700))
                        case 1: try await cache.remove(url: #require(request.url))
                        case 2: try await network.data(request.with { $0.method = .post })
                        case 3: try await cache.removeAll()
                        default: #expect(try await network.data(request).status == .ok)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(store.count <= 7)
        // Every stored body has at least one byte, so only an empty store costs nothing.
        #expect((store.cost == 0) == (store.count == 0))
        try await cache.removeAll()
        #expect(store.cost == 0)
    }

    // MARK: Users

    @Test func userGetsNoResponseOfAnotherUser() async throws {
        let tokens = TokenStore(Session(userID: "emily", accessToken: "emily"))
        let transport = MockTransport { request in
            MockResponse(
                status: .ok,
                data: Data((request.headerFields[.authorization] ?? "").utf8),
                headerFields: [.cacheControl: "max-age=100"]
            )
        }
        let network = transport.authenticated(with: tokens).deduplicated().cached(in: ResponseCache(in: store))
            .server(authority: "api.example.com")
        for user in ["emily", "james", "emily", "james"] {
            tokens.set(Session(userID: user, accessToken: user))
            #expect(
                String(decoding: try await network.data(HTTPRequestData(path: "me")).data, as: UTF8.self)
                    == "Bearer \(user)"
            )
        }
        #expect(transport.requests.count == 2)
    }

    /// The entry was looked up for Emily, and James signs in before it is fetched.
    @Test func responseForAUserWhoSignedInMeanwhileIsNeitherFetchedNorStored() async throws {
        let tokens = TokenStore(Session(userID: "emily", accessToken: "emily"))
        struct Switch: NetworkingModifier {
            let tokens: TokenStore<Session>

            func send(
                _ request: HTTPRequestData,
                upstream: some NetworkingComponent
            ) async throws -> HTTPResponseData {
                tokens.set(Session(userID: "james", accessToken: "james"))
                return try await upstream.send(request)
            }
        }
        let transport = MockTransport { _ in MockResponse(status: .ok, headerFields: [.cacheControl: "max-age=100"]) }
        let network = transport.authenticated(with: tokens).modified(Switch(tokens: tokens))
            .cached(in: ResponseCache(in: store)).server(authority: "api.example.com")
        let error = await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData(path: "me")) }
        #expect(error?.isOfAnotherUser == true)
        #expect(transport.requests.isEmpty)
        #expect(store.count == 0)
    }

    @Test func responsesToCredentialsWithoutAPrincipalAreNotStored() async throws {
        let (network, transport) = stack([.cacheControl: "max-age=100"])
        for user in ["emily", "james"] {
            _ = try await text(network) { $0.headerFields[.authorization] = "Bearer \(user)" }
        }
        #expect(transport.requests.count == 2)
        #expect(store.count == 0)
    }

    // MARK: Usage

    @Test func sinkReceivesTheCachedBody() async throws {
        let (network, transport) = stack([.cacheControl: "max-age=100"])
        _ = try await text(network)
        let sink = CollectingSink()
        try await network.data(.lawful.with { $0.sink = sink })
        #expect(sink.data == Data("1".utf8))
        #expect(transport.requests.count == 1)
    }

    @Test func diagnosticsReportACacheInsideCredentialsOrDeduplication() {
        let transport = MockTransport()
        let credentials = BearerCredentials(token: "token")
        #expect(transport.authenticated(with: credentials).deduplicated().cached().diagnostics.isEmpty)
        #expect(transport.cached(in: store).authenticated(with: credentials).diagnostics.count == 1)
        #expect(transport.cached(in: store).deduplicated().diagnostics.count == 1)
    }

    @Test func entriesCanBeRemoved() async throws {
        let (network, _) = stack([.cacheControl: "max-age=100"])
        let cache = ResponseCache(in: store)
        #expect(try await text(network) == "1")
        try await cache.remove(url: #require(HTTPRequestData.lawful.url))
        #expect(try await text(network) == "2")
        try await cache.removeAll()
        #expect(try await text(network) == "3")
    }

    @Test func failingStoreDoesNotFailTheCall() async throws {
        struct Broken: CacheStore, Error {
            let entryCostLimit = Int.max
            func entries(for key: CacheKey) async throws -> [CachedEntry] { throw self }
            func store(_ entry: CachedEntry, for key: CacheKey) async throws -> Int { throw self }
            func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws { throw self }
            func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws { throw self }
        }

        let events = EventRecorder()
        let network = MockTransport { _ in MockResponse(status: .ok, headerFields: [.cacheControl: "max-age=100"]) }
            .cached(in: ResponseCache(in: Broken()))
        #expect(try await network.data(.lawful.with { $0.addObserver(events) }).status == .ok)
        #expect(
            events.names.filter { $0.hasPrefix("cache") } == [
                "cacheFailed", "cacheMissed", "cacheFailed", "cacheFailed", "cacheBypassed",
            ]
        )
    }

    /// A stored date in the future makes the age unknown, so the entry counts as stale.
    @Test func entryIsStaleAfterTheClockWasSetBack() async throws {
        let entry = CachedEntry(
            response: HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=100"]),
            body: Data(),
            requestDate: clock.date.addingTimeInterval(1_000),
            responseDate: clock.date.addingTimeInterval(1_000)
        )
        store.store(entry, for: CacheKey(principal: nil, url: try #require(HTTPRequestData.lawful.absoluteString)))
        let (network, transport) = stack([.cacheControl: "max-age=10"])
        #expect(try await text(network) == "1")
        #expect(transport.requests.count == 1)
    }

    // MARK: The store

    @Test func leastRecentlyUsedEntryIsEvictedFirst() {
        let store = MemoryCacheStore(countLimit: 3)
        @Sendable func key(_ number: Int) -> CacheKey { CacheKey(principal: nil, url: "\(number)") }
        func entry() -> CachedEntry {
            CachedEntry(
                response: HTTPResponse(status: .ok),
                body: Data(count: 10),
                requestDate: clock.date,
                responseDate: clock.date
            )
        }
        for number in 1...3 { store.store(entry(), for: key(number)) }
        _ = store.entries(for: key(1))
        store.store(entry(), for: key(4))
        #expect((1...4).map { store.entries(for: key($0)).count } == [1, 0, 1, 1])
        #expect(store.count == 3)
        store.remove(nil, for: key(3))
        store.removeAll { $0 == key(1) }
        #expect(store.count == 1)
        #expect(store.cost == store.entries(for: key(4)).first?.cost)
    }

    @Test func costLimitsAreEnforced() {
        let store = MemoryCacheStore(costLimit: 10_000, entryCostLimit: 5_000)
        func add(_ number: Int, _ size: Int) {
            store.store(
                CachedEntry(
                    response: HTTPResponse(status: .ok),
                    body: Data(count: size),
                    requestDate: clock.date,
                    responseDate: clock.date
                ),
                for: CacheKey(principal: nil, url: "\(number)")
            )
        }
        add(0, 6_000)
        #expect(store.count == 0)
        for number in 1...100 { add(number, number * 40) }
        #expect(store.cost <= 10_000)
        #expect(store.count > 0)
    }

    @Test func variantsOfAURLAreEvictedBeforeOtherURLs() {
        func entry(_ size: Int, _ variant: Int) -> CachedEntry {
            CachedEntry(
                response: HTTPResponse(status: .ok),
                body: Data(count: size),
                varying: ["accept": "\(variant)"],
                requestDate: clock.date,
                responseDate: clock.date
            )
        }
        let store = MemoryCacheStore(costLimit: 10_000, entryCostLimit: 5_000)
        let (own, other) = (CacheKey(principal: nil, url: "own"), CacheKey(principal: nil, url: "other"))
        store.store(entry(500, 0), for: other)
        for variant in 1...5 { store.store(entry(3_800, variant), for: own) }
        #expect(store.entries(for: own).map(\.varying["accept"]) == ["4", "5"])
        #expect(store.entries(for: other).count == 1)
    }

    @Test func storeCanBeTrimmed() {
        let store = MemoryCacheStore()
        for number in 0..<100 {
            store.store(
                CachedEntry(
                    response: HTTPResponse(status: .ok),
                    body: Data(count: 744),
                    requestDate: clock.date,
                    responseDate: clock.date
                ),
                for: CacheKey(principal: nil, url: "\(number)")
            )
        }
        store.trim(toCost: store.cost / 2)
        #expect(store.count == 50)
        #expect(store.entries(for: CacheKey(principal: nil, url: "49")).isEmpty)
        #expect(!store.entries(for: CacheKey(principal: nil, url: "50")).isEmpty)
        store.trim(toCost: 0)
        #expect(store.count == 0)
        #expect(store.cost == 0)
    }

    @Test func numberOfVariantsOfAURLIsLimited() {
        let store = MemoryCacheStore()
        let key = CacheKey(principal: nil, url: "a")
        for number in 0..<40 {
            let evicted = store.store(
                CachedEntry(
                    response: HTTPResponse(status: .ok),
                    body: Data(),
                    varying: ["accept": "\(number)"],
                    requestDate: clock.date,
                    responseDate: clock.date
                ),
                for: key
            )
            #expect(evicted == (number < 32 ? 0 : 1))
        }
        #expect(store.entries(for: key).map(\.varying["accept"]) == (8..<40).map { "\($0)" })
    }

    @Test func countLimitHoldsForManyEntries() {
        let store = MemoryCacheStore(costLimit: .max, countLimit: 1_000)
        for number in 0..<8_000 {
            store.store(
                CachedEntry(
                    response: HTTPResponse(status: .ok),
                    body: Data(),
                    requestDate: clock.date,
                    responseDate: clock.date
                ),
                for: CacheKey(principal: nil, url: "\(number % 3_000)")
            )
        }
        #expect(store.count == 1_000)
    }
}
