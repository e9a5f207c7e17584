import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// A stored response is used only for requests that every part further in would send in the same way.
@Suite(.stoppedClock, .timeLimit(.minutes(20)))
struct CachedKeyTests {
    private let clock = ManualClock()
    private let store = MemoryCacheStore()
    private let tenant = HTTPField.Name("X-Tenant")!

    /// A transport that returns a fresh response with a field of the request.
    private func transport(returning name: HTTPField.Name, _ fields: HTTPFields = [:]) -> MockTransport {
        MockTransport { request in
            .text(request.headerFields[name] ?? "none").headerFields([.cacheControl: "public, max-age=100"])
                .headerFields(fields)
        }
    }

    /// A modifier that sets a field when a request is sent.
    private func setting(
        _ name: HTTPField.Name,
        _ value: @escaping @Sendable () -> String?
    ) -> Sending {
        Sending { request, upstream in
            try await upstream.send(
                request.with { request in
                    if let value = value() { request.headerFields[name] = value }
                }
            )
        }
    }

    // MARK: Environment

    @Test(arguments: [false, true], [false, true])
    func environmentsDoNotShareResponses(isShared: Bool, varies: Bool) async throws {
        let transport = transport(returning: tenant, varies ? [.vary: "X-Tenant"] : [:])
        let shared = transport.modified(setting(tenant) { NetworkEnvironment.current.tenant })
            .cached(in: ResponseCache(in: store, isShared: isShared)).environment(\.clock, .manual(clock))
        for name in ["blue", "red", "blue", "red"] {
            #expect(try await shared.environment(\.tenant, name).data(.lawful).text == name)
        }
        #expect(transport.requests.count == (varies ? 4 : 2))
        #expect(!"\(store.entries(for: CacheKey(principal: nil, url: "https://laws.example/check")))".contains("blue"))
    }

    /// A 304 for one tenant must not confirm the entry of another.
    @Test func validationUsesTheEntriesOfItsEnvironment() async throws {
        let transport = MockTransport { request in
            let tenant = NetworkEnvironment.current.tenant
            guard request.headerFields[.ifNoneMatch] == nil else { return .status(.notModified) }
            return .text(tenant).headerFields([.cacheControl: "max-age=1", .eTag: "\"\(tenant)\""])
        }
        let shared = transport.cached(in: store).environment(\.clock, .manual(clock))
        for name in ["blue", "red"] {
            #expect(try await shared.environment(\.tenant, name).data(.lawful).text == name)
        }
        clock.advance(by: .seconds(10))
        for name in ["blue", "red"] {
            #expect(try await shared.environment(\.tenant, name).data(.lawful).text == name)
            #expect(transport.requests.last?.headerFields[.ifNoneMatch] == "\"\(name)\"")
        }
    }

    /// After a restart, the entries are found again if the values have the same text in each process.
    @Test(arguments: [true, false]) func entriesOutliveTheProcessIfTheValueHasAText(hasText: Bool) async throws {
        let transport = transport(returning: tenant)
        for isFound in [false, hasText] {
            let network = transport.cached(in: ResponseCache(in: store)).environment(\.clock, .manual(clock))
            if hasText {
                #expect(try await network.environment(\.tenant, "blue").data(.lawful).isCached == isFound)
            } else {
                #expect(try await network.environment(\.area, Area(id: 1)).data(.lawful).isCached == isFound)
            }
        }
    }

    @Test func valueWithoutATextIsFoundInItsProcess() async throws {
        let network = transport(returning: tenant).cached(in: store).environment(\.clock, .manual(clock))
        for (id, isFound) in [(1, false), (2, false), (1, true)] {
            #expect(try await network.environment(\.area, Area(id: id)).data(.lawful).isCached == isFound)
        }
    }

    @Test func valuesThatAffectOnlySendingShareResponses() async throws {
        let network = transport(returning: tenant).cached(in: store).environment(\.clock, .manual(clock))
        try await network.data(.lawful)
        let other = network.environment(\.retries, .off).environment(\.isThrottled, false)
            .environment(\.connectivity, ManualConnectivity(.wifi))
        #expect(try await other.data(.lawful).isCached)
        #expect(try await other.data(.lawful.with { $0.timeout = .seconds(1) }).isCached)
    }

    // MARK: Options

    @Test func optionThatAffectsResponsesSeparatesThem() async throws {
        let transport = MockTransport { request in
            .text(request[.color]).headerFields([.cacheControl: "max-age=100"])
        }
        let network = transport.cached(in: store).environment(\.clock, .manual(clock))
        for (color, isCached) in [("blue", false), ("red", false), ("blue", true), ("none", false)] {
            let response = try await network.data(.lawful.with { $0[.color] = color })
            #expect(response.text == color)
            #expect(response.isCached == isCached)
        }
        // The default that was set is the default that was not.
        #expect(try await network.data(.lawful).isCached)
    }

    @Test func credentialOptionThatCannotBeComparedBypassesTheCache() async throws {
        let transport = MockTransport { request in
            .text(request[.pass] ?? "none").headerFields([.cacheControl: "max-age=100"])
        }
        let network = transport.cached(in: store).environment(\.clock, .manual(clock))
        for pass in ["emily", "james", nil, "emily"] {
            let response = try await network.data(.lawful.with { $0[.pass] = pass })
            #expect(response.text == pass ?? "none")
        }
    }

    // MARK: Credentials

    @Test(arguments: DeduplicatedKeyTests.Way.all)
    func responseToACredentialFromBelowIsNotStored(way: DeduplicatedKeyTests.Way) async throws {
        let user = Mutex("emily")
        let transport = MockTransport { _ in
            .text(user.withLock { $0 }).headerFields([.cacheControl: "max-age=100", .eTag: "\"1\""])
        }
        let network =
            transport.modified(
                Sending { request, upstream in
                    try await upstream.send(request.with { way.add(user.withLock { $0 }, &$0) })
                }
            )
            .cached(in: store).environment(\.clock, .manual(clock))
        for name in ["emily", "james"] {
            user.withLock { $0 = name }
            let response = try await network.data(.lawful)
            #expect(response.text == name)
            #expect(response.cacheStatus?.detail == "credentials")
        }
        #expect(store.count == 0)
    }

    /// The query is part of the URL.
    @Test func requestsWithOtherQueryCredentialsDoNotShareAResponse() async throws {
        let transport = MockTransport { .text($0.query["user"] ?? "").headerFields([.cacheControl: "max-age=100"]) }
        let network = transport.cached(in: store).environment(\.clock, .manual(clock))
        for name in ["emily", "james", "emily"] {
            let request = HTTPRequestData.lawful.with { $0.setCredential(name, forQueryItem: "user") }
            #expect(try await network.data(request).text == name)
        }
        #expect(transport.requests.count == 2)
    }

    // MARK: Vary

    @Test func responseThatVariesByAFieldFromBelowIsNotStored() async throws {
        let language = Mutex<String?>("en")
        let transport = transport(returning: .acceptLanguage, [.vary: "Accept, Accept-Language"])
        let network = transport.modified(setting(.acceptLanguage) { language.withLock { $0 } })
            .cached(in: store).environment(\.clock, .manual(clock))
        for (name, isStored) in [("en", false), ("de", false), (nil, true)] {
            language.withLock { $0 = name }
            let response = try await network.data(.lawful)
            #expect(response.text == name ?? "none")
            #expect(response.cacheStatus?.detail == (isStored ? nil : "vary"))
            #expect(response.cacheStatus?.isStored == isStored)
        }
    }

    @Test func responseThatVariesByAFieldOfTheRequestIsStored() async throws {
        let transport = transport(returning: .acceptLanguage, [.vary: "Accept-Language"])
        let network = transport.modified(setting(.accept) { "text/plain" })
            .modified(setting(.acceptLanguage) { "de , en" })
            .cached(in: store).environment(\.clock, .manual(clock))
        // Spaces and case do not change a list of languages.
        let request = HTTPRequestData.lawful.with { $0.headerFields[.acceptLanguage] = "EN,de" }
        try await network.data(request)
        #expect(try await network.data(request).isCached)
    }

    /// The response to a HEAD request and a 304 update entries only for requests that were sent in the same way.
    @Test(arguments: [HTTPRequest.Method.get, .head])
    func confirmationForAnotherLanguageDoesNotFreshenAnEntry(method: HTTPRequest.Method) async throws {
        let language = Mutex<String?>(nil)
        let fields: HTTPFields = [.cacheControl: "max-age=10", .vary: "Accept-Language", .eTag: "\"1\""]
        let transport = MockTransport { request in
            guard request.headerFields[.ifNoneMatch] == nil else {
                return MockResponse(status: .notModified, headerFields: fields)
            }
            return .text(request.headerFields[.acceptLanguage] ?? "none").headerFields(fields)
        }
        let network = transport.modified(setting(.acceptLanguage) { language.withLock { $0 } })
            .cached(in: store).environment(\.clock, .manual(clock))
        try await network.data(.lawful)
        clock.advance(by: .seconds(20))
        language.withLock { $0 = "de" }
        _ = try await network.data(.lawful.with { $0.method = method })
        let key = CacheKey(principal: nil, url: "https://laws.example/check")
        #expect(store.entries(for: key).map { $0.responseDate.timeIntervalSince(clock.date) } == [-20])
    }

    @Test(arguments: ["*", "Accept, *", "Accept Language"]) func responseWithAnUnusableVaryIsNotStored(
        vary: String
    ) async throws {
        let network = transport(returning: tenant, [.vary: vary]).cached(in: store)
        #expect(try await network.data(.lawful).cacheStatus?.detail == "vary")
        #expect(store.count == 0)
    }

    // MARK: Diagnostics

    @Test func interceptorInsideTheCacheIsReported() throws {
        let network = MockTransport().intercepted(by: Untouched()).cached()
        let diagnostic = try #require(network.diagnostics.first)
        #expect(network.diagnostics.count == 1)
        #expect(diagnostic.modifier == "cached")
        #expect(diagnostic.message.hasPrefix("cached is outside adapted(by: Untouched), so it does not see the fields"))
        #expect(MockTransport().cached().intercepted(by: Untouched()).diagnostics.isEmpty)
    }

    @Test func authenticationWithoutAPrincipalIsReported() throws {
        let network = MockTransport().modified(Nameless()).cached()
        let diagnostic = try #require(network.diagnostics.first)
        #expect(network.diagnostics.count == 1)
        #expect(diagnostic.message.contains("Nameless, which adds credentials and names no principal"))
        #expect(MockTransport().authenticated(with: BearerCredentials(token: "t")).cached().diagnostics.isEmpty)
    }
}

private struct Untouched: RequestInterceptor {}

private struct Nameless: NetworkingModifier {
    var stackPart: StackPart { StackPart(roles: [.authentication]) }
}

extension RequestOptionKey {
    fileprivate static let color = RequestOption("color", default: "none", affects: .responses)
    fileprivate static let pass = RequestOption<String?>("pass", default: nil, affects: .nothing, isCredential: true)
}

/// A value without a text that is the same in each process.
private struct Area: Sendable, Hashable {
    var id: Int
}

private enum AreaKey: NetworkEnvironmentKey {
    static let defaultValue = Area(id: 0)
}

extension NetworkEnvironment {
    fileprivate var area: Area {
        get { self[AreaKey.self] }
        set { self[AreaKey.self] = newValue }
    }
}
