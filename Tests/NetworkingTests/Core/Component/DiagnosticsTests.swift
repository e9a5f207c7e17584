import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@Suite
struct DiagnosticsTests {
    private let transport = MockTransport()

    @Test func diagnosticsOfTheTransportFollowThoseOfTheModifiers() throws {
        let network = Misconfigured().retry().deduplicated().modified(Repeated())
        let service = APIService(network, baseURL: try #require(URL(string: "https://api.example.com")))
        for network in [AnyNetworkingComponent(network), AnyNetworkingComponent(service)] {
            let last = network.diagnostics.last
            #expect(last?.modifier == "Misconfigured")
            #expect(last?.message.hasPrefix("There is no proxy below") == true)
        }
        let erased = AnyNetworkingComponent(Misconfigured())
        #expect(erased.diagnostics.map(\.message) == ["There is no proxy below 0 modifiers."])
    }

    @Test func recommendedOrderHasNoDiagnostics() {
        let network = transport.timeout(.seconds(10)).authenticated(with: BearerCredentials(token: "token"))
            .throttled(max: 6).rateLimited(to: 9, per: .seconds(1)).circuitBreaker().redirected().retry().deduplicated()
            .cached()
            .checkedStatusCode().deadline(.seconds(30)).logged().traced().numbered().instrument()
            .server(authority: "api.example.com")
        #expect(network.diagnostics == [])
        #expect(transport.diagnostics.isEmpty)
    }

    @Test func ruleSeesTheEnvironmentOfItsPlace() async {
        let (wifi, offline) = (ManualConnectivity(.wifi), ManualConnectivity(.offline))
        func reports(_ network: some NetworkingComponent) -> [String] {
            network.diagnostics.map(\.message)
        }
        let place = transport.environment(\.connectivity, nil).modified(NetworkReported())
        #expect(reports(place) == ["none"])
        #expect(reports(place.environment(\.connectivity, wifi)) == ["true"])
        let both = place.environment(\.connectivity, offline).retry().environment(\.connectivity, wifi)
        #expect(reports(both) == ["false"])
        var environment = NetworkEnvironment.current
        environment.connectivity = offline
        await withEnvironment(environment) {
            #expect(reports(place) == ["false"])
            #expect(reports(place.environment(\.connectivity, wifi)) == ["true"])
        }
    }

    /// Each stack in the guides omits some modifiers of the recommended order.
    @Test func everySubsetOfTheRecommendedOrderHasNoDiagnostics() {
        let modifiers: [@Sendable (AnyNetworkingComponent) -> any NetworkingComponent] = [
            { $0.timeout(.seconds(10)) },
            { $0.authenticated(with: BearerCredentials(token: "token")) },
            { $0.throttled(max: 6) },
            { $0.rateLimited(to: 9, per: .seconds(1)) },
            { $0.circuitBreaker() },
            { $0.redirected() },
            { $0.retry() },
            { $0.deduplicated() },
            { $0.cached() },
            { $0.deadline(.seconds(30)) },
            { $0.traced() },
            { $0.server(authority: "api.example.com") },
        ]
        for selection in 0..<1 << modifiers.count {
            var network = AnyNetworkingComponent(transport)
            for (index, modifier) in modifiers.enumerated() where selection & 1 << index != 0 {
                network = AnyNetworkingComponent(modifier(network))
            }
            #expect(network.diagnostics == [])
        }
    }

    @Test(arguments: [
        ("retry modifiers twice", "inside another retry", MockTransport().retry().retry() as any NetworkingComponent),
        ("timeout", "covers all attempts", MockTransport().retry().timeout(.seconds(10))),
        ("timeout", "never reaches it", MockTransport().timeout(.seconds(10)).deadline(.seconds(5))),
        ("timeout", "outside throttled(max: 6), so", MockTransport().throttled(max: 6).timeout(.seconds(10))),
        ("timeout", "outside rateLimited(", MockTransport().rateLimited(to: 1, per: .seconds(1)).timeout(.seconds(1))),
        (
            "timeout", "outside authenticated(with: BearerCredentials), so",
            MockTransport().authenticated(with: BearerCredentials(token: "token")).timeout(.seconds(10))
        ),
        ("timeout", "outside cached, so", MockTransport().cached().timeout(.seconds(10))),
        (
            "timeout", "outside cached and throttled(max: 6), so",
            MockTransport().throttled(max: 6).cached().timeout(.seconds(10))
        ),
        ("throttled", "between attempts", MockTransport().retry().throttled(max: 6)),
        ("throttled", "between attempts", AnyNetworkingComponent(MockTransport().retry()).throttled(max: 6)),
        ("throttled", "cached responses need a permit", MockTransport().cached().throttled(max: 6)),
        ("throttled", "each caller of a shared exchange", MockTransport().deduplicated().throttled(max: 6)),
        ("rateLimited", "only the first attempt", MockTransport().retry().rateLimited(to: 1, per: .seconds(1))),
        ("rateLimited", "only the first attempt", MockTransport().retry().rateLimited(by: ServerRateLimiter())),
        (
            "rateLimited", "cached responses need a permit",
            MockTransport().cached().rateLimited(by: AdaptiveRateLimiter())
        ),
        (
            "rateLimited", "cached responses need a permit",
            MockTransport().cached().rateLimited(to: 1, per: .seconds(1))
        ),
        (
            "rateLimited", "each caller of a shared exchange",
            MockTransport().deduplicated().rateLimited(to: 1, per: .seconds(1))
        ),
        ("deduplicated", "each caller of a failed", MockTransport().deduplicated().retry()),
        ("traced", "starts its own trace", MockTransport().traced().retry()),
        ("deadline", "covers one attempt", MockTransport().deadline(.seconds(5)).retry()),
        ("deadline", "not each caller", MockTransport().deadline(.seconds(5)).deduplicated()),
        ("cached", "are not shared", MockTransport().cached().deduplicated()),
        (
            "cached", "stores nothing",
            MockTransport().cached().authenticated(with: BearerCredentials(token: "token"))
        ),
        (
            "cached", "the Authorization of server(headerField: Authorization)",
            MockTransport().cached().server(headerField: .authorization, "Bearer token")
        ),
        (
            "cached", "the Authorization of server(headerField: Authorization)",
            MockTransport().server(headerField: .authorization, "Bearer token").cached()
        ),
    ])
    func probableMistakeIsReported(modifier: String, words: String, network: any NetworkingComponent) throws {
        let diagnostic = try #require(network.diagnostics.first)
        #expect(network.diagnostics.count == 1)
        #expect(diagnostic.message.contains(words))
        #expect(diagnostic.description == diagnostic.message)
        #expect(modifier.hasPrefix(diagnostic.modifier?.prefix { $0.isLetter } ?? "none"))
        #expect(diagnostic.option == nil)
    }

    @Test(arguments: [
        // The cache of an app's client, and the same cache around the credentials of an API client.
        MockTransport().cached().authenticated(with: BearerCredentials(token: "token")).cached()
            as any NetworkingComponent,
        // An inner modifier shares the exchanges of cache misses.
        MockTransport().deduplicated().cached().deduplicated(),
        // A shared cache stores only responses that the server allows for all users.
        MockTransport().cached(in: ResponseCache(isShared: true))
            .authenticated(with: BearerCredentials(token: "token")),
        MockTransport().cached().server(headerField: .accept, "application/json"),
    ])
    func intendedOrderHasNoDiagnostics(network: any NetworkingComponent) {
        #expect(network.diagnostics == [])
    }

    @Test func absentModifierIsIgnored() {
        let network = transport.modified(nil as PriorityRaised?).retry().modified(PriorityRaised() as PriorityRaised?)
        #expect(network.modifiers.count == 2)
        #expect(network.modifiers.first is PriorityRaised)
        #expect(network.modifiers.last?.stackPart.roles == [.retry])
        #expect((nil as PriorityRaised?).stackPart.roles.isEmpty)
        #expect((PriorityRaised() as PriorityRaised?).stackPart.roles == [.rescheduling])
        #expect((PriorityRaised() as PriorityRaised?).stackPart.options == [.priority, .urgency])
    }

    @Test(arguments: [
        (StackRole.retry, MockTransport().retry() as any NetworkingComponent),
        (.authentication, MockTransport().authenticated(with: BearerCredentials(token: "token"))),
        (.authorizationField, MockTransport().server(headerField: .authorization, "Bearer token")),
        (.server, MockTransport().server(authority: "api.example.com")),
        (.caching, MockTransport().cached()),
        (.deduplication, MockTransport().deduplicated()),
        (.concurrencyLimit, MockTransport().throttled(max: 6)),
        (.rateLimit, MockTransport().rateLimited(to: 1, per: .seconds(1))),
        (.circuitBreaker, MockTransport().circuitBreaker()),
        (.rateLimit, MockTransport().rateLimited(by: ServerRateLimiter())),
        (.rateLimit, MockTransport().rateLimited(by: AdaptiveRateLimiter())),
        (.timeout, MockTransport().timeout(.seconds(1))),
        (.deadline, MockTransport().deadline(.seconds(1))),
        (.redirection, MockTransport().redirected()),
        (.tracing, MockTransport().traced()),
        (.logging, MockTransport().logged()),
    ])
    func modifierHasItsRole(role: StackRole, network: any NetworkingComponent) {
        #expect(network.modifiers.first?.stackPart.roles.contains(role) == true)
    }

    // MARK: Modifiers of other packages

    @Test func rulesHoldForRolesInOtherPackages() {
        let inside = transport.deadline(.seconds(5)).modified(Repeated())
        #expect(inside.diagnostics.map(\.message).first?.contains("inside retry") == true)
        let limited = transport.timeout(.seconds(10)).modified(Budgeted(limit: .seconds(5)))
        #expect(limited.diagnostics.map(\.message).first?.contains("deadline of 5.0 seconds") == true)
        #expect(transport.timeout(.seconds(10)).modified(Budgeted(limit: .seconds(20))).diagnostics.isEmpty)
    }

    @Test func ruleOfAnotherPackageGetsTheSurroundingModifiers() {
        let network = transport.timeout(.seconds(1)).retry().modified(PlaceReported()).cached().logged()
        #expect(
            network.diagnostics.map(\.message) == [
                "outside: caching, logging; inside: retry, timeout; caching: true, false"
            ]
        )
        #expect(network.diagnostics.map(\.modifier) == ["PlaceReported"])
    }

    @Test func modifiersThatAComponentForwardsAreDiagnosed() {
        var request = HTTPRequestData(authority: "api.example.com")
        request.cacheMode = .noStore
        let network = Wrapper(upstream: transport.cached()).timeout(.seconds(1))
        #expect(network.diagnostics.count == 1)
        #expect(network.diagnostics(for: request).isEmpty)
        #expect(Wrapper(upstream: transport).diagnostics(for: request).count == 1)
    }

    @Test func rulesAreRowsForPartsOfAnyPackage() {
        let row = StackRule.not("is alone.") { $0.outer.isEmpty && $0.inner.isEmpty }
        let rules: [StackRule] = [
            .notInside(.caching, "is inside cached."), .notOutside(.retry, "is outside retry."), row,
            StackRule { $0.inner.count > 1 ? "\($0.name) is outside \($0.inner.count) parts." : nil },
        ]
        let part = Described(StackPart(name: "described", roles: [.rescheduling], server: "a.example", rules: rules))
        func messages(_ network: some NetworkingComponent) -> [String] {
            network.diagnostics.map(\.message)
        }
        #expect(messages(transport.modified(part)) == ["described is alone."])
        #expect(messages(transport.modified(part).cached()) == ["described is inside cached."])
        #expect(
            messages(transport.timeout(.seconds(1)).retry().modified(part)) == [
                "described is outside retry.", "described is outside 2 parts.",
            ]
        )
        #expect(transport.modified(part).diagnostics.map(\.modifier) == ["described"])
        #expect(transport.modified(part).outline == "described\nMockTransport")
    }

    /// A component between the modifiers has rules of its own, as a modifier has.
    @Test func componentInTheMiddleHasRules() {
        let wrapper = RuledWrapper(upstream: transport.retry())
        #expect(wrapper.cached().diagnostics.map(\.message) == ["RuledWrapper is inside cached."])
        #expect(wrapper.cached().modifiers.map(\.outlineName).map { $0.prefix(6) } == ["cached", "retry("])
        #expect(wrapper.requestOptions.isSuperset(of: [.urgency, .retryPolicy]))
    }

    @Test func interceptorHasRules() {
        let network = transport.intercepted(by: UrgencyRead())
        #expect(network.diagnostics.isEmpty)
        #expect(network.cached().diagnostics.map(\.message).contains("adapted(by: UrgencyRead) is inside cached."))
    }

    @Test func credentialsOfAnotherPackageBelongToItsServer() {
        let network = transport.modified(Described(StackPart(name: "tenant", roles: [.server], server: "b.example")))
            .authenticated(with: BearerCredentials(token: "token")).server(authority: "a.example")
        #expect(network.diagnostics.map(\.message).first?.contains("requests to tenant go without") == true)
    }

    // MARK: Options

    @Test(arguments: [
        OptionUse("timeout", MockTransport().timeout(.seconds(1))) { $0.timeout = .seconds(1) },
        OptionUse("connectTimeout", MockTransport().timeout(.seconds(1))) { $0.connectTimeout = .seconds(1) },
        OptionUse("headTimeout", MockTransport().timeout(.seconds(1))) { $0.headTimeout = .seconds(1) },
        OptionUse("idleTimeout", MockTransport().timeout(.seconds(1))) { $0.idleTimeout = .seconds(1) },
        OptionUse("deadline", MockTransport().deadline(.seconds(1))) { $0.deadline = .seconds(1) },
        OptionUse("retryPolicy", MockTransport().retry()) { $0.retryPolicy = .exponential() },
        OptionUse("retryPolicy", MockTransport().intercepted()) { $0.retryPolicy = .exponential() },
        OptionUse("priority", MockTransport().throttled(max: 6)) { $0.priority = .high },
        OptionUse("isThrottled", MockTransport().rateLimited(to: 1, per: .seconds(1))) { $0.isThrottled = false },
        OptionUse("isThrottled", MockTransport().throttled(max: 6)) { $0.isThrottled = false },
        OptionUse("priority", MockTransport().rateLimited(to: 1, per: .seconds(1))) { $0.priority = .low },
        OptionUse("route", MockTransport().observed(by: UrgencyRead())) { $0.route = "/users/{id}" },
        OptionUse("urgency", MockTransport().observed(by: UrgencyRead())) { $0[.urgency] = true },
        OptionUse("urgency", MockTransport().intercepted(by: UrgencyRead())) { $0[.urgency] = true },
        OptionUse("rateLimitWeight", MockTransport().rateLimited(to: 1, per: .seconds(1))) { $0.rateLimitWeight = 2 },
        OptionUse("isDeduplicated", MockTransport().deduplicated()) { $0.isDeduplicated = false },
        OptionUse("cacheMode", MockTransport().cached()) { $0.cacheMode = .noStore },
        OptionUse("authenticationMethod", MockTransport().authenticated(with: BearerCredentials(token: "token"))) {
            $0.authenticationMethod = .anonymous
        },
        OptionUse("route", MockTransport().instrument()) { $0.route = "/users/{id}" },
        OptionUse("logDetail", AnyNetworkingComponent(MockTransport().logged())) { $0.logDetail = .headers },
        OptionUse("isTraceSampled", MockTransport().traced()) { $0.isTraceSampled = true },
        OptionUse("allowsFaults", MockTransport().faultInjected(by: FaultInjector(script: []))) {
            $0.allowsFaults = false
        },
        OptionUse("urgency", MockTransport().modified(PriorityRaised())) { $0[.urgency] = true },
    ])
    fileprivate func unreadOptionIsReported(use: OptionUse) throws {
        var request = HTTPRequestData(authority: "api.example.com")
        #expect(transport.diagnostics(for: request).isEmpty)
        use.set(&request)
        #expect(use.reader.diagnostics(for: request) == [])

        let diagnostics = transport.numbered().diagnostics(for: request)
        let diagnostic = try #require(diagnostics.first)
        #expect(diagnostics.count == 1)
        #expect(diagnostic.option?.name == use.name)
        #expect(diagnostic.modifier == nil)
        #expect(diagnostic.message == "The request sets \(use.name), but no modifier of the stack reads it.")
    }

    @Test func optionsOfTheLibraryHaveKeys() {
        let keys: [RequestOptionKey] = [
            .timeout, .connectTimeout, .headTimeout, .idleTimeout, .deadline, .retryPolicy, .priority,
            .isThrottled, .rateLimitWeight, .isDeduplicated, .cacheMode, .authenticationMethod, .route, .logDetail,
            .isTraceSampled,
        ]
        #expect(Set(keys).count == keys.count)
        #expect("\(RequestOptionKey.cacheMode)" == "cacheMode")
    }

    @Test func listenerOfTheRequestReadsItsOptions() {
        var request = HTTPRequestData(authority: "api.example.com")
        request[.urgency] = true
        request.addObserver(SilentReader())
        #expect(transport.modified(SilentReader()).diagnostics(for: request).count == 1)
        request.addObserver(UrgencyRead())
        #expect(transport.diagnostics(for: request) == [])
    }

    @Test func optionsThatNeedNoModifierAreNotReported() {
        var request = HTTPRequestData(authority: "api.example.com")
        request.acceptedStatuses = [404]
        request.maximumResponseBytes = 1
        request.maximumBufferedBytes = 1
        request.decompressionLimit = .none
        request.redirects = .never
        // The transports read these two options.
        request.retryPolicy = .never
        request.isIdempotent = true
        request.serverMutations = .disabled
        request.allowsPlaintextCredentials = true
        request.sink = CollectingSink()
        request.progressHandler = { _ in }
        #expect(transport.diagnostics(for: request) == [])
    }

    @Test func pathParametersOfAMockAreNotReported() async throws {
        transport.on(.get, "/users/:id") { request in
            #expect(MockTransport().diagnostics(for: request) == [])
            return .ok()
        }
        try await transport.data(HTTPRequestData(authority: "api.example.com", path: "users/42"))
    }

    @Test func optionThatTheStackSetsIsReported() {
        let network = transport.server(authenticationMethod: .bearer)
        #expect(network.diagnostics(for: HTTPRequestData()).map(\.option) == [.authenticationMethod])
    }
}

extension RequestOptionKey {
    fileprivate static let urgency = RequestOption("urgency", default: false, affects: .nothing)
}

extension StackRole {
    fileprivate static let rescheduling = StackRole("rescheduling")
}

private struct PriorityRaised: NetworkingModifier {
    var stackPart: StackPart { StackPart(roles: [.rescheduling], options: [.priority, .urgency]) }
}

/// An option, a stack that reads it, and a closure that sets it.
private struct OptionUse: Sendable {
    let name: String
    let reader: any NetworkingComponent
    let set: @Sendable (inout HTTPRequestData) -> Void

    init(_ name: String, _ reader: any NetworkingComponent, set: @escaping @Sendable (inout HTTPRequestData) -> Void) {
        self.name = name
        self.reader = reader
        self.set = set
    }
}

/// A listener and an interceptor that read an option.
private struct UrgencyRead: NetworkEventObserver, RequestInterceptor {
    let requestOptions: Set<RequestOptionKey> = [.urgency]
    var stackPart: StackPart {
        StackPart(options: requestOptions, rules: [.notInside(.caching, "is inside cached.")])
    }

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {}
}

/// Uses each default implementation, which checks that none of them is ambiguous.
private struct SilentReader: NetworkEventObserver, RequestInterceptor, NetworkingModifier {
    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {}
}

private struct Misconfigured: NetworkingTransport {
    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        HTTPResponseData(request: request, status: .ok)
    }

    var stackPart: StackPart {
        StackPart(rules: [StackRule { "There is no proxy below \($0.outer.count) modifiers." }])
    }
}

private struct Repeated: NetworkingModifier {
    var stackPart: StackPart { StackPart(roles: [.retry]) }
}

private struct Budgeted: NetworkingModifier {
    let limit: Duration
    var stackPart: StackPart { StackPart(roles: [.deadline], deadline: limit) }
}

private struct NetworkReported: NetworkingModifier {
    var stackPart: StackPart {
        StackPart(rules: [StackRule { $0.environment.connectivity?.status.map { "\($0.isSatisfied)" } ?? "none" }])
    }
}

private struct PlaceReported: NetworkingModifier, CustomStringConvertible {
    let description = "PlaceReported"

    var stackPart: StackPart {
        @Sendable func names(_ modifiers: [any NetworkingModifier]) -> String {
            modifiers.flatMap(\.stackPart.roles).map(\.name).joined(separator: ", ")
        }
        return StackPart(
            rules: [
                StackRule { place in
                    "outside: \(names(place.outer)); inside: \(names(place.inner)); "
                        + "caching: \(place.isInside(.caching)), \(place.isOutside(.caching))"
                }
            ]
        )
    }
}

private struct Described: NetworkingModifier {
    let stackPart: StackPart

    init(_ stackPart: StackPart) {
        self.stackPart = stackPart
    }
}

private struct RuledWrapper<Base: NetworkingComponent>: NetworkingComponent, StackDescribing {
    let upstream: Base

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await upstream.send(request)
    }

    var stackPart: StackPart {
        StackPart(name: "RuledWrapper", options: [.urgency], rules: [.notInside(.caching, "is inside cached.")])
    }
}

private struct Wrapper<Base: NetworkingComponent>: NetworkingComponent {
    let upstream: Base

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await upstream.send(request)
    }
}
