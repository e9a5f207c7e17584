package import NetworkingCore
import Synchronization

/// A limit on the share of requests to a server that may be retries, so that a failing server is not flooded with them.
///
/// Each server has its own account, identified by the authority of the requests. Upper and lower case are the same
/// authority, and so is the default port of the scheme. When an account is empty, the failure is reported at once, and
/// no request waits for the account. Share one budget between stacks to share the limit.
///
/// ```swift
/// let budget = RetryBudget(.ratio(0.1))
/// let reads = URLSession.shared.retry(budget: budget)
/// let writes = URLSession.shared.retry(.constant(.seconds(1)), budget: budget)
/// ```
public final class RetryBudget: Sendable {
    /// The rule that decides how many retries an account allows.
    public enum Model: Sendable, Hashable {
        /// A share of the calls in a sliding window, plus a reserve for times with few calls.
        ///
        /// By default 20 % of the calls of the last 10 s, plus 100.
        case ratio(Double = 0.2, reserve: Int = 100, over: Duration = .seconds(10))
        /// Retries stop when there are too many failures (gRPC's retry throttling).
        ///
        /// Each failure costs one token, and each success returns `ratio` of a token. A retry needs more than half of
        /// the tokens.
        case throttle(tokens: Int = 10, ratio: Double = 0.1)
    }

    private let model: Model?
    private let accounts = Mutex(Accounts())

    /// Creates a budget.
    ///
    /// - Parameter model: The rule that decides how many retries an account allows.
    /// - Precondition: Ratios and counts are not negative; the share of the calls is at most 1; `tokens` and the window
    ///   are greater than zero.
    public init(_ model: Model = .ratio()) {
        model.check()
        self.model = model
    }

    private init() {
        model = nil
    }

    /// No limit.
    public static let unlimited = RetryBudget()

    /// Counts the start of a call.
    func begin(_ server: AuthorityKey?, at now: Duration) {
        guard let model else { return }
        accounts.withLock { $0.withAccount(of: server, model, at: now) { $0.begin() } }
    }

    /// Removes the start of a call that was not sent, because a limit of the stack refused it.
    ///
    /// Otherwise the calls that an open circuit refuses would allow retries for the moment at which it closes.
    ///
    /// - Parameters:
    ///   - server: The server.
    ///   - start: The moment of the start.
    ///   - now: The current moment.
    func cancelBegin(_ server: AuthorityKey?, startedAt start: Duration, at now: Duration) {
        guard let model else { return }
        accounts.withLock { $0.withAccount(of: server, model, at: now) { $0.cancelBegin(startedAt: start) } }
    }

    /// Counts a transient failure, whether it is retried or not.
    package func note(_ server: AuthorityKey?, at now: Duration) {
        guard let model, case .throttle = model else { return }
        accounts.withLock { $0.withAccount(of: server, model, at: now) { $0.note() } }
    }

    /// Takes a retry from the account.
    ///
    /// - Returns: A permit, to be refunded if the retry is not made; `nil` if the account does not allow the retry.
    package func withdraw(_ server: AuthorityKey?, at now: Duration) -> Permit? {
        guard let model else { return Permit(bucket: 0, account: 0) }
        return accounts.withLock { $0.withAccount(of: server, model, at: now) { $0.withdraw() } }
    }

    /// Refunds the permit of a retry that is not made.
    package func refund(_ permit: Permit, _ server: AuthorityKey?, at now: Duration) {
        guard let model else { return }
        accounts.withLock { $0.withAccount(of: server, model, at: now) { $0.refund(permit) } }
    }

    /// The retry that was taken from an account.
    package struct Permit {
        /// The tenth of the window in which it was taken.
        fileprivate let bucket: Int64
        /// The number of the account; the server may have a newer account since.
        fileprivate let account: UInt64
    }

    /// Whether the model depends on how a call ends.
    var countsEnds: Bool {
        if case .throttle = model { true } else { false }
    }

    /// Counts the end of a call that was successful.
    func endSuccessfully(_ server: AuthorityKey?, at now: Duration) {
        guard let model else { return }
        accounts.withLock { $0.withAccount(of: server, model, at: now) { $0.endSuccessfully() } }
    }

    private struct Accounts {
        /// The maximum number of accounts, more than a client is likely to use; the least recently used are removed
        /// first.
        private static let limit = 1_000

        private var accounts: [AuthorityKey?: Account] = [:]
        private var lastNumber: UInt64 = 0

        mutating func withAccount<Result>(
            of server: AuthorityKey?,
            _ model: Model,
            at now: Duration,
            _ body: (inout Account) -> Result
        ) -> Result {
            let index = accounts.index(forKey: server) ?? addAccount(of: server, model, at: now)
            return accounts.values[index].use(at: now, body)
        }

        private mutating func addAccount(
            of server: AuthorityKey?,
            _ model: Model,
            at now: Duration
        ) -> Dictionary<AuthorityKey?, Account>.Index {
            if accounts.count >= Self.limit {
                // A tenth is removed at a time, so that the search for them is cheap on average.
                let oldest = accounts.sorted { $0.value.lastUse < $1.value.lastUse }.prefix(Self.limit / 10)
                for (server, _) in oldest {
                    accounts[server] = nil
                }
            }
            lastNumber += 1
            accounts[server] = Account(model, number: lastNumber, at: now)
            return accounts.index(forKey: server)!
        }
    }

    private struct Account {
        private let model: Model
        private let number: UInt64
        private let creation: Duration
        private(set) var lastUse: Duration

        /// The tokens or the reserve, depending on the model.
        private var balance: Double
        /// The deposits minus the withdrawals in each tenth of the window.
        private var buckets: [Double]
        private var bucket: Int64 = 0
        /// The moment until which ``bucket`` is the current one.
        private var bucketEnd = Duration.zero

        init(_ model: Model, number: UInt64, at now: Duration) {
            self.model = model
            self.number = number
            creation = now
            lastUse = now
            buckets = []
            switch model {
            case .ratio(_, let reserve, _):
                balance = Double(reserve)
                buckets = Array(repeating: 0, count: 10)
            case .throttle(let tokens, _): balance = Double(tokens)
            }
        }

        mutating func use<Result>(at now: Duration, _ body: (inout Account) -> Result) -> Result {
            lastUse = now
            if case .ratio(_, _, let window) = model {
                expire(at: now, window)
            }
            return body(&self)
        }

        /// Removes the entries that are older than the window.
        private mutating func expire(at now: Duration, _ window: Duration) {
            // Most calls come in the same tenth, and converting durations takes longer than the rest of this type.
            guard now >= bucketEnd else { return }
            let (current, position) = Self.bucket(at: now, window)
            bucketEnd = now + window / 10 * max(0, Double(current) + 1 - position)
            guard current > bucket else { return }
            for step in 0..<min(10, current - bucket) {
                buckets[Int((current - step) % 10)] = 0
            }
            bucket = current
        }

        /// Returns the tenth of the window at a moment, with the part of it that has passed.
        private static func bucket(at moment: Duration, _ window: Duration) -> (bucket: Int64, position: Double) {
            let position = moment / window * 10
            return (Int64(max(0, min(position, 1e18))), position)
        }

        private var currentBucket: Int {
            Int(bucket % 10)
        }

        mutating func begin() {
            if case .ratio(let part, _, _) = model {
                buckets[currentBucket] += part
            }
        }

        mutating func cancelBegin(startedAt start: Duration) {
            guard case .ratio(let part, _, let window) = model, start >= creation else { return }
            // A deposit from before the window is no longer counted.
            let (former, _) = Self.bucket(at: start, window)
            guard former > bucket - 10, former <= bucket else { return }
            buckets[Int(former % 10)] -= part
        }

        /// Counts a transient failure, whether it is retried or not.
        mutating func note() {
            if case .throttle = model {
                balance = max(0, balance - 1)
            }
        }

        mutating func withdraw() -> Permit? {
            switch model {
            case .ratio:
                // Floating-point sums are inexact, and 5 × 0.2 must allow one retry.
                guard balance + buckets.reduce(0, +) + 1e-9 >= 1 else { return nil }
                buckets[currentBucket] -= 1
            case .throttle(let tokens, _):
                guard balance > Double(tokens) / 2 else { return nil }
            }
            return Permit(bucket: bucket, account: number)
        }

        mutating func refund(_ permit: Permit) {
            // A permit from before the window is no longer counted. The throttle counts failures, which stay failures.
            guard case .ratio = model, permit.account == number, permit.bucket > bucket - 10 else { return }
            buckets[Int(permit.bucket % 10)] += 1
        }

        mutating func endSuccessfully() {
            if case .throttle(let tokens, let part) = model {
                balance = min(Double(tokens), balance + part)
            }
        }
    }
}

extension RetryBudget: CustomStringConvertible {
    /// The model, for the stack's outline.
    public var description: String {
        switch model {
        case nil: "unlimited"
        case .ratio(let part, let reserve, let window): "\(part) of the calls of \(window), and \(reserve)"
        case .throttle(let tokens, let part): "\(tokens) tokens, \(part) per success"
        }
    }
}

extension RetryBudget.Model {
    fileprivate func check() {
        switch self {
        case .ratio(let part, let reserve, let window):
            precondition((0...1).contains(part), "the ratio must be 0 to 1 (is \(part))")
            precondition(reserve >= 0, "reserve must not be negative (is \(reserve))")
            precondition(window > .zero, "the window must be greater than zero (is \(window))")
        case .throttle(let tokens, let part):
            precondition(tokens > 0, "tokens must be greater than zero (is \(tokens))")
            precondition(part >= 0 && part.isFinite, "the ratio must not be negative (is \(part))")
        }
    }
}
