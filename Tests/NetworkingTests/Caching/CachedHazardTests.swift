import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingCaching

/// Situations in which a careless cache would return the wrong response.
@Suite(.tags(.concurrency), .stoppedClock, .timeLimit(.minutes(20)))
struct CachedHazardTests {
    private let clock = ManualClock()
    private let store = MemoryCacheStore()

    /// Creates a stack over a server that passes the number of each request to a closure.
    private func stack(
        isShared: Bool = false,
        _ respond: @escaping @Sendable (Int, HTTPRequestData) throws -> MockResponse
    ) -> (network: AnyNetworkingComponent, transport: MockTransport) {
        let count = Mutex(0)
        let transport = MockTransport { request in
            try respond(
                count.withLock {
                    $0 += 1
                    return $0
                },
                request
            )
        }
        let network = transport.cached(in: ResponseCache(in: store, isShared: isShared))
            .environment(\.clock, .manual(clock))
        return (AnyNetworkingComponent(network), transport)
    }

    private func text(
        _ network: some NetworkingComponent,
        _ change: (inout HTTPRequestData) -> Void = { _ in }
    ) async throws -> String {
        String(decoding: try await network.data(.lawful.with(change)).data, as: UTF8.self)
    }

    private func ok(_ text: some Sendable, _ fields: HTTPFields) -> MockResponse {
        .ok(Data("\(text)".utf8), headerFields: fields)
    }

    // MARK: Users

    @Test(arguments: ["Cookie", "X-API-Key", "X-Auth-Token"]) func userWithOtherCredentialsGetsNoStoredResponse(
        name: String
    ) async throws {
        let name = try #require(HTTPField.Name(name))
        let (network, transport) = stack { _, request in
            ok(request.headerFields[name] ?? "nobody", [.cacheControl: "max-age=100"])
        }
        for user in ["emily", "james", nil, "emily", "james"] {
            #expect(try await text(network) { $0.headerFields[name] = user } == user ?? "nobody")
        }
        #expect(transport.requests.count == 3)
        let url = try #require(HTTPRequestData.lawful.absoluteString)
        let entries = store.entries(for: CacheKey(principal: nil, url: url))
        #expect(entries.count == 3)
        #expect(!"\(entries.map(\.varying))".contains("emily"))
    }

    /// Two users may have different bodies with the same entity tag.
    @Test(arguments: [true, false]) func notModifiedAppliesToOneUserOnly(hasTag: Bool) async throws {
        let (network, transport) = stack { _, request in
            let user = request.headerFields[.cookie] ?? ""
            guard request.headerFields[.ifNoneMatch] == nil else {
                return .status(.notModified, headerFields: hasTag ? [.eTag: "\"1\""] : [:])
            }
            return ok(user, [.cacheControl: "max-age=10", .eTag: "\"1\""])
        }
        for user in ["emily", "james"] {
            #expect(try await text(network) { $0.headerFields[.cookie] = user } == user)
        }
        #expect(transport.requests.allSatisfy { !$0.headerFields.contains(.ifNoneMatch) })
        clock.advance(by: .seconds(20))
        for user in ["emily", "james"] {
            #expect(try await text(network) { $0.headerFields[.cookie] = user } == user)
        }
        #expect(transport.requests.count == 4)
    }

    @Test func responseToAGetWithABodyIsNotStored() async throws {
        let (network, transport) = stack { _, request in
            ok(String(decoding: request.body?.data ?? Data(), as: UTF8.self), [.cacheControl: "max-age=100"])
        }
        for question in ["a", "b"] {
            #expect(try await text(network) { $0.body = .data(Data(question.utf8)) } == question)
        }
        #expect(transport.requests.count == 2)
        #expect(store.count == 0)
    }

    /// The principal of the stack does not identify the owner of the caller's own credentials.
    @Test func responseToTheCallersOwnAuthorizationIsNotStored() async throws {
        let transport = MockTransport { request in
            ok(request.headerFields[.authorization] ?? "", [.cacheControl: "max-age=100"])
        }
        let network = transport.authenticated(with: APIKeyCredentials("key", in: .header(.init("X-API-Key")!)))
            .cached(in: store).server(authority: "api.example.com")
        for user in ["emily", "james"] {
            var request = HTTPRequestData(path: "/me")
            request.headerFields[.authorization] = "Bearer \(user)"
            #expect(try await network.data(request).data == Data("Bearer \(user)".utf8))
        }
        #expect(store.count == 0)
    }

    /// The transport adds its cookies after the cache, so the cache cannot compare them.
    @Test func responseThatVariesByAnUnseenCookieIsNotStored() async throws {
        let (network, _) = stack { number, _ in ok(number, [.cacheControl: "max-age=100", .vary: "Cookie"]) }
        #expect(try await text(network) == "1")
        #expect(try await text(network) == "2")
    }

    @Test func responseToAPostWithCredentialsIsNotStored() async throws {
        let (network, _) = stack { number, request in
            ok(number, [.cacheControl: "max-age=100", .contentLocation: request.closedTarget])
        }
        _ = try await text(network) {
            $0.method = .post
            $0.headerFields[.authorization] = "Bearer emily"
        }
        #expect(store.count == 0)
        #expect(try await text(network) == "2")
    }

    @Test func fixedModeAppliesToItsOwnRequestsOnly() async throws {
        let (network, _) = stack { number, _ in ok(number, [.cacheControl: "no-store, max-age=1000"]) }
        let fixed = CacheMode.fixed(.seconds(60))
        #expect(try await text(network) { $0.cacheMode = fixed } == "1")
        #expect(try await text(network) { $0.cacheMode = fixed } == "1")
        #expect(try await text(network) == "2")
        for fields in [[.vary: "*"], [.cacheControl: "private"]] as [HTTPFields] {
            store.removeAll { _ in true }
            let (network, _) = stack(isShared: true) { number, _ in ok(number, fields) }
            #expect(try await text(network) { $0.cacheMode = fixed } == "1")
            #expect(store.count == 0)
        }
    }

    @Test func fieldsForOneUserAreNotShared() async throws {
        let (network, _) = stack(isShared: true) { number, _ in
            ok(number, [.cacheControl: "max-age=100, private=\"Set-Cookie\"", .setCookie: "session=emily"])
        }
        _ = try await text(network)
        let response = try await network.data(.lawful)
        #expect(response.isCached)
        #expect(!response.headerFields.contains(.setCookie))
    }

    // MARK: Selection of entries

    /// The caller's copy may be newer than the stored one.
    @Test func notModifiedForTheCallersTagDoesNotConfirmTheStoredEntry() async throws {
        let (network, transport) = stack { number, request in
            request.headerFields[.ifNoneMatch] == "\"2\""
                ? .status(.notModified, headerFields: [.eTag: "\"2\"", .cacheControl: "max-age=10"])
                : ok("v\(number)", [.eTag: "\"\(number)\"", .cacheControl: "max-age=10"])
        }
        #expect(try await text(network) == "v1")
        clock.advance(by: .seconds(20))
        let response = try await network.data(.lawful.with { $0.headerFields[.ifNoneMatch] = "\"2\"" })
        #expect(response.status == .notModified)
        #expect(try await text(network) == "v3")
        #expect(transport.requests.last?.headerFields[.ifNoneMatch] == "\"1\"")
    }

    @Test func responseOfAFollowedRedirectIsNotStored() async throws {
        let (network, transport) = stack { _, request in
            request.target == "/latest"
                ? .redirect(to: "/v1") : ok("v1", [.cacheControl: "max-age=1000, immutable"])
        }
        for _ in 0..<2 {
            let response = try await network.data(.lawful.with { $0.target = "/latest" })
            #expect(response.data == Data("v1".utf8))
            #expect(response.cacheStatus?.detail == "redirected")
        }
        #expect(transport.requests.count == 4)
        #expect(store.count == 0)
    }

    @Test func storedRedirectServesOnlyRequestsThatDoNotFollowRedirects() async throws {
        let (network, transport) = stack { _, request in
            request.target == "/old"
                ? MockResponse(
                    status: .movedPermanently,
                    headerFields: [.location: "/new", .cacheControl: "max-age=1000"]
                ) : ok("new", [:])
        }
        func send(_ redirects: RedirectPolicy) async throws -> HTTPResponseData {
            try await network.data(
                .lawful.with {
                    $0.target = "/old"
                    $0.redirects = redirects
                }
            )
        }
        #expect(try await send(.never).status == .movedPermanently)
        #expect(try await send(.never).isCached)
        #expect(transport.requests.count == 1)
        #expect(try await send(.follow).data == Data("new".utf8))
    }

    @Test(arguments: ["*", "Accept, *", "Accept Encoding"]) func responseWithAnUnusableVaryIsNotReused(
        vary: String
    ) async throws {
        let (network, _) = stack { number, request in
            request.headerFields.contains(.ifNoneMatch)
                ? .status(.notModified, headerFields: [.eTag: "\"a\"", .vary: vary])
                : ok(number, [.eTag: "\"a\"", .cacheControl: "max-age=10"])
        }
        #expect(try await text(network) == "1")
        clock.advance(by: .seconds(20))
        #expect(try await text(network) == "1")
        #expect(store.count == 0)
        #expect(try await text(network) == "3")
    }

    @Test func rangesAndConditionsApplyToCompleteSuccessesOnly() async throws {
        let (network, transport) = stack { _, _ in
            MockResponse(
                status: .notFound,
                data: Data("no such page".utf8),
                headerFields: [.cacheControl: "max-age=100", .eTag: "\"a\""]
            )
        }
        for fields in [[:], [.range: "bytes=0-3"], [.ifNoneMatch: "*"]] as [HTTPFields] {
            let response = try await network.data(
                .lawful.with { request in
                    for field in fields { request.headerFields[field.name] = field.value }
                }
            )
            #expect(response.status == .notFound)
            #expect(response.data == Data("no such page".utf8))
        }
        #expect(transport.requests.count == 1)
    }

    @Test func bodyThatIsASliceIsStoredCorrectly() async throws {
        struct Cut: NetworkingModifier {
            func send(
                _ request: HTTPRequestData,
                upstream: some NetworkingComponent
            ) async throws -> HTTPResponseData {
                var response = try await upstream.send(request)
                response.data = response.data.dropFirst(2)
                return response
            }
        }
        let network = MockTransport { _ in ok("__0123456789", [.cacheControl: "max-age=100"]) }.modified(Cut())
            .cached(in: store)
        #expect(try await text(network) == "0123456789")
        #expect(try await text(network) { $0.headerFields[.range] = "bytes=3-5" } == "345")
    }

    @Test func truncatedBodyIsNotStored() async throws {
        let (network, _) = stack { number, _ in
            ok(number, [.cacheControl: "max-age=100", .contentLength: "10"])
        }
        #expect(try await network.data(.lawful).cacheStatus?.detail == "incomplete")
        #expect(store.count == 0)
    }

    /// An origin whose first response arrives late: when its gate opens.
    private struct LateOrigin {
        let transport: MockTransport
        /// Resumed when the first request has arrived.
        let arrived = Suspension<Void>()
        let gate = Suspension<Void>()

        /// Creates an origin.
        ///
        /// - Parameters:
        ///   - clock: The clock of the `Date` fields.
        ///   - fields: Returns further fields of the response with a number.
        init(_ clock: ManualClock, fields: @escaping @Sendable (Int) -> HTTPFields = { _ in [:] }) {
            let count = Mutex(0)
            transport = MockTransport { [arrived, gate] _ in
                let number = count.withLock {
                    $0 += 1
                    return $0
                }
                let date = NetworkClock.manual(clock).date.httpDate
                if number == 1 {
                    arrived.resume()
                    try await gate.value()
                }
                var fields = fields(number)
                fields[.cacheControl] = "max-age=100"
                fields[.date] = date
                return .ok(Data("\(number)".utf8), headerFields: fields)
            }
        }
    }

    /// The newer of two responses stays stored, in either order of arrival.
    @Test func lateResponseDoesNotReplaceANewerOne() async throws {
        let origin = LateOrigin(clock)
        let network = origin.transport.cached(in: store).environment(\.clock, .manual(clock))
        async let late = network.data(.lawful)
        try await origin.arrived.value()
        clock.advance(by: .seconds(1))
        #expect(try await text(network) == "2")
        origin.gate.resume()
        #expect(try await late.data == Data("1".utf8))
        #expect(try await text(network) == "2")
    }

    /// The server has started to vary by a field, so the newer response has another ID.
    @Test(arguments: ["Accept", ""]) func lateResponseDoesNotReplaceANewerOneWithAnotherVary(
        vary: String
    ) async throws {
        let origin = LateOrigin(clock) { number in [.vary: number == 1 ? vary : vary.isEmpty ? "Accept" : ""] }
        let network = origin.transport.cached(in: store).environment(\.clock, .manual(clock))
        let request = HTTPRequestData.lawful.with { $0.headerFields[.accept] = "text/plain" }
        async let late = network.data(request)
        try await origin.arrived.value()
        clock.advance(by: .seconds(1))
        #expect(try await network.data(request).data == Data("2".utf8))
        origin.gate.resume()
        #expect(try await late.data == Data("1".utf8))
        #expect(try await late.cacheStatus?.detail == "outdated")
        let again = try await network.data(request)
        #expect(again.isCached && again.data == Data("2".utf8))
        #expect(store.count == 1)
    }

    @Test func lateHeadDoesNotRemoveANewerResponse() async throws {
        let (arrived, gate) = (Suspension<Void>(), Suspension<Void>())
        let transport = MockTransport { [clock] request in
            let date = NetworkClock.manual(clock).date
            guard request.method == .head else {
                let tag = "\"\(date.timeIntervalSince1970)\""
                return .ok(Data("page".utf8), headerFields: [.cacheControl: "max-age=1", .eTag: tag])
            }
            arrived.resume()
            try await gate.value()
            return .status(.ok, headerFields: [.eTag: "\"before\""])
        }
        let network = transport.cached(in: store).environment(\.clock, .manual(clock))
        try await network.data(.lawful)
        clock.advance(by: .seconds(5))
        async let late = network.data(.lawful.with { $0.method = .head })
        try await arrived.value()
        clock.advance(by: .seconds(1))
        try await network.data(.lawful)
        gate.resume()
        #expect(try await late.status == .ok)
        #expect(store.count == 1)
        #expect(try await network.data(.lawful).isCached)
    }

    @Test func responseWithAnotherVaryReplacesTheOlderOne() async throws {
        let (network, _) = stack { number, _ in
            ok(number, [.cacheControl: "max-age=10", .vary: number == 1 ? "" : "Accept"])
        }
        for number in 1...3 {
            #expect(try await text(network) { $0.headerFields[.accept] = "text/plain" } == "\(number)")
            #expect(store.count == 1)
            clock.advance(by: .seconds(20))
        }
    }

    // MARK: Changes

    /// A change of another URL while the store is read does not affect this one.
    @Test(arguments: [true, false]) func onlyChangesOfTheSameURLOutdateAFetch(isSame: Bool) async throws {
        final class Changing: CacheStore {
            let store = MemoryCacheStore()
            let change = Mutex<(@Sendable () async throws -> Void)?>(nil)
            let entryCostLimit = Int.max

            func entries(for key: CacheKey) async throws -> [CachedEntry] {
                let change = change.withLock { $0.take() }
                try await change?()
                return store.entries(for: key)
            }

            func store(_ entry: CachedEntry, for key: CacheKey) async throws -> Int { store.store(entry, for: key) }

            func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws { store.remove(id, for: key) }

            func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws {
                store.removeAll(where: isUnwanted)
            }
        }

        let changing = Changing()
        let transport = MockTransport { _ in .ok(headerFields: [.cacheControl: "max-age=100"]) }
        let network = AnyNetworkingComponent(transport.cached(in: changing).environment(\.clock, .manual(clock)))
        let change = HTTPRequestData.lawful.with { request in
            request.method = .post
            if !isSame { request.target = "/other" }
        }
        changing.change.withLock { $0 = { _ = try await network.data(change) } }
        let response = try await network.data(.lawful)
        #expect(response.cacheStatus?.isStored == !isSame)
        #expect(response.cacheStatus?.detail == (isSame ? "outdated" : nil))
    }

    /// The response is confirmed and used, but the cache does not have it with its new lifetime.
    @Test(arguments: ["no-store", "max-age=100"]) func confirmedResponseThatIsNotStoredIsReportedSo(
        directives: String
    ) async throws {
        final class ReadOnly: CacheStore {
            let store = MemoryCacheStore()
            let isReadOnly = Mutex(false)
            let entryCostLimit = Int.max

            func entries(for key: CacheKey) async throws -> [CachedEntry] { store.entries(for: key) }

            func store(_ entry: CachedEntry, for key: CacheKey) async throws -> Int {
                if isReadOnly.withLock({ $0 }) { throw CocoaError(.fileWriteVolumeReadOnly) }
                return store.store(entry, for: key)
            }

            func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws { store.remove(id, for: key) }

            func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws {
                store.removeAll(where: isUnwanted)
            }
        }
        let store = ReadOnly()
        let transport = MockTransport { request in
            request.headerFields.contains(.ifNoneMatch)
                ? .status(.notModified, headerFields: [.cacheControl: directives, .eTag: "\"1\""])
                : .ok(Data("1".utf8), headerFields: [.cacheControl: "max-age=10", .eTag: "\"1\""])
        }
        let network = transport.cached(in: store).environment(\.clock, .manual(clock))
        #expect(try await text(network) == "1")
        clock.advance(by: .seconds(20))
        store.isReadOnly.withLock { $0 = directives != "no-store" }

        let response = try await network.data(.lawful)

        #expect(response.status == .ok)
        #expect(response.cacheStatus?.isStored == false)
        #expect(response.cacheStatus?.detail != nil)
        #expect(transport.requests.count == 2)
    }

    @Test func stateOfAURLEndsWithItsLastFetch() {
        let invalidation = CacheInvalidation()
        let beginning = invalidation.beginning(of: "url")
        #expect(invalidation.begin("url", since: invalidation.snapshot()) != nil)
        #expect(invalidation.isCurrent(beginning, "url"))
        invalidation.extend("url")
        invalidation.noteStore("url")
        invalidation.end("url")
        #expect(invalidation.storeCount("url") == 1)
        invalidation.end("url")
        #expect(invalidation.storeCount("url") == 0)
        #expect(invalidation.isCurrent(beginning, "url"))
    }

    @Test func moreChangesThanTheHistoryHoldsOutdateAFetch() {
        let invalidation = CacheInvalidation()
        for (count, isKnown) in [(1, true), (256, true), (257, false)] {
            let snapshot = invalidation.snapshot()
            for number in 0..<count {
                invalidation.endRemoval(of: "\(number)", invalidation.invalidate("\(number)"))
            }
            #expect((invalidation.begin("url", since: snapshot) != nil) == isKnown)
        }
        let snapshot = invalidation.snapshot()
        invalidation.outdateAll()
        #expect(invalidation.begin("url", since: snapshot) == nil)
    }

    @Test(arguments: [NetworkingError.Kind.connectionLost, .timeout, .connection, .offline])
    func changeThatMayHaveSucceededRemovesTheStoredResponse(kind: NetworkingError.Kind) async throws {
        let (network, _) = stack { number, request in
            guard request.method == .get else { throw NetworkingError(kind, request: request) }
            return ok(number, [.cacheControl: "max-age=100"])
        }
        #expect(try await text(network) == "1")
        await #expect(throws: NetworkingError.self) { try await text(network) { $0.method = .put } }
        let isCertain = kind == .connection || kind == .offline
        #expect(try await text(network) == (isCertain ? "1" : "3"))
    }

    @Test func changeBehindARedirectRemovesTheResponseOfItsTarget() async throws {
        let (network, _) = stack { number, request in
            if request.method == .put, request.target == "/a" {
                return .redirect(to: "/b", status: .temporaryRedirect)
            }
            return ok(number, [.cacheControl: "max-age=100"])
        }
        #expect(try await text(network) { $0.target = "/b" } == "1")
        _ = try await text(network) {
            $0.method = .put
            $0.target = "/a"
        }
        #expect(try await text(network) { $0.target = "/b" } != "1")
    }

    @Test(arguments: [
        ("https://api.example.com:443/b", true), ("/b", true), ("http://api.example.com/b", false),
        ("https://other.example/b", false),
    ]) func responseAtALocationOfTheSameOriginIsRemoved(location: String, isRemoved: Bool) async throws {
        let (network, _) = stack { number, request in
            request.method == .post
                ? MockResponse(status: .created, headerFields: [.location: location])
                : ok(number, [.cacheControl: "max-age=100"])
        }
        func get() async throws -> String {
            try await text(network) {
                $0.authority = "api.example.com"
                $0.target = "/b"
            }
        }
        #expect(try await get() == "1")
        _ = try await text(network) {
            $0.method = .post
            $0.authority = "api.example.com"
        }
        #expect(try await get() == (isRemoved ? "3" : "1"))
    }

    /// A store that sometimes cannot remove many keys.
    private final class Busy: CacheStore {
        let entryCostLimit = Int.max
        let store = MemoryCacheStore()
        let isBusy = Mutex(false)

        func entries(for key: CacheKey) async throws -> [CachedEntry] { store.entries(for: key) }

        func store(_ entry: CachedEntry, for key: CacheKey) async throws -> Int { store.store(entry, for: key) }

        func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws { store.remove(id, for: key) }

        func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws {
            if isBusy.withLock({ $0 }) { throw CocoaError(.fileLocking) }
            store.removeAll(where: isUnwanted)
        }
    }

    /// A store that temporarily cannot remove an entry does not make the old response fresh.
    @Test func entryThatCouldNotBeRemovedIsNotUsed() async throws {
        let busy = Busy()
        let count = Mutex(0)
        let transport = MockTransport { _ in
            let number = count.withLock {
                $0 += 1
                return $0
            }
            return .ok(Data("\(number)".utf8), headerFields: [.cacheControl: "max-age=100"])
        }
        let network = transport.cached(in: busy)
        #expect(try await text(network) == "1")
        busy.isBusy.withLock { $0 = true }
        _ = try await text(network) { $0.method = .put }
        #expect(try await text(network) == "3")
        busy.isBusy.withLock { $0 = false }
        _ = try await text(network)
        #expect(busy.store.count == 1)
        // The same applies to an explicit removal.
        let cache = ResponseCache(in: busy)
        let other = transport.cached(in: cache)
        let before = try await text(other)
        busy.isBusy.withLock { $0 = true }
        await #expect(throws: CocoaError.self) { try await cache.removeAll() }
        #expect(try await text(other) != before)
        busy.isBusy.withLock { $0 = false }
        #expect(try await text(other) != before)
    }

    /// The last removal succeeds and exceeds the maximum number; the earlier ones are still to be repeated.
    @Test func entriesWithTooManyFailedRemovalsAreNotUsed() async throws {
        let busy = Busy()
        let cache = ResponseCache(in: busy)
        let tokens = TokenStore(Session(userID: "0", accessToken: "0"))
        let transport = MockTransport { _ in .ok(headerFields: [.cacheControl: "max-age=100"]) }
        let network = transport.authenticated(with: tokens).cached(in: cache).server(authority: "api.example.com")
        func become(_ user: Int) {
            tokens.set(Session(userID: "\(user)", accessToken: "\(user)"))
        }
        let users = 0...32
        for user in users {
            become(user)
            try await network.data(HTTPRequestData(path: "me"))
        }
        busy.isBusy.withLock { $0 = true }
        for user in users.dropLast() {
            become(user)
            await #expect(throws: CocoaError.self) { try await cache.remove(principal: tokens.principal) }
        }
        busy.isBusy.withLock { $0 = false }
        become(32)
        try await cache.remove(principal: tokens.principal)
        for user in users {
            become(user)
            #expect(try await !network.data(HTTPRequestData(path: "me")).isCached, "user \(user)")
        }
    }

    /// The change may have happened although its caller cancelled it.
    @Test func cancelledChangeRemovesTheStoredResponse() async throws {
        let arrived = Suspension<Void>()
        let transport = MockTransport { request in
            guard request.method == .put else {
                return .ok(Data("page".utf8), headerFields: [.cacheControl: "max-age=100"])
            }
            arrived.resume()
            try await Suspension<Void>().value()
            return .ok()
        }
        let network = transport.cached(in: store)
        _ = try await text(network)
        #expect(store.count == 1)
        let change = Task { try await network.data(.lawful.with { $0.method = .put }) }
        try await arrived.value()
        change.cancel()
        await #expect(throws: CancellationError.self) { try await change.value }
        #expect(store.count == 0)
    }

    /// Concurrent requests for an entry that is being removed start no second removal.
    @Test func entryIsRemovedOnce() async throws {
        final class Slow: CacheStore {
            let entryCostLimit = Int.max
            let store = MemoryCacheStore()
            let removals = Mutex(0)
            let (arrived, gate) = (Suspension<Void>(), Suspension<Void>())

            func entries(for key: CacheKey) async throws -> [CachedEntry] { store.entries(for: key) }

            func store(_ entry: CachedEntry, for key: CacheKey) async throws -> Int { store.store(entry, for: key) }

            func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws { store.remove(id, for: key) }

            func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws {
                removals.withLock { $0 += 1 }
                arrived.resume()
                try await gate.value()
                store.removeAll(where: isUnwanted)
            }
        }
        let slow = Slow()
        let cache = ResponseCache(in: slow)
        let transport = MockTransport { _ in .ok(headerFields: [.cacheControl: "max-age=100"]) }
        let network = transport.cached(in: cache)
        _ = try await network.data(.lawful)
        async let removal: Void = cache.removeAll()
        try await slow.arrived.value()
        for _ in 0..<10 {
            #expect(try await !network.data(.lawful).isCached)
        }
        slow.gate.resume()
        try await removal
        #expect(slow.removals.withLock { $0 } == 1)
        _ = try await network.data(.lawful)
        #expect(try await network.data(.lawful).isCached)
    }

    // MARK: Freshness

    @Test func staleResponseReplacesAThrownFailureToo() async throws {
        let transport = MockTransport { request in
            request.headerFields.contains(.ifNoneMatch)
                ? .status(.serviceUnavailable)
                : ok("page", [.cacheControl: "max-age=1, stale-if-error=100", .eTag: "\"a\""])
        }
        let network = transport.checkedStatusCode().cached(in: store).environment(\.clock, .manual(clock))
        #expect(try await text(network) == "page")
        clock.advance(by: .seconds(10))
        #expect(try await text(network) == "page")
        await #expect(throws: NetworkingError.self) { try await text(network) { $0.cacheMode = .noCache } }
    }

    @Test(
        arguments: [
            [.cacheControl: "only-if-cached, no-store"], [.cacheControl: "only-if-cached", .ifMatch: "\"a\""],
        ] as [HTTPFields]
    ) func onlyIfCachedSendsNothing(fields: HTTPFields) async throws {
        let (network, transport) = stack { number, _ in ok(number, [:]) }
        let response = try await network.data(
            .lawful.with { request in
                for field in fields { request.headerFields[field.name] = field.value }
            }
        )
        #expect(response.status == .gatewayTimeout)
        #expect(transport.requests.isEmpty)
    }

    /// The cache stores no responses to these requests.
    @Test(arguments: ["authorization", "body", "POST", "OPTIONS"], [true, false])
    func onlyIfCachedDoesNotSendARequestThatBypassesTheCache(reason: String, isMode: Bool) async throws {
        let (network, transport) = stack { number, _ in ok(number, [:]) }
        let response = try await network.data(
            .lawful.with {
                if isMode {
                    $0.cacheMode = .onlyIfCached
                } else {
                    $0.headerFields[.cacheControl] = "only-if-cached"
                }
                switch reason {
                case "authorization": $0.headerFields[.authorization] = "Bearer a"
                case "body": $0.body = .data(Data("question".utf8))
                case "POST": $0.method = .post
                default: $0.method = .options
                }
            }
        )
        #expect(response.status == .gatewayTimeout)
        #expect(response.cacheStatus?.detail == "only-if-cached")
        #expect(transport.requests.isEmpty)
    }

    // MARK: Ranges

    /// A range is defined for GET only (RFC 9110 section 14.2).
    @Test func headWithARangeGetsNoStoredPart() async throws {
        let (network, transport) = stack { _, request in
            guard request.method == .get else { return ok("", [.contentLength: "10"]) }
            return MockResponse(
                status: .partialContent,
                data: Data("0123".utf8),
                headerFields: [.cacheControl: "max-age=100", .contentRange: "bytes 0-3/10", .eTag: "\"a\""]
            )
        }
        #expect(try await text(network) { $0.headerFields[.range] = "bytes=0-3" } == "0123")
        let response = try await network.data(
            .lawful.with {
                $0.method = .head
                $0.headerFields[.range] = "bytes=0-3"
            }
        )
        #expect(response.status == .ok)
        #expect(transport.requests.count == 2)
    }

    /// The file may have changed within the second of its date (RFC 9110 section 8.8.2.2).
    @Test(arguments: [0, 1])
    func rangeAfterADateNeedsAnOlderFile(age: Int) async throws {
        let date = NetworkClock.manual(clock).date
        let modified = date.addingTimeInterval(-Double(age)).httpDate
        let (network, _) = stack { _, _ in
            ok("0123456789", [.cacheControl: "max-age=100", .date: date.httpDate, .lastModified: modified])
        }
        #expect(try await text(network) == "0123456789")
        let response = try await network.data(
            .lawful.with {
                $0.headerFields[.range] = "bytes=3-5"
                $0.headerFields[.ifRange] = modified
            }
        )
        #expect(response.isCached)
        #expect(response.status == (age == 0 ? .ok : .partialContent))
        #expect(response.data == Data((age == 0 ? "0123456789" : "345").utf8))
    }

    /// A 304 without a date is dated at its arrival.
    @Test func notModifiedWithoutADateRefreshesTheEntry() async throws {
        let (network, transport) = stack { [clock] _, request in
            request.headerFields.contains(.ifNoneMatch)
                ? .status(.notModified, headerFields: [.eTag: "\"a\""])
                : ok(
                    "page",
                    [
                        .cacheControl: "max-age=60", .eTag: "\"a\"",
                        .date: NetworkClock.manual(clock).date.httpDate,
                    ]
                )
        }
        _ = try await text(network)
        clock.advance(by: .seconds(100))
        _ = try await text(network)
        #expect(try await network.data(.lawful).isCached)
        #expect(transport.requests.count == 2)
    }

    @Test(
        arguments: [
            ("max-age=60", 60), ("max-age=60;x=1", 60), ("max-age=60, max-age=10", 10),
            ("a, max-age=60, b=(1 \"c\";d)", 60),
            ("max-age=60, &&&", nil), ("MaX-Age=60", nil), ("max-age =60", nil), ("max-age= 60", nil),
            ("max-age=60,", nil), ("max-age=\"60", nil), ("", nil), ("max-age=\"60\"", 0), ("max-age=60.0", 0),
            ("max-age=abc", 0), ("max-age", 0), ("max-age=-5", 0), ("no-store=?0, max-age=60", 60),
            ("a=:AQ==:, max-age=60", 60),
            ("a=@1659578233, max-age=60", 60), ("max-age=9999999999999999", nil),
            ("a=%\"f%c3%bcr %22alle%22\", max-age=60", 60), ("a=%\"\", max-age=60", 60), ("max-age=60;a=%\"b\"", 60),
            ("a=(%\"b\" 1), max-age=60", 60), ("a=%\"%C3%BC\", max-age=60", nil), ("a=%\"%c3\", max-age=60", nil),
            ("max-age=60, a=:AQ=A:", nil),
            ("max-age=60, a=%", nil), ("max-age=60, a=%b", nil), ("max-age=60, a=%\"b", nil),
            ("max-age=60, a=%\"%", nil),
            ("max-age=60, a=%\"%4\"", nil), ("max-age=60, a=%\"ü\"", nil),
        ] as [(String, Double?)]
    ) func targetedDirectivesAreParsedAsAStructuredDictionary(field: String, lifetime: Double?) {
        let entry = CachedEntry(
            response: HTTPResponse(
                status: .ok,
                headerFields: [.cacheControl: "max-age=7", .cdnCacheControl: field]
            ),
            body: Data(),
            requestDate: clock.date,
            responseDate: clock.date
        )
        #expect(CacheRules(isShared: true).lifetime(of: entry) == lifetime ?? 7)
        #expect(CacheRules().lifetime(of: entry) == 7)
    }

    @Test(arguments: [
        (["no-cache=\"set-cookie\"", "no-cache, max-age=600"], true), (["no-cache=\"\""], true),
        (["no-cache=\"set-cookie\", max-age=600"], false),
    ]) func unqualifiedDirectiveOverridesAQualifiedOne(values: [String], isForAll: Bool) {
        #expect(CacheControl(values).isUnqualified(.noCache) == isForAll)
    }
}
