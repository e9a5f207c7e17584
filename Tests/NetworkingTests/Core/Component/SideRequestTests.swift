import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// A request that code of the app receives from within a stack, and sends itself, begins a new call.
@Suite(.timeLimit(.minutes(20)))
struct SideRequestTests {
    /// The code that receives the request.
    enum Side: CaseIterable {
        case listener, headerFieldsOfListener, strategy, interceptor, modifier
    }

    /// The method that the code sends it with.
    enum Method: CaseIterable {
        case data, send
    }

    /// Keeps the last request that it receives, which has passed the whole stack.
    final class Witness: NetworkEventObserver, RetryStrategy, RequestInterceptor {
        private let side: Side
        private let kept = Mutex<HTTPRequestData?>(nil)

        init(at side: Side) {
            self.side = side
        }

        var request: HTTPRequestData? {
            kept.withLock { $0 }
        }

        private func keep(_ request: HTTPRequestData, from side: Side) {
            guard side == self.side else { return }
            kept.withLock { $0 = $0 ?? request }
        }

        func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
            if case ExchangeEvent.headReceived = event { keep(request, from: .listener) }
        }

        func headerFields(forAttempt request: HTTPRequestData) -> HTTPFields {
            keep(request, from: .headerFieldsOfListener)
            return [.traceState: "attempt"]
        }

        func decide(about request: HTTPRequestData, after attempts: [Attempt]) async throws -> RetryDecision {
            keep(request, from: .strategy)
            return .standard
        }

        func adapt(_ request: HTTPRequestData) async throws -> HTTPRequestData {
            keep(request, from: .interceptor)
            return request
        }

        /// The witness inside of the stack, where a request has all that the modifiers outside of it add.
        func watching(_ transport: some NetworkingComponent) -> AnyNetworkingComponent {
            switch side {
            case .listener, .headerFieldsOfListener:
                AnyNetworkingComponent(transport.observed(by: self))
            case .strategy:
                AnyNetworkingComponent(transport.retry(.immediate().deciding(by: self)))
            case .interceptor:
                AnyNetworkingComponent(transport.intercepted(by: self))
            case .modifier:
                AnyNetworkingComponent(
                    transport.modified(
                        Sending { request, upstream in
                            self.keep(request, from: .modifier)
                            return try await upstream.send(request)
                        }
                    )
                )
            }
        }
    }

    private let authority = "api.example.com"

    private func request(_ path: String = "/orders") -> HTTPRequestData {
        HTTPRequestData(scheme: "https", authority: authority, path: path)
    }

    private func send(
        _ request: HTTPRequestData?,
        _ method: Method,
        over network: some NetworkingComponent
    ) async throws {
        let request = try #require(request)
        switch method {
        case .data: try await network.data(request)
        case .send: _ = try await network.send(request)
        }
    }

    // A request that a modifier of the stack sends with `send` stays on its way.
    private static let ways = Side.allCases.flatMap { side in
        Method.allCases.filter { side != .modifier || $0 == .data }.map { (side, $0) }
    }

    @Test(arguments: ways)
    func requestHasTheCurrentCredentialsAndCookies(side: Side, method: Method) async throws {
        let witness = Witness(at: side)
        let store = TokenStore(Networking.Session(userID: "alice", accessToken: "old"))
        let key = TokenStore(APIKeyCredentials("old-key", in: .header(.apiKey)))
        let jar = CookieJar()
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        let network = witness.watching(transport).authenticated(with: key, at: [authority])
            .authenticated(with: store, at: [authority]).cookies(in: jar)
        let user = network.principal(for: request())
        try jar.set(Cookie(name: "session", value: "old", domain: authority, created: .distantPast), for: user)
        try await network.data(request())
        #expect(transport.requests.first?.headerFields[.cookie] == "session=old")
        store.update(Networking.Session(accessToken: "new"))
        key.update(APIKeyCredentials("new-key", in: .header(.apiKey)))
        try jar.set(Cookie(name: "session", value: "new", domain: authority, created: .distantPast), for: user)
        let count = transport.requests.count
        try await send(witness.request, method, over: network)
        let sent = try #require(transport.requests.dropFirst(count).first)
        #expect(sent.headerFields[.authorization] == "Bearer new")
        #expect(sent.headerFields[.apiKey] == "new-key")
        #expect(sent.headerFields[.cookie] == "session=new")
    }

    @Test(arguments: ways)
    func anotherStackReceivesNoCredentials(side: Side, method: Method) async throws {
        let witness = Witness(at: side)
        let jar = CookieJar()
        let network = witness.watching(MockTransport { _ in .status(.serviceUnavailable) })
            .authenticated(with: APIKeyCredentials("key", in: .header(.apiKey)), at: [authority])
            .authenticated(with: APIKeyCredentials("key", in: .query("key")), at: [authority])
            .authenticated(with: BearerCredentials(token: "token"), at: [authority]).cookies(in: jar)
        let user = network.principal(for: request())
        try jar.set(Cookie(name: "session", value: "old", domain: authority, created: .distantPast), for: user)
        try await network.data(request("/orders?page=1").with { $0.headerFields["X-Client"] = "app" })
        let other = MockTransport { _ in .ok() }
        try await send(witness.request, method, over: other.modified(nil as Unchanged?))
        let sent = try #require(other.requests.first)
        for name in [HTTPField.Name.authorization, .apiKey, .cookie, .traceState] {
            #expect(!sent.headerFields.contains(name), "\(name)")
        }
        #expect(sent.target == "/orders?page=1")
        #expect(sent.headerFields["X-Client"] == "app")
    }

    /// Credentials that a part of the app has recorded for a user, and others that it has only marked.
    @Test(arguments: [true, false])
    func anotherStackDoesNotReceiveTheCredentialsOfAPartOfTheApp(areRecorded: Bool) async throws {
        let witness = Witness(at: .listener)
        let adding = Sending { request, upstream in
            var signed = request
            if areRecorded {
                signed.headerFields["X-Key"] = "key"
                signed.recordCredentials(of: Principal(id: "alice"), since: request)
            } else {
                signed.setCredential("key", for: HTTPField.Name("X-Key")!)
                signed.setCredential("key", forQueryItem: "key")
            }
            return try await upstream.send(signed)
        }
        let first = MockTransport { _ in .ok() }
        try await witness.watching(first).modified(adding).data(request("/orders?page=1"))
        #expect(first.requests.first?.headerFields["X-Key"] == "key")
        let other = MockTransport { _ in .ok() }
        try await send(witness.request, .data, over: other)
        let sent = try #require(other.requests.first)
        #expect(sent.headerFields["X-Key"] == nil)
        #expect(sent.target == "/orders?page=1")
    }

    /// The cookies and the time limit belong to the call of the other request.
    @Test func anotherStackHasItsOwnCookiesAndTimeLimit() async throws {
        let witness = Witness(at: .listener)
        let clock = ManualClock()
        let network = witness.watching(MockTransport { _ in .ok() }).deadline(.seconds(10)).cookies(in: CookieJar())
            .environment(\.clock, .manual(clock))
        try await network.data(request())
        clock.advance(by: .seconds(20))
        let handled = Mutex<[Bool]>([])
        let other = MockTransport { _ in .ok() }
            .modified(
                Sending { request, upstream in
                    handled.withLock { $0.append(request.areCookiesHandled) }
                    return try await upstream.send(request)
                }
            )
            .authenticated(with: BearerCredentials(token: "token"), at: [authority])
            .environment(\.clock, .manual(clock))
        try await send(witness.request, .data, over: other)
        #expect(handled.withLock { $0 } == [false])
    }

    // MARK: Requests of responses and errors

    /// Returns the request of a response, as a stack has sent it.
    private func sentRequest(of network: some NetworkingComponent) async throws -> HTTPRequestData {
        try await network.data(request()).sentRequest
    }

    /// The outermost part of a stack delivers a body in memory to the sink.
    @Test func sentRequestBeginsANewCall() async throws {
        let stored = Sending { request, _ in
            HTTPResponseData(request: request, http: HTTPResponse(status: .ok), body: .collected(Data("body".utf8)))
        }
        let network = MockTransport().modified(stored)
        var again = try await sentRequest(of: network)
        let sink = CollectingSink()
        again.sink = sink
        _ = try await network.send(again)
        #expect(sink.data == Data("body".utf8))
    }

    /// The clock of the former call does not measure another one.
    @Test func sentRequestIsNotMeasuredWithItsFormerCall() async throws {
        func stack(_ clock: ManualClock) -> some NetworkingComponent {
            MockTransport { _ in
                clock.advance(by: .seconds(1))
                return .ok()
            }
            .instrument().environment(\.clock, .manual(clock))
        }
        let again = try await sentRequest(of: stack(ManualClock()))
        let metrics = try #require(try await stack(ManualClock()).data(again).metrics)
        #expect(metrics.attempts == 1)
        #expect(metrics.duration == .seconds(1))
    }

    @Test func sentRequestHasATraceOfItsOwn() async throws {
        let transport = MockTransport { _ in .ok() }
        let again = try await sentRequest(of: transport.traced())
        _ = try await transport.traced().data(again)
        let traces = transport.requests.compactMap { $0.traceContext?.parent.traceID }
        #expect(traces.count == 2)
        #expect(Set(traces).count == 2)
    }

    @Test func sentRequestHasNotTheTimeLimitOfItsFormerCall() async throws {
        /// A transport that ends its exchanges at the limit itself.
        struct LimitedTransport: NetworkingTransport {
            let limits = Journal()

            func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
                limits.note(request.exchangeLimit == nil ? "none" : "limited")
                return HTTPResponseData(request: request)
            }

            func enforcesLimit(of request: HTTPRequestData) -> Bool {
                true
            }
        }

        let transport = LimitedTransport()
        let again = try await sentRequest(of: transport.timeout(.seconds(10)))
        try await transport.data(again)
        #expect(transport.limits.entries == ["limited", "none"])
    }

    @Test(arguments: ways)
    func requestIsRefreshedRedirectedAndLimited(side: Side, method: Method) async throws {
        let witness = Witness(at: side)
        let fresh = Networking.Session(userID: "alice", accessToken: "fresh")
        let delegate = ScriptedAuthenticationDelegate<Networking.Session>(refreshing: [.success(fresh)])
        let store = TokenStore(Networking.Session(userID: "alice", accessToken: "old"), delegate: delegate)
        let limited = Mutex<[Bool]>([])
        let isRefusing = Mutex(false)
        let transport = MockTransport { request in
            guard isRefusing.withLock({ $0 }) else { return .status(.serviceUnavailable) }
            guard request.headerFields[.authorization] == "Bearer fresh" else { return .status(.unauthorized) }
            return request.path == "/there" ? .ok() : .redirect(to: "/there")
        }
        let watched = transport.modified(
            Sending { request, upstream in
                limited.withLock { $0.append(request.isSilenceLimited) }
                return try await upstream.send(request)
            }
        )
        let limiter = ConcurrencyLimiter(max: 1)
        let network = witness.watching(watched).timeout(.seconds(60)).throttled(by: limiter)
            .authenticated(with: store, at: [authority]).redirected()
        try await network.data(request())
        isRefusing.withLock { $0 = true }
        try await send(witness.request, method, over: network)
        #expect(transport.requests.suffix(3).map(\.path) == ["/orders", "/orders", "/there"])
        #expect(delegate.calls.count == 1)

        // Over a stack without a timeout, the transport watches for silence itself.
        limited.withLock { $0 = [] }
        try await send(witness.request, method, over: watched)
        #expect(limited.withLock { $0 } == [false])

        // While the only permit is taken, the request waits for it.
        let held = HeldResponse()
        let slow = MockTransport { _ in .held(by: held) }.throttled(by: limiter)
        async let first = slow.data(request())
        try await held.waitForRequests()
        async let second: Void = send(witness.request, method, over: slow)
        try await eventually("the request waits for the permit") { limiter.waiting == 1 }
        #expect(held.requests.count == 1)
        held.respond()
        _ = try await (first, second)
    }

    @Test(arguments: ways)
    func requestBelongsToTheCurrentUser(side: Side, method: Method) async throws {
        let witness = Witness(at: side)
        let store = TokenStore(Networking.Session(userID: "alice", accessToken: "alice"))
        let transport = MockTransport { _ in .ok() }
        let network = witness.watching(transport).authenticated(with: store, at: [authority])
        let failing = witness.watching(MockTransport { _ in .status(.serviceUnavailable) })
            .authenticated(with: store, at: [authority])
        try await failing.data(request())
        store.set(Networking.Session(userID: "bob", accessToken: "bob"))
        // The app sends the message again, now for Bob.
        try await send(witness.request, method, over: network)
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["Bearer bob"])
    }
}

private struct Unchanged: NetworkingModifier {}

extension HTTPField.Name {
    fileprivate static let apiKey = HTTPField.Name("X-API-Key")!
    fileprivate static let traceState = HTTPField.Name("tracestate")!
}
