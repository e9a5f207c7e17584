import NetworkingCore
import NetworkingResilience

/// The numbers of a preset: those of ``StandardStack/app`` or ``StandardStack/server``, or of a configuration.
struct StandardNumbers: Sendable, Hashable {
    /// The limit on concurrent requests.
    enum Concurrency: Sendable, Hashable {
        case perHost(Int)
        case adaptive(minimum: Int, start: Int, maximum: Int)
    }

    var connect = Duration.seconds(10)
    var head = Duration.seconds(10)
    var idle = Duration.seconds(20)
    var concurrency = Concurrency.perHost(6)
    var rateLimitWait = Duration.seconds(60)
    var breaker = CircuitBreaker.Policy.app
    var maximumRetries = 3
    var firstDelay = Duration.milliseconds(200)
    var maximumDelay = Duration.seconds(20)
    var retryRatio = 0.2
    var retryReserve = 100
    var retryWindow = Duration.seconds(10)
    var deadline = Duration.seconds(30)

    static let app = StandardNumbers()

    static let server = StandardNumbers(
        connect: .seconds(2),
        idle: .seconds(10),
        concurrency: .adaptive(minimum: 1, start: 6, maximum: 200),
        breaker: .server,
        maximumRetries: 2,
        deadline: .seconds(10)
    )

    /// The time limit of an attempt, which `standard(_:)` compares with the deadline and the window of the breaker.
    var attempt: Duration {
        max(connect, head)
    }

    /// The layers of the preset.
    var layers: [StandardStack.Part: StandardStack.Layer] {
        [
            .timeout: { $0.timeout(connect: connect, head: head, idle: idle, exemptsStreams: true) },
            .concurrencyLimit: {
                switch concurrency {
                case .perHost(let maximum): $0.throttled(maxPerHost: maximum)
                case .adaptive(let minimum, let start, let maximum):
                    $0.adaptiveLimit(in: minimum...maximum, start: start)
                }
            },
            .rateLimit: { $0.rateLimited(by: ServerRateLimiter(), maximumWait: rateLimitWait) },
            .circuitBreaker: { $0.circuitBreaker(breaker) },
            .retry: {
                $0.retry(
                    .exponential(base: firstDelay, cap: maximumDelay, maximumRetries: maximumRetries),
                    budget: RetryBudget(.ratio(retryRatio, reserve: retryReserve, over: retryWindow))
                )
            },
            .deduplication: { $0.deduplicated() },
            .deadline: { $0.deadline(deadline, exemptsTransfers: true) },
        ]
    }
}
