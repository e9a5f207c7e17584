import Foundation
import HTTPTypes
import Logging
import Networking
import NetworkingInspector
import NetworkingSigning
import NetworkingTesting
import Synchronization

@testable import NetworkingResilience
@testable import NetworkingTraffic

#if Crypto
import Crypto
#endif

/// The modifiers of random stacks, in the recommended order, innermost first.
enum LayerKind: String, CaseIterable {
    case timeout, phases
    case signed
    case endpoints
    case authenticated
    case cookies
    case throttled, throttledPerHost, adaptiveLimit
    case rateLimited, rateLimitedByUser, serverRateLimited, adaptiveRateLimited
    case circuitBreaker, adaptiveThrottle
    case redirected
    case hedged, patientHedged
    case retry, intercepted
    case fallbackToPost
    case deduplicated
    case cached
    case fallback, fallbackToStoredResponse
    case checkedStatusCode
    case standard
    case deadline
    case drained
    case whenOffline
    case server
    case logged, inspected
    case traced, numbered, delayed
    case listed

    /// The share of stacks that have the modifier.
    var probability: Double {
        switch self {
        case .authenticated: 0.9
        case .cached, .deduplicated, .retry, .throttled, .cookies, .listed: 0.35
        case .timeout, .hedged, .circuitBreaker, .redirected, .deadline: 0.25
        case .standard, .traced, .numbered, .delayed, .checkedStatusCode: 0.05
        default: 0.12
        }
    }

    /// Whether the modifier may send a request of a call after the call has ended.
    var mayOutliveCaller: Bool {
        switch self {
        case .cached, .deduplicated, .patientHedged, .standard: true
        default: false
        }
    }

    /// Whether a call receives the events of an exchange only while it waits for it.
    var sharesExchanges: Bool {
        switch self {
        case .deduplicated, .standard: true
        default: false
        }
    }

    /// Creates the modifier with random settings, for the stacks of all apps.
    ///
    /// - Parameters:
    ///   - draws: The random numbers for the settings.
    ///   - run: The run, which receives the checks of the modifier's state.
    /// - Returns: A function that adds the modifier to the stack of an app.
    func modifier(
        _ draws: Draws,
        in run: StackRun
    ) -> (AnyNetworkingComponent, SimulatedApp) -> any NetworkingComponent {
        switch self {
        case .timeout:
            let limit = draws.milliseconds(20...3_000)
            return { stack, _ in stack.timeout(limit) }
        case .phases:
            let (head, idle) = (draws.milliseconds(20...3_000), draws.milliseconds(20...1_000))
            return { stack, _ in stack.timeout(head: head, idle: idle) }
        case .signed: return signed()
        case .endpoints:
            let endpoints = ServerEndpoints(SimulatedBackend.authority, endpoints: ["a.example", "b.example"])
            run.expectAtEnd("endpoints in flight") { endpoints.statuses.reduce(0) { $0 + $1.inFlight } }
            return { stack, _ in stack.server(endpoints: endpoints) }
        case .authenticated:
            let isPreemptive = draws.chance(0.85)
            let trusted = Array(SimulatedBackend.trusted).sorted()
            return { stack, app in stack.authenticated(with: app.store, at: trusted, preemptive: isPreemptive) }
        case .cookies:
            let jar = CookieJar()
            run.expectNoSecrets { "\(jar)" }
            return { stack, _ in stack.cookies(in: jar) }
        case .throttled, .throttledPerHost, .adaptiveLimit, .rateLimited, .rateLimitedByUser, .serverRateLimited,
            .adaptiveRateLimited:
            return limiter(draws, in: run)
        case .circuitBreaker, .adaptiveThrottle: return breaker(draws, in: run)
        case .hedged, .patientHedged, .retry, .intercepted: return sender(draws, in: run)
        case .redirected: return { stack, _ in stack.redirected() }
        case .fallbackToPost: return { stack, _ in stack.fallbackToPost() }
        case .deduplicated, .cached: return sharing(draws, in: run)
        case .fallback:
            return { stack, _ in
                stack.fallback { request, _ in
                    HTTPResponseData(request: request, data: Data("user=\(SimulatedBackend.everybody);".utf8))
                }
            }
        case .fallbackToStoredResponse: return { stack, _ in stack.fallbackToStoredResponse() }
        case .whenOffline:
            let policy = draws.pick([OfflinePolicy.fail, .cached, .wait(upTo: draws.milliseconds(10...5_000)), .wait()])
            return { stack, _ in stack.whenOffline(policy) }
        case .checkedStatusCode: return { stack, _ in stack.checkedStatusCode() }
        case .standard:
            let standard: StandardStack = draws.chance(0.5) ? .app : .server
            return { stack, _ in stack.standard(standard) }
        case .deadline:
            let limit = draws.milliseconds(50...6_000)
            return { stack, _ in stack.deadline(limit) }
        case .drained:
            let shutdown = StackShutdown()
            run.expectAtEnd("calls of a shutdown") { shutdown.inFlight }
            return { stack, _ in stack.drained(by: shutdown) }
        case .server: return { stack, _ in stack.server(authority: SimulatedBackend.authority) }
        case .logged: return { stack, _ in stack.logged(using: run.log.logger(.trace), detail: .body()) }
        case .inspected:
            let inspector = NetworkInspector()
            if run.hasDumps {
                run.expectNoSecrets {
                    (try? inspector.archive.encoded()).map { String(decoding: $0, as: UTF8.self) } ?? ""
                }
            }
            return { stack, _ in stack.inspected(by: inspector) }
        case .listed:
            let modifier = draws.pick(Self.listedModifiers)
            return { stack, _ in modifier.wrap(stack) }
        case .traced: return { stack, _ in stack.traced() }
        case .numbered: return { stack, _ in stack.numbered() }
        case .delayed:
            let delay = draws.milliseconds(1...200)
            return { stack, _ in stack.delayed(by: delay) }
        }
    }

    private func limiter(
        _ draws: Draws,
        in run: StackRun
    ) -> (AnyNetworkingComponent, SimulatedApp) -> any NetworkingComponent {
        let wait = draws.chance(0.4) ? draws.milliseconds(10...2_000) : nil
        // The second request of a call waits for the rate, after a challenge or a refusal.
        let waitForRate = wait.map { max($0, .milliseconds(400)) }
        let (queue, count) = (draws.chance(0.3) ? draws.int(0...3) : .max, draws.int(1...3))
        switch self {
        case .throttled, .throttledPerHost:
            let isPerHost = self == .throttledPerHost
            let limiter =
                isPerHost
                ? ConcurrencyLimiter(maxPerHost: count, queue: queue) : ConcurrencyLimiter(max: count, queue: queue)
            run.expectAtEnd("permits of a throttle") { limiter.inFlight + limiter.waiting }
            let meter = isPerHost ? nil : ConcurrencyMeter(maximum: count, run: run)
            return { stack, _ in stack.modified(meter).throttled(by: limiter, maximumWait: wait) }
        case .adaptiveLimit:
            let limiter = AdaptiveLimiter(in: 1...max(1, count * 2), start: count)
            run.expectAtEnd("permits of an adaptive limit") { limiter.inFlight + limiter.waiting }
            return { stack, _ in stack.adaptiveLimit(by: limiter, maximumWait: wait) }
        case .rateLimited, .rateLimitedByUser:
            let key: RateLimiter.Key = self == .rateLimitedByUser ? .principal : .everything
            let limiter = RateLimiter(count * 3, per: .seconds(1), burst: draws.int(1...4), key: key)
            run.expectAtEnd("waits for a rate") { limiter.waiting }
            return { stack, _ in stack.rateLimited(by: limiter, maximumWait: waitForRate) }
        case .serverRateLimited:
            let limiter = ServerRateLimiter(key: draws.chance(0.5) ? .principal : .everything)
            run.expectAtEnd("waits for the server's limits") { limiter.waiting }
            return { stack, _ in stack.rateLimited(by: limiter, maximumWait: wait) }
        default:
            let limiter = AdaptiveRateLimiter()
            run.expectAtEnd("waits for an adaptive rate") { limiter.waiting }
            // At the lowest rate, a call of two requests waits two seconds for the second one.
            let longWait = wait.map { max($0, .milliseconds(2_100)) }
            return { stack, _ in stack.rateLimited(by: limiter, maximumWait: longWait) }
        }
    }

    private func breaker(
        _ draws: Draws,
        in run: StackRun
    ) -> (AnyNetworkingComponent, SimulatedApp) -> any NetworkingComponent {
        guard self == .circuitBreaker else {
            let throttle = AdaptiveThrottle(window: draws.milliseconds(1_000...60_000))
            return { stack, _ in stack.adaptiveThrottle(by: throttle) }
        }
        let breaker = CircuitBreaker(
            .init(
                failureRatio: draws.pick([0.2, 0.5, 1]),
                minimumCalls: draws.int(1...5),
                connectionFailures: draws.chance(0.5) ? draws.int(1...3) : nil,
                slowCalls: draws.chance(0.3) ? .init(after: draws.milliseconds(50...1_000)) : nil,
                firstBreak: draws.milliseconds(50...2_000),
                maximumBreak: .seconds(5),
                probes: draws.int(1...2),
                closesAfter: draws.int(1...2)
            )
        )
        run.expectAtEnd("probes and timed calls of a breaker") {
            breaker.circuits.withTable { table, _ in table.callsInFlight }
        }
        return { stack, _ in stack.circuitBreaker(by: breaker) }
    }

    private func sender(
        _ draws: Draws,
        in run: StackRun
    ) -> (AnyNetworkingComponent, SimulatedApp) -> any NetworkingComponent {
        let window = draws.chance(0.7) ? BudgetLedger.endless : .seconds(10)
        let model: RetryBudget.Model =
            draws.chance(0.5)
            ? .ratio(0.2, reserve: draws.int(0...5), over: window) : .throttle(tokens: draws.int(2...10), ratio: 0.5)
        let ledger = draws.chance(0.3) ? nil : BudgetLedger(model)
        if let ledger { run.check(ledger) }
        let budget = ledger?.budget ?? .unlimited
        var policy: RetryPolicy =
            draws.chance(0.3)
            ? .immediate(maximumRetries: draws.int(1...3))
            : .exponential(base: draws.milliseconds(1...300), maximumRetries: draws.int(1...3))
        policy.addsIdempotencyKeys = draws.chance(0.5)
        policy.throwsOnExhaustion = draws.chance(0.3)
        switch self {
        case .hedged, .patientHedged:
            var hedging = HedgingPolicy.after(draws.milliseconds(0...500), extraLoad: 1)
            hedging.maximumHedges = draws.int(1...2)
            if self == .patientHedged { hedging = hedging.losersMayFinish(within: draws.milliseconds(10...2_000)) }
            let hasOwnBudget = draws.chance(0.5)
            return { [hedging] stack, _ in
                let hedged = stack.modified(BudgetExit(isRetry: false))
                    .hedged(hedging, budget: hasOwnBudget ? budget : nil)
                for losers in hedged.modifiers.prefix(1).compactMap({ ($0 as? Hedged)?.losers }) {
                    run.expectAtEnd("hedges that have lost and not ended") { losers.count }
                }
                return hedged.modified(
                    BudgetEntrance(part: hasOwnBudget ? .hedged : .hedgedWithinRetry(run), ledger: ledger)
                )
            }
        case .intercepted:
            return { [policy] stack, _ in
                stack.modified(BudgetExit(isRetry: true))
                    .intercepted(by: [PlainInterceptor()], policy: policy, budget: budget)
                    .modified(BudgetEntrance(part: .retry, ledger: ledger))
            }
        default:
            return { [policy] stack, _ in
                stack.modified(BudgetExit(isRetry: true))
                    .retry(policy, budget: budget)
                    .modified(BudgetEntrance(part: .retry, ledger: ledger))
            }
        }
    }

    private func sharing(
        _ draws: Draws,
        in run: StackRun
    ) -> (AnyNetworkingComponent, SimulatedApp) -> any NetworkingComponent {
        if self == .deduplicated {
            let (retries, inFlight) = (draws.chance(0.3), InFlightRequests())
            run.expectAtEnd("shared exchanges") { inFlight.count }
            return { stack, _ in stack.deduplicated(waitersRetryOnFailure: retries, sharing: inFlight) }
        }
        let store = MemoryCacheStore(countLimit: draws.pick([3, 100]))
        let cache = ResponseCache(in: store, isShared: draws.chance(0.2))
        run.expectNoSecrets { "\(cache) \(store)" }
        return { stack, _ in stack.cached(in: cache) }
    }

    private func signed() -> (AnyNetworkingComponent, SimulatedApp) -> any NetworkingComponent {
        #if Crypto
        let signer = HMACSigner(
            keyID: "simulation",
            key: SymmetricKey(data: Array("\(SimulatedBackend.secret)-0123456789".utf8)),
            signing: [.method, .target, .body],
            into: .field(HTTPField.Name("X-Signature")!)
        )
        return { stack, _ in stack.signed(with: signer, at: Array(SimulatedBackend.trusted)) }
        #else
        return { stack, _ in stack }
        #endif
    }
}

extension LayerKind {
    /// The modifiers that ``listed`` adds: those of the list of all modifiers that need no settings of the run.
    static let listedModifiers = LawfulModifier.all.filter { modifier in
        let name = String(modifier.function.prefix { $0 != "(" })
        return modifier.exceptions.isEmpty && LayerKind(rawValue: name) == nil && unsuitable[modifier.function] == nil
    }

    /// The modifiers that are in no random stack, with the reasons.
    static let unsuitable: [String: String] = [
        "authenticated(oauth:)": "its users are those of another server",
        "authenticated(withBearer:)": "its user is in no session",
        "cassette(_:)": "it waits for files, which no clock controls",
        "mocked(all:)": "it sends nothing",
        "recorded(by:)": "it retains requests",
        "server(authenticationMethod:)": "it selects credentials that no user has",
        "server(baseURL:)": "it sends all requests to another server",
        "server(headerField:)": "its credentials belong to no user",
        "server(headerFields:)": "its credentials belong to no user",
        "server(path:)": "it changes the paths that responses are compared with",
        "server(prefixPath:)": "it changes the paths that responses are compared with",
    ]
}

private struct PlainInterceptor: RequestInterceptor {}

/// Checks the number of concurrent requests behind a limiter.
///
/// It waits only for its upstream. A cancelled attempt of `hedged` would leave any other modifier, and give its permit
/// back, before the exchange behind it has ended.
final class ConcurrencyMeter: UpstreamLimited {
    private let maximum: Int
    private let run: StackRun
    private let inFlight = Mutex(0)

    init(maximum: Int, run: StackRun) {
        self.maximum = maximum
        self.run = run
    }

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        // A stream gives its permit back when the head arrives.
        let isStream = request.simulatedCall?.isStream == true
        guard request.isThrottled, NetworkEnvironment.current.isThrottled, !isStream else {
            return try await upstream.send(request)
        }
        let count = inFlight.withLock { count in
            count += 1
            return count
        }
        run.trace("call \(request.simulatedCall?.number ?? -1): takes permit \(count) of \(maximum)")
        defer {
            inFlight.withLock { $0 -= 1 }
            run.trace("call \(request.simulatedCall?.number ?? -1): gives its permit back")
        }
        if count > maximum { run.report(Violation(.permits, "\(count) requests hold \(maximum) permits.")) }
        return try await upstream.send(request)
    }
}
