import Foundation
import HTTPTypes
import Logging
import Networking
import NetworkingInspector
import NetworkingOAuth
import NetworkingSigning
import NetworkingTesting
import Testing

#if Crypto
import Crypto
#endif

#if Telemetry
import InMemoryTracing
import MetricsTestKit
import NetworkingTelemetry
#endif

/// A modifier of the package, applied as in an app.
struct LawfulModifier: Sendable, CustomTestStringConvertible {
    /// The function with the label of its first parameter, as in `cached(in:)`.
    let function: String
    /// The variant, if several have the same function.
    let variant: String?
    /// The laws that the modifier breaks on purpose, with the reasons.
    let exceptions: [Law: String]
    let wrap: @Sendable (AnyNetworkingComponent) -> AnyNetworkingComponent

    var testDescription: String {
        ([function] + [variant].compactMap(\.self)).joined(separator: ", ")
    }

    init(
        _ function: String,
        _ variant: String? = nil,
        except exceptions: [Law: String] = [:],
        _ wrap: @escaping @Sendable (AnyNetworkingComponent) -> any NetworkingComponent
    ) {
        self.function = function
        self.variant = variant
        self.exceptions = exceptions
        self.wrap = { AnyNetworkingComponent(wrap($0)) }
    }

    /// The laws that any of several modifiers breaks.
    static func exceptions(of modifiers: [LawfulModifier]) -> [Law: String] {
        modifiers.reduce(into: [:]) { exceptions, modifier in
            exceptions.merge(modifier.exceptions) { first, _ in first }
        }
    }
}

// MARK: - The list

/// `ModifierListTests` compares it with the public functions in `Sources` and the table in
/// `Documentation/Modifiers.md`.
extension LawfulModifier {
    static let all: [LawfulModifier] =
        [
            LawfulModifier("timeout(_:)") { $0.timeout(.seconds(10)) },
            LawfulModifier("timeout(_:)", "by phases") {
                $0.timeout(.seconds(9), head: .seconds(8), idle: .seconds(7))
            },
            LawfulModifier("deduplicated(methods:)") { $0.deduplicated() },
            LawfulModifier("deadline(_:)") { $0.deadline(.seconds(30)) },
            LawfulModifier("deadline(_:)", "without transfers") {
                $0.deadline(.seconds(30), exemptsTransfers: true)
            },
            LawfulModifier("standard(_:)") { $0.standard(.app) },
            LawfulModifier("standard(_:)", "server") { $0.standard(.server) },
            // A part that does not end at a limit runs in a task.
            LawfulModifier("hedged(_:)") { $0.hedged(.after(.seconds(3))) },
            LawfulModifier("hedged(_:)", "losers may finish") {
                $0.hedged(HedgingPolicy.after(.zero, extraLoad: 0).losersMayFinish(within: .seconds(1)))
            },
            LawfulModifier("whenOffline(_:)", "waiting") {
                $0.whenOffline(.wait(upTo: .seconds(30))).environment(\.connectivity, ReturningConnectivity())
            },
            LawfulModifier("drained(by:)") { $0.drained(by: StackShutdown()) },
            LawfulModifier("drained(by:)", "twice") {
                let shutdown = StackShutdown()
                return $0.drained(by: shutdown, counting: .background).drained(by: shutdown)
            },
            LawfulModifier("inspected(by:)") { $0.inspected(by: NetworkInspector()) },
            LawfulModifier("cassette(_:)") { recording($0) },
        ] + onTheCallersActor + mocks + crypto + telemetry

    /// The modifiers that run on the caller's actor, without a task of their own.
    static let onTheCallersActor: [LawfulModifier] =
        [
            // The immediate clock adds up the delays of concurrent callers, which must not reach another part's limit.
            LawfulModifier("delayed(by:)") { $0.delayed(by: .milliseconds(100)) },
            LawfulModifier("numbered()") { $0.numbered() },
            LawfulModifier("whenOffline(_:)") {
                $0.whenOffline(.fail).environment(\.connectivity, ManualConnectivity())
            },
            LawfulModifier("whenOffline(_:)", "cached") {
                $0.cached().whenOffline(.cached).environment(\.connectivity, ManualConnectivity())
            },
            LawfulModifier("retry(_:)") { $0.retry() },
            LawfulModifier("hedged(extraLoad:)") { $0.hedged() },
            LawfulModifier("fallback(to:)") { $0.fallback(to: Unavailable()) },
            LawfulModifier("fallback(when:)") { $0.fallback { _, _ in nil } },
            LawfulModifier("fallbackToStoredResponse(when:)") { $0.fallbackToStoredResponse() },
            LawfulModifier("fallbackToPost()") { $0.fallbackToPost() },
            LawfulModifier("retry(_:)", "statuses") { $0.retry(statuses: [503]) },
            LawfulModifier("intercepted(by:)") { $0.intercepted(by: Untouched()) },
            LawfulModifier("intercepted(by:)", "an array") { $0.intercepted(by: [Untouched()]) },
            LawfulModifier("throttled(max:)") { $0.throttled(max: 6) },
            LawfulModifier("throttled(maxPerHost:)") {
                $0.throttled(maxPerHost: 6, queue: 9, maximumWait: .seconds(9))
            },
            LawfulModifier("throttled(by:)") { $0.throttled(by: ConcurrencyLimiter(max: 6)) },
            LawfulModifier("rateLimited(to:)") { $0.rateLimited(to: 100, per: .seconds(1)) },
            LawfulModifier("rateLimited(by:)") { $0.rateLimited(by: RateLimiter(100, per: .seconds(1))) },
            LawfulModifier("circuitBreaker(_:)") { $0.circuitBreaker() },
            // The immediate clock adds up the delays of concurrent callers, so with a shorter threshold, each of them
            // is slow, and the breaker opens as it should.
            LawfulModifier("circuitBreaker(_:)", "with slow calls") {
                $0.circuitBreaker(.init(slowCalls: .init(after: .seconds(3_600))))
            },
            LawfulModifier("adaptiveThrottle(successRatio:)") { $0.adaptiveThrottle() },
            LawfulModifier("adaptiveThrottle(by:)") { $0.adaptiveThrottle(by: AdaptiveThrottle()) },
            LawfulModifier("circuitBreaker(by:)") { $0.circuitBreaker(by: CircuitBreaker(.server)) },
            LawfulModifier("adaptiveLimit(in:)") { $0.adaptiveLimit() },
            LawfulModifier("adaptiveLimit(by:)") { $0.adaptiveLimit(by: AdaptiveLimiter(start: 12)) },
            LawfulModifier("rateLimited(by:)", "the server") { $0.rateLimited(by: ServerRateLimiter()) },
            LawfulModifier("rateLimited(by:)", "adaptive") { $0.rateLimited(by: AdaptiveRateLimiter()) },
            LawfulModifier("cookies(in:)") { $0.cookies(in: CookieJar()) },
            LawfulModifier("cookies(in:)", "with a cookie") { upstream in
                let jar = CookieJar()
                for domain in authorities {
                    try? jar.set(Cookie(name: "a", value: "1", domain: domain, created: .distantPast))
                }
                return upstream.cookies(in: jar)
            },
            LawfulModifier("redirected(_:)") { $0.redirected() },
            LawfulModifier("checkedStatusCode(_:)") { $0.checkedStatusCode() },
            LawfulModifier("checkedStatusCode(as:)") { $0.checkedStatusCode(as: LawProblem.self) },
            LawfulModifier("checkedStatusCode(as:)", "transformed") {
                $0.checkedStatusCode(as: LawProblem.self) { problem, _ in problem }
            },
            LawfulModifier("checkedStatusCode(as:)", "problem details") {
                $0.checkedStatusCode(as: ProblemDetails.self)
            },
            LawfulModifier("deprecationsReported(to:)") { $0.deprecationsReported() },
            LawfulModifier("decoder(_:)") { $0.decoder(.json(keys: .convertFromSnakeCase)) },
            LawfulModifier("encoder(_:)") { $0.encoder(.json(keys: .convertToSnakeCase)) },
            LawfulModifier("compressedBodies(with:)") { $0.compressedBodies(minimumBytes: 0) { _ in true } },
            LawfulModifier("decompressedBodies(with:)") { $0.decompressedBodies(with: [ContentCoding("x-laws")]) },
            LawfulModifier("environment(_:)") { $0.environment(\.random, .seeded(1)) },
            LawfulModifier("logged(using:)") { $0.logged(using: LogRecorder().logger(.trace), detail: .body()) },
            LawfulModifier("logged(using:)", "silent") { $0.logged(using: .silent, detail: .off) },
            LawfulModifier("logged(to:)") { $0.logged(to: DiscardingDestination(), detail: .body()) },
            LawfulModifier("traced(sampling:)") { $0.traced() },
            LawfulModifier("recorded(by:)", except: [.retention: "the recorder keeps requests"]) {
                $0.recorded(by: RequestRecorder())
            },
            LawfulModifier("recorded(_:)") { $0.recorded(\.lawsValue, by: EnvironmentRecorder()) },
            LawfulModifier("faultInjected(by:)") {
                let faults: [Fault] = [.latency(.milliseconds(100)), .sliced(into: 5, every: .milliseconds(100))]
                return $0.faultInjected(by: FaultInjector(seed: 1, faults))
            },
            LawfulModifier("instrument(_:)") { $0.instrument() },
            LawfulModifier("observed(by:)", except: [.retention: "the listener of the test keeps requests"]) {
                $0.observed(by: EventRecorder())
            },
            LawfulModifier("observed(_:)") { $0.observed { _, _ in } },
            LawfulModifier("cached(in:)", "a cache") { $0.cached() },
            LawfulModifier("cached(in:)", "a store") { $0.cached(in: MemoryCacheStore()) },
            LawfulModifier("modified(_:)", "nil") { $0.modified(Unmodified?.none) },
            LawfulModifier("modified(_:)", "a closure") { upstream in
                upstream.modified("Passed on") { request, upstream in try await upstream.send(request) }
            },
            LawfulModifier("modified(_:)", "a component of an app") { Linked(upstream: $0) },
            LawfulModifier("modified(_:)", "a forwarding component") { Forwarding(upstream: $0) },
            LawfulModifier("modified(_:)", "a type eraser") { AnyNetworkingComponent($0.modified(Unmodified())) },
        ] + servers + authenticated

    private static let servers: [LawfulModifier] = [
        LawfulModifier("server(baseURL:)") { upstream in
            URL(string: "https://api.example.com/v1").map { AnyNetworkingComponent(upstream.server(baseURL: $0)) }
                ?? upstream
        },
        LawfulModifier("server(baseURL:)", "switchable") { upstream in
            URL(string: "https://api.example.com/v1")
                .map { AnyNetworkingComponent(upstream.server(baseURL: SwitchableServer($0))) } ?? upstream
        },
        LawfulModifier("server(scheme:)") { $0.server(scheme: "https") },
        LawfulModifier("server(authority:)") { $0.server(authority: "api.example.com", overriding: true) },
        LawfulModifier("server(endpoints:)") {
            $0.server(endpoints: ServerEndpoints("api.example.com", endpoints: ["a.example.com", "b.example.com"]))
        },
        LawfulModifier("server(endpoints:)", "for all requests") {
            $0.server(endpoints: ServerEndpoints("laws.example", groups: [["laws.example"], ["api.example.com"]]))
        },
        LawfulModifier("server(path:)") { $0.server(path: "index") },
        LawfulModifier("server(prefixPath:)") { $0.server(prefixPath: "v1") },
        LawfulModifier("server(headerFields:)") {
            $0.server(headerFields: [.authorization: "Bearer secret", "X-Client": "laws"])
        },
        LawfulModifier("server(headerField:)") { $0.server(headerField: .authorization, "Bearer secret") },
        LawfulModifier("server(customHeaderField:)") { $0.server(customHeaderField: "X-Custom", "value") },
        LawfulModifier("server(userAgent:)") { $0.server(userAgent: "Shop/2.1") },
        LawfulModifier("server(queryEncoding:)") { $0.server(queryEncoding: .form) },
        LawfulModifier("server(authenticationMethod:)") { $0.server(authenticationMethod: .bearer) },
        LawfulModifier("server(mutate:)") { $0.server(mutate: \.maximumResponseBytes) { $0 / 2 } },
        LawfulModifier("server(mutateRequest:)") { $0.server { $0.query.language = "en" } },
    ]

    private static let authorities = ["laws.example", "api.example.com"]

    private static let authenticated: [LawfulModifier] = [
        LawfulModifier("authenticated(with:)", "credentials") {
            $0.authenticated(with: Networking.Session(userID: "emily", accessToken: "token"), at: authorities)
        },
        LawfulModifier("authenticated(with:)", "credentials, when asked") {
            $0.authenticated(with: BearerCredentials(token: "token"), at: authorities, preemptive: false)
        },
        LawfulModifier("authenticated(with:)", "a store") {
            $0.authenticated(with: TokenStore(BearerCredentials(token: "token")), at: authorities)
        },
        LawfulModifier("authenticated(with:)", "a delegate") {
            $0.authenticated(with: SignedIn(), at: authorities)
        },
        LawfulModifier("authenticated(withBearer:)") {
            $0.authenticated(withBearer: { "token" }, at: authorities)
        },
    ]

    private static let mocks: [LawfulModifier] = [
        LawfulModifier("mocked(all:)", except: mocking) { $0.mocked(all: .ok()) },
        LawfulModifier("mocked(_:)", "a request") { $0.mocked(HTTPRequestData(path: "other"), with: .ok()) },
        LawfulModifier("mocked(_:)", "a matcher") { $0.mocked(.path("/other"), with: .ok()) },
        LawfulModifier("mocked(where:)") { $0.mocked(where: { _ in false }, with: .ok()) },
        LawfulModifier("mocked(by:)") { $0.mocked(by: { _ in nil }) },
        LawfulModifier("mocked(withUpstream:)") { $0.mocked(withUpstream: { try await $1.send($0) }) },
    ]

    private static let mocking = [Law.oneSend, .errors, .cancellation, .failedSinks, .concurrency]
        .reduce(into: [Law: String]()) { $0[$1] = "it sends nothing" }

    #if Crypto
    private static let crypto: [LawfulModifier] = [
        LawfulModifier("authenticated(oauth:)") {
            let system = OAuthSystem(
                server: OAuthServer(
                    tokenEndpoint: URL(string: "https://id.example/token")!
                ),
                clientID: "shop"
            )
            let session = Networking.Session(accessToken: "token", refreshToken: "refresh")
            return $0.authenticated(oauth: OAuthClient(system, session: session), at: authorities)
        },
        LawfulModifier("authenticated(oauth:)", "DPoP") {
            var system = OAuthSystem(
                server: OAuthServer(
                    tokenEndpoint: URL(string: "https://id.example/token")!
                ),
                clientID: "shop"
            )
            system.dpop = .required
            let session = Networking.Session(accessToken: "token", refreshToken: "refresh").bound(to: DPoPKey())
            return $0.authenticated(oauth: OAuthClient(system, session: session), at: authorities)
        },
        LawfulModifier("signed(with:)", "HMAC") {
            let signer = HMACSigner(
                keyID: "shop",
                key: SymmetricKey(size: .bits256),
                signing: [.timestamp(in: .lawsTimestamp), .body],
                into: .field(.lawsHMAC)
            )
            return $0.signed(with: signer, at: authorities)
        },
        LawfulModifier("signed(with:)", "Digest") {
            $0.signed(with: DigestSigner(user: "emily", password: "password"), at: authorities)
        },
        LawfulModifier("signed(with:)", "HTTP message signatures") {
            $0.signed(with: MessageSigner(SymmetricKey(size: .bits256), keyID: "shop"), at: authorities)
        },
        LawfulModifier("verifiedDigests(wanting:)") { $0.verifiedDigests() },
        LawfulModifier("verifiedSignatures(by:)") {
            let verifier = MessageVerifier(EchoKey(), keyID: nil, requiring: [.status])
            return $0.modified(SignedResponses()).verifiedSignatures(by: verifier)
        },
    ]
    #else
    private static let crypto: [LawfulModifier] = []
    #endif

    #if Telemetry
    private static let telemetry: [LawfulModifier] = [
        LawfulModifier("telemetry(tracer:)") { $0.telemetry(tracer: InMemoryTracer(), metrics: TestMetrics()) }
    ]
    #else
    private static let telemetry: [LawfulModifier] = []
    #endif

    /// Returns a stack that records on a new cassette, and discards the recording when the stack is released.
    private static func recording(_ upstream: AnyNetworkingComponent) -> AnyNetworkingComponent {
        let file = FileManager.default.temporaryDirectory.appending(path: "networking-laws-\(UUID()).har")
        do {
            let cassette = try Cassette(at: file, mode: .all)
            return AnyNetworkingComponent(upstream.cassette(cassette).modified(DiscardedRecording(cassette)))
        } catch {
            Issue.record(error)
            return upstream
        }
    }
}

// MARK: - Parts

private struct Untouched: RequestInterceptor {}

/// A server that cannot be reached.
private struct Unavailable: NetworkingTransport {
    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        throw NetworkingError(.connection, request: request)
    }
}

private struct Unmodified: NetworkingModifier {
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        try await upstream.send(request)
    }
}

/// A connectivity that is offline at first and online as soon as a request waits for it.
private struct ReturningConnectivity: Connectivity {
    var status: ConnectivityStatus? { .offline }

    var changes: AsyncStream<ConnectivityStatus> {
        AsyncStream { continuation in
            continuation.yield(.offline)
            continuation.yield(.wifi)
        }
    }
}

private struct DiscardingDestination: LogDestination {
    var logLevel: Logging.Logger.Level { .trace }

    func write(_ record: LogRecord) {}
}

private struct SignedIn: AuthenticationDelegate {
    func authorize(over network: any NetworkingComponent) async throws -> BearerCredentials {
        BearerCredentials(token: "token")
    }

    func refresh(
        _ credentials: BearerCredentials,
        after response: HTTPResponseData?,
        over network: any NetworkingComponent
    ) async throws -> BearerCredentials {
        credentials
    }
}

/// Discards a recording when the stack is released.
private struct DiscardedRecording: NetworkingModifier {
    private final class Owner: Sendable {
        let cassette: Cassette

        init(_ cassette: Cassette) {
            self.cassette = cassette
        }

        deinit {
            cassette.discard()
        }
    }

    private let owner: Owner

    init(_ cassette: Cassette) {
        owner = Owner(cassette)
    }

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        try await upstream.send(request)
    }
}

/// A component that names its upstream, and is not a modifier.
private struct Linked<Upstream: NetworkingComponent>: NetworkingComponent {
    let upstream: Upstream

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await upstream.send(request)
    }
}

private struct Forwarding: ForwardingComponent {
    let upstream: any NetworkingComponent
}

private enum LawsValueKey: NetworkEnvironmentKey {
    static let defaultValue = "value"
}

extension NetworkEnvironment {
    fileprivate var lawsValue: String {
        self[LawsValueKey.self]
    }
}

#if Crypto
/// A key that expects a copy of the signed bytes as their signature.
private struct EchoKey: MessageVerifyingKey {
    var signatureAlgorithm: String? { nil }

    func isMessageSignature(_ signature: Data, of base: Data) -> Bool {
        signature == base
    }
}

/// Signs the status of each response, as a server would.
private struct SignedResponses: NetworkingModifier {
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        var response = try await upstream.send(request)
        let created = Int(NetworkEnvironment.current.clock.date.timeIntervalSince1970)
        let parameters = "(\"@status\");created=\(created)"
        let base = "\"@status\": \(response.status.code)\n\"@signature-params\": \(parameters)"
        response.headerFields[.lawsSignatureInput] = "sig1=\(parameters)"
        response.headerFields[.lawsSignature] = "sig1=:\(Data(base.utf8).base64EncodedString()):"
        return response
    }
}

extension HTTPField.Name {
    fileprivate static let lawsHMAC = HTTPField.Name("X-Signature")!
    fileprivate static let lawsSignature = HTTPField.Name("Signature")!
    fileprivate static let lawsSignatureInput = HTTPField.Name("Signature-Input")!
    fileprivate static let lawsTimestamp = HTTPField.Name("X-Timestamp")!
}
#endif

/// The server's description of a problem.
private struct LawProblem: Error, Decodable {
    let message: String
}
