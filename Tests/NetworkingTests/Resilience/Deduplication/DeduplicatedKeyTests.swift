import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// Requests share an exchange only if every part further in would send them in the same way.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct DeduplicatedKeyTests {
    private let inFlight = InFlightRequests()
    private let held = HeldResponse()

    private var shared: some NetworkingComponent {
        MockTransport { [held] _ in .held(by: held) }.deduplicated(sharing: inFlight)
    }

    /// Sends a request over two stacks at the same time, and returns the number of exchanges.
    private func exchanges(
        _ one: some NetworkingComponent,
        _ other: some NetworkingComponent,
        _ request: HTTPRequestData = .lawful
    ) async throws -> Int {
        let first = Task { try await one.data(request) }
        try await held.waitForRequests()
        let second = Task { try await other.data(request) }
        try await eventually("inFlight.waiting == 2") { inFlight.waiting == 2 }
        held.respond()
        _ = try await (first.value, second.value)
        return held.requests.count
    }

    // MARK: Bodies

    /// Bodies that begin with the same 100,000 bytes, which is more than their hash depends on.
    @Test(arguments: [("a", "a", 1), ("a", "b", 2)])
    func queriesShareAnExchangeIfTheirBodiesAreEqual(one: String, other: String, count: Int) async throws {
        func query(_ end: String) -> HTTPRequestData {
            .lawful.with {
                $0.method = .query
                $0.body = .data(Data((String(repeating: "x", count: 100_000) + end).utf8), contentType: "text/plain")
            }
        }
        let first = Task { [shared] in try await shared.data(query(one)) }
        try await held.waitForRequests()
        let second = Task { [shared] in try await shared.data(query(other)) }
        try await eventually("inFlight.waiting == 2") { inFlight.waiting == 2 }
        held.respond()
        _ = try await (first.value, second.value)
        #expect(held.requests.count == count)
    }

    /// The file may change while the first request is sent.
    @Test func queriesWithAFileShareNoExchange() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "query.txt")
            try Data("a".utf8).write(to: file)
            let query = HTTPRequestData.lawful.with { ($0.method, $0.body) = (.query, .file(file)) }
            let first = Task { [shared] in try await shared.data(query) }
            try await held.waitForRequests()
            let second = Task { [shared] in try await shared.data(query) }
            try await held.waitForRequests(2)
            held.respond()
            _ = try await (first.value, second.value)
        }
    }

    // MARK: Environment

    typealias Pair = (one: String?, other: String?, count: Int)

    @Test(arguments: [("red", "red", 1), ("red", "blue", 2), ("public", nil, 1), (nil, "blue", 2)] as [Pair])
    func environmentsThatDifferDoNotShareAnExchange(one: String?, other: String?, count: Int) async throws {
        func stack(_ tenant: String?) -> AnyNetworkingComponent {
            tenant.map { AnyNetworkingComponent(shared.environment(\.tenant, $0)) } ?? AnyNetworkingComponent(shared)
        }
        #expect(try await exchanges(stack(one), stack(other)) == count)
    }

    /// The clock, the randomness and the logger do not affect responses.
    @Test func stacksWithOtherClocksAndLoggersShareAnExchange() async throws {
        let other = shared.environment(\.clock, .immediate()).environment(\.random, .seeded(1))
            .environment(\.secureRandom, .system).environment(\.logger, LogRecorder().logger())
        #expect(try await exchanges(shared, other) == 1)
    }

    @Test func valueThatCannotBeComparedSeparatesStacks() async throws {
        let one = shared.environment(\.sender, Sender(name: "a"))
        #expect(try await exchanges(one, shared.environment(\.sender, Sender(name: "a"))) == 2)
    }

    @Test func stackWithAValueThatCannotBeComparedSharesItsOwnExchanges() async throws {
        let one = shared.environment(\.sender, Sender(name: "a"))
        #expect(try await exchanges(one, one) == 1)
    }

    @Test func retriesThatAreSwitchedOffSeparateStacks() async throws {
        #expect(try await exchanges(shared, shared.environment(\.retries, .off)) == 2)
    }

    // MARK: Limits

    @Test func requestWithoutLimitsDoesNotJoinOneThatWaitsForAPermit() async throws {
        #expect(try await exchanges(shared, shared.environment(\.isThrottled, false)) == 2)
    }

    /// The delegate of a token store sends a GET that is identical to one that waits for the permit of the refresh.
    @Test func refreshEndsAlthoughItsRequestIsWaitingForAPermit() async throws {
        let waiting = Mutex<Task<HTTPResponseData, any Error>?>(nil)
        let limiter = ConcurrencyLimiter(max: 1)
        let place = Mutex<AnyNetworkingComponent?>(nil)
        let transport = MockTransport { request in
            if request.path == "/keys" { return .text("key") }
            return request.headerFields[.authorization] == "Bearer new" ? .ok() : .status(.unauthorized)
        }
        let delegate = KeyFetching {
            let network = try #require(place.withLock { $0 })
            let keys = HTTPRequestData(path: "keys").with(\.authenticationMethod, .anonymous)
            // The app's own request needs the permit of the call that waits for the refresh.
            let apps = Task.detached { try await network.data(keys) }
            waiting.withLock { $0 = apps }
            try await eventually("limiter.waiting == 1") { limiter.waiting == 1 }
            _ = try await network.data(keys)
        }
        let tokens = TokenStore(Session(accessToken: "old", refreshToken: "r"), delegate: delegate)
        let network = AnyNetworkingComponent(
            transport.authenticated(with: tokens)
                .throttled(by: limiter).deduplicated(sharing: inFlight).server(authority: "api.example.com")
                // The refresh has no time limit that a busy machine exceeds.
                .environment(\.clock, .manual(ManualClock()))
        )
        place.withLock { $0 = network }
        #expect(try await network.data(HTTPRequestData(path: "me")).status == .ok)
        let apps = try #require(waiting.withLock { $0 })
        #expect(try await apps.value.text == "key")
        #expect((limiter.inFlight, limiter.waiting) == (0, 0))
    }

    /// The request that waits for the exchange holds the permit that the exchange waits for.
    @Test func requestWithAPermitDoesNotWaitForTheSameLimiter() async throws {
        let limiter = ConcurrencyLimiter(max: 1)
        let inner = MockTransport { _ in .ok() }.throttled(by: limiter).deduplicated(sharing: inFlight)
        let joined = Sending { request, upstream in
            // Waits with its permit until another request waits for that permit.
            try await eventually("limiter.waiting == 1") { limiter.waiting == 1 }
            return try await upstream.send(request)
        }
        let outer = inner.modified(joined).throttled(by: limiter)
        let holder = Task { try await outer.data(.lawful) }
        try await eventually("limiter.inFlight == 1") { limiter.inFlight == 1 }
        let other = try await inner.data(.lawful)
        #expect(other.status == .ok)
        #expect(try await holder.value.status == .ok)
    }

    @Test func longerSilenceIsNotEndedByAnExchangeWithAShorterOne() async throws {
        #expect(try await exchanges(shared, shared.timeout(.seconds(300))) == 2)
    }

    /// The exchange would end with the time limit of the request that started it.
    @Test(.stoppedClock, arguments: ["head", "connect", "idle", "whole"])
    func requestWithAnotherTimeLimitDoesNotShareAnExchange(limit: String) async throws {
        let transport = MockTransport { [held] _ in .held(by: held) }
        let network = transport.timeout(.seconds(60)).deduplicated(sharing: inFlight)
        let limited = HTTPRequestData.lawful.with { request in
            switch limit {
            case "head": request.headTimeout = .seconds(90)
            case "connect": request.connectTimeout = .seconds(90)
            case "idle": request.idleTimeout = .seconds(90)
            default: request.timeout = .seconds(90)
            }
        }
        let first = Task { try await network.data(.lawful) }
        try await held.waitForRequests()
        let second = Task { try await network.data(limited) }
        try await eventually("both requests are sent") { held.requests.count == 2 }
        held.respond()
        _ = try await (first.value, second.value)
    }

    // MARK: Work of outer parts

    @Test func requestWhoseRedirectsAreFollowedFurtherOutDoesNotShareAnExchange() async throws {
        #expect(try await exchanges(shared, shared.redirected()) == 2)
    }

    @Test func requestWhoseCookiesAreHandledFurtherOutDoesNotShareAnExchange() async throws {
        #expect(try await exchanges(shared, shared.cookies(in: CookieJar())) == 2)
    }

    // MARK: Credentials

    /// A way in which a modifier of an app adds a credential when a request is sent.
    struct Way: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let add: @Sendable (String, inout HTTPRequestData) -> Void

        static let all: [Way] = [
            Way(testDescription: "Authorization") { $1.headerFields[.authorization] = "Bearer \($0)" },
            Way(testDescription: "Cookie") { $1.headerFields[.cookie] = "session=\($0)" },
            Way(testDescription: "marked field") { $1.setCredential($0, for: HTTPField.Name("X-User")!) },
            Way(testDescription: "marked item") { $1.setCredential($0, forQueryItem: "user") },
            Way(testDescription: "item with a name of a credential") { $1.query["api_key"] = $0 },
            Way(testDescription: "option") { $1[.ticket] = $0 },
        ]
    }

    @Test(arguments: Way.all, [HTTPResponse.Status.ok, .notFound])
    func callerDoesNotGetTheResponseToACredentialOfAnotherUser(way: Way, status: HTTPResponse.Status) async throws {
        let user = Mutex("emily")
        let first = Suspension<Void>()
        let isFirst = Mutex(true)
        let transport = MockTransport { request in
            let wasFirst = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            if wasFirst { try await first.value() }
            let texts = request.headerFields.map(\.value) + [request.target ?? "", request[.ticket] ?? ""]
            let text = texts.first { $0.contains("emily") || $0.contains("james") } ?? "none"
            return MockResponse(status: status, data: Data(text.utf8))
        }
        let network = transport.checkedStatusCode()
            .modified(
                Sending { request, upstream in
                    try await upstream.send(request.with { way.add(user.withLock { $0 }, &$0) })
                }
            )
            .deduplicated(sharing: inFlight)
        func text() async throws -> String {
            do {
                return try await network.data(.lawful).text ?? ""
            } catch let error as NetworkingError {
                return error.response?.text ?? ""
            }
        }
        let emily = Task { try await text() }
        // A caller counts as waiting before its exchange has read the user.
        try await eventually("the first request is sent") { !isFirst.withLock { $0 } }
        user.withLock { $0 = "james" }
        let james = Task { try await text() }
        try await eventually("inFlight.waiting == 2") { inFlight.waiting == 2 }
        first.resume()
        #expect(try await emily.value.contains("emily"))
        #expect(try await james.value.contains("james"))
    }

    /// The comparison of an option's values is code of the app, which may use the same object.
    @Test func comparisonOfAnOptionMayUseTheRequestsInFlight() async throws {
        struct Counting: Hashable, Sendable {
            let inFlight: InFlightRequests
            let comparisons: Journal

            static func == (lhs: Counting, rhs: Counting) -> Bool {
                lhs.comparisons.note("\(lhs.inFlight.waiting)")
                return true
            }

            func hash(into hasher: inout Hasher) {}
        }
        let counting = RequestOption<Counting?>("counting", default: nil, affects: .responses)
        let comparisons = Journal()
        let count = try await exchanges(
            shared,
            shared,
            .lawful.with { $0[counting] = Counting(inFlight: inFlight, comparisons: comparisons) }
        )
        #expect(count == 1)
        #expect(comparisons.entries.contains("1"))
    }

    /// A credential that both requests have is part of the key.
    @Test func requestsWithTheSameCredentialShareAnExchange() async throws {
        let request = HTTPRequestData.lawful.with { $0.setCredential("key", forQueryItem: "user") }
        #expect(try await exchanges(shared, shared, request) == 1)
    }

    /// The location of a redirect often contains a signature, which is the server's.
    @Test func responseAfterARedirectToASignedURLIsShared() async throws {
        let transport = MockTransport { [held] request in
            guard request.path != "/file" else { return .text("file") }
            return .held(by: held)
        }
        let network = transport.redirected().deduplicated(sharing: inFlight)
        let calls = [Task { try await network.data(.lawful) }, Task { try await network.data(.lawful) }]
        try await eventually("inFlight.waiting == 2") { inFlight.waiting == 2 }
        held.respond(with: .redirect(to: "/file?sig=secret"))
        for call in calls {
            #expect(try await call.value.text == "file")
        }
        #expect(transport.requests.count == 2)
    }
}

/// A delegate that needs another request for its refresh.
private struct KeyFetching: AuthenticationDelegate {
    let fetch: @Sendable () async throws -> Void

    func refresh(
        _ session: Session,
        after response: HTTPResponseData?,
        over network: any NetworkingComponent
    ) async throws -> Session {
        try await fetch()
        return Session(accessToken: "new", refreshToken: "r")
    }
}

extension RequestOptionKey {
    fileprivate static let ticket = RequestOption<String?>(
        "ticket",
        default: nil,
        affects: .responses,
        isCredential: true
    )
}

/// A value that cannot be compared.
private struct Sender: Sendable {
    var name: String
}

private enum SenderKey: NetworkEnvironmentKey {
    static let defaultValue = Sender(name: "")
}

extension NetworkEnvironment {
    fileprivate var sender: Sender {
        get { self[SenderKey.self] }
        set { self[SenderKey.self] = newValue }
    }
}
