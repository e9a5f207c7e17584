import NetworkingCore
import Synchronization

/// How much of what goes to a server may be retries, so that a server that fails is not buried under them.
///
/// Each server has an account of its own, by the authority of the requests. Where an account is empty, the failure at
/// hand is given out at once; nothing waits for it. Hand one budget to several stacks to have them share it.
///
/// ```swift
/// let budget = RetryBudget(.ratio(0.1))
/// let reads = URLSession.shared.retry(budget: budget)
/// let writes = URLSession.shared.retry(.constant(.seconds(1)), budget: budget)
/// ```
public final class RetryBudget: Sendable {
    /// How an account is kept.
    public enum Model: Sendable, Hashable {
        /// A part of the calls of a while, and a reserve for when there are few.
        ///
        /// By default 20 % of the calls of the last 10 s, and 100 besides.
        case ratio(Double = 0.2, reserve: Int = 100, over: Duration = .seconds(10))
        /// As long as there are not too many failures: one takes 1 from the tokens, a success gives a part back, and
        /// more than half of them have to be there (gRPC's retry throttling).
        case throttle(tokens: Int = 10, ratio: Double = 0.1)
        /// A part of the calls under way, and a few at any time (Envoy's).
        case concurrency(Double = 0.2, floor: Int = 3)
        /// A stock from which each retry takes, more for one after a timeout; a success gives back what the last retry
        /// took, or 1 (the AWS clients').
        case quota(stock: Int = 500, cost: Int = 5, timeoutCost: Int = 10)
    }

    private let model: Model?
    private let accounts = Mutex(Accounts())

    /// Creates a budget.
    ///
    /// - Parameter model: How its accounts are kept.
    /// - Precondition: Parts are not negative, at most 1 for the models that take part of the calls, and counts are not
    ///   negative; the while is greater than zero.
    public init(_ model: Model = .ratio()) {
        model.check()
        self.model = model
    }

    private init() {
        model = nil
    }

    /// No limit.
    public static let unlimited = RetryBudget()

    /// Counts a call that begins.
    func begin(_ authority: String?, at now: Duration) {
        guard let model else { return }
        accounts.withLock { $0.withAccount(of: authority, model, at: now) { $0.begin() } }
    }

    /// Counts a failure that may pass, whether it is tried again or not.
    func note(_ authority: String?, at now: Duration) {
        guard let model, case .throttle = model else { return }
        accounts.withLock { $0.withAccount(of: authority, model, at: now) { $0.note() } }
    }

    /// Takes from the account what a retry costs.
    ///
    /// - Returns: What was taken, to be given back if the retry is not made; `nil` if there was not enough.
    func withdraw(_ authority: String?, after failure: Failure, isFirst: Bool = true, at now: Duration) -> Permit? {
        guard let model else { return Permit(isFirst: isFirst, cost: 0, slot: 0, account: 0) }
        return accounts.withLock { accounts in
            accounts.withAccount(of: authority, model, at: now) { $0.withdraw(after: failure, isFirst: isFirst) }
        }
    }

    /// Gives back what was taken for a retry that is not made.
    func refund(_ permit: Permit, _ authority: String?, at now: Duration) {
        guard let model else { return }
        accounts.withLock { $0.withAccount(of: authority, model, at: now) { $0.refund(permit) } }
    }

    /// What a retry took from an account.
    struct Permit {
        fileprivate let isFirst: Bool
        fileprivate let cost: Double
        /// The tenth of the interval in which it was taken.
        fileprivate let slot: Int64
        /// The number of the account: another may be kept for the authority since.
        fileprivate let account: UInt64
    }

    /// Whether it matters how a call ends.
    var countsEnds: Bool {
        switch model {
        case nil, .ratio: false
        case .throttle, .concurrency, .quota: true
        }
    }

    /// Counts a call that ends.
    func end(_ authority: String?, _ outcome: Outcome, at now: Duration) {
        guard let model else { return }
        accounts.withLock { $0.withAccount(of: authority, model, at: now) { $0.end(outcome) } }
    }

    enum Failure {
        case timeout
        case other
    }

    /// How a call ended, and what its last retry had cost.
    struct Outcome {
        var isSuccess: Bool
        var retries: Int
        var lastFailure: Failure?
    }

    private struct Accounts {
        /// More servers than a client talks to; those that were not used for longest make room.
        private static let limit = 1_000

        /// How many accounts there are when room is made next.
        private var fullCount = Self.limit

        private var accounts: [String: Account] = [:]
        private var lastNumber: UInt64 = 0

        mutating func withAccount<Result>(
            of authority: String?,
            _ model: Model,
            at now: Duration,
            _ body: (inout Account) -> Result
        ) -> Result {
            let authority = authority ?? ""
            if accounts[authority] == nil, accounts.count >= fullCount {
                // A tenth at a time, so that looking for them costs little for each. The end of a call that is under
                // way must find the account in which it began.
                let oldest = accounts.filter { !$0.value.isInUse }
                    .sorted { $0.value.lastUse < $1.value.lastUse }
                    .prefix(Self.limit / 10)
                for (authority, _) in oldest {
                    accounts[authority] = nil
                }
                fullCount = max(Self.limit, accounts.count + Self.limit / 10)
            }
            if accounts[authority] == nil {
                lastNumber += 1
            }
            return accounts[authority, default: Account(model, number: lastNumber, at: now)].use(at: now, body)
        }
    }

    private struct Account {
        private let model: Model
        private let number: UInt64
        private(set) var lastUse: Duration

        /// Tokens, stock, or nothing, as the model has it.
        private var balance: Double
        /// What was deposited and withdrawn in each tenth of the while.
        private var slots: [Double]
        private var slot: Int64 = 0
        private var active = 0
        private var activeRetries = 0

        init(_ model: Model, number: UInt64, at now: Duration) {
            self.model = model
            self.number = number
            lastUse = now
            slots = []
            switch model {
            case .ratio(_, let reserve, _):
                balance = Double(reserve)
                slots = Array(repeating: 0, count: 10)
            case .throttle(let tokens, _): balance = Double(tokens)
            case .concurrency: balance = 0
            case .quota(let stock, _, _): balance = Double(stock)
            }
        }

        /// Whether calls are under way whose end will be counted.
        var isInUse: Bool {
            if case .ratio = model { return false }
            return active > 0
        }

        mutating func use<Result>(at now: Duration, _ body: (inout Account) -> Result) -> Result {
            lastUse = now
            if case .ratio(_, _, let window) = model {
                expire(at: now, window)
            }
            return body(&self)
        }

        /// Forgets what is older than the while.
        private mutating func expire(at now: Duration, _ window: Duration) {
            let current = Int64(max(0, min(now.inSeconds / window.inSeconds * 10, 1e18)))
            guard current > slot else { return }
            for step in 0..<min(10, current - slot) {
                slots[Int((current - step) % 10)] = 0
            }
            slot = current
        }

        private var currentSlot: Int {
            Int(slot % 10)
        }

        mutating func begin() {
            active += 1
            if case .ratio(let part, _, _) = model {
                slots[currentSlot] += part
            }
        }

        /// Counts a failure that may pass, whether it is tried again or not.
        mutating func note() {
            if case .throttle = model {
                balance = max(0, balance - 1)
            }
        }

        mutating func withdraw(after failure: Failure, isFirst: Bool) -> Permit? {
            let permit = Permit(isFirst: isFirst, cost: cost(after: failure), slot: slot, account: number)
            switch model {
            case .ratio:
                // Sums of tenths are not whole: 5 × 0.2 is meant to be a retry.
                guard balance + slots.reduce(0, +) + 1e-9 >= 1 else { return nil }
                slots[currentSlot] -= 1
            case .throttle(let tokens, _):
                guard balance > Double(tokens) / 2 else { return nil }
            case .concurrency(let part, let floor):
                // A call retries one at a time, however often.
                guard isFirst else { return permit }
                guard activeRetries < max(floor, Int(Double(active) * part)) else { return nil }
            case .quota:
                guard balance >= permit.cost else { return nil }
                balance -= permit.cost
            }
            if isFirst {
                activeRetries += 1
            }
            return permit
        }

        mutating func refund(_ permit: Permit) {
            guard permit.account == number else { return }
            if permit.isFirst {
                activeRetries = max(0, activeRetries - 1)
            }
            switch model {
            case .ratio:
                // One that was taken before the interval is no longer counted.
                guard permit.slot > slot - 10 else { return }
                slots[Int(permit.slot % 10)] += 1
            case .throttle, .concurrency:
                // The one counts failures, which stay failures; the other what is under way.
                break
            case .quota(let stock, _, _):
                balance = min(Double(stock), balance + permit.cost)
            }
        }

        mutating func end(_ outcome: Outcome) {
            active = max(0, active - 1)
            activeRetries = max(0, activeRetries - min(1, outcome.retries))
            guard outcome.isSuccess else { return }
            switch model {
            case .ratio, .concurrency: break
            case .throttle(let tokens, let part): balance = min(Double(tokens), balance + part)
            case .quota(let stock, _, _):
                let refund = outcome.lastFailure.map { cost(after: $0) } ?? 1
                balance = min(Double(stock), balance + refund)
            }
        }

        private func cost(after failure: Failure) -> Double {
            guard case .quota(_, let cost, let timeoutCost) = model else { return 1 }
            return Double(failure == .timeout ? timeoutCost : cost)
        }
    }
}

extension RetryBudget: CustomStringConvertible {
    /// The model, as an outline shows it.
    public var description: String {
        switch model {
        case nil: "unlimited"
        case .ratio(let part, let reserve, let window): "\(part) of the calls of \(window), and \(reserve)"
        case .throttle(let tokens, let part): "\(tokens) tokens, \(part) a success"
        case .concurrency(let part, let floor): "\(part) of the calls under way, at least \(floor)"
        case .quota(let stock, let cost, let timeoutCost): "a stock of \(stock), \(cost) or \(timeoutCost) a retry"
        }
    }
}

extension RetryBudget.Model {
    fileprivate func check() {
        switch self {
        case .ratio(let part, let reserve, let window):
            precondition((0...1).contains(part), "the ratio must be 0 to 1 (is \(part))")
            precondition(reserve >= 0, "reserve must not be negative (is \(reserve))")
            precondition(window > .zero, "the while must be greater than zero (is \(window))")
        case .throttle(let tokens, let part):
            precondition(tokens > 0, "tokens must be greater than zero (is \(tokens))")
            precondition(part >= 0 && part.isFinite, "the ratio must not be negative (is \(part))")
        case .concurrency(let part, let floor):
            precondition((0...1).contains(part), "the part must be 0 to 1 (is \(part))")
            precondition(floor >= 0, "floor must not be negative (is \(floor))")
        case .quota(let stock, let cost, let timeoutCost):
            precondition(stock >= 0, "stock must not be negative (is \(stock))")
            precondition(cost >= 0, "cost must not be negative (is \(cost))")
            precondition(timeoutCost >= 0, "timeoutCost must not be negative (is \(timeoutCost))")
        }
    }
}
