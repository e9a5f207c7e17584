import HTTPTypes
import Networking
import NetworkingCore
import Synchronization

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// Counts what the calls of a run take from a retry budget, and compares it with the budget's own accounts.
///
/// It sees a modifier from both sides: the calls that enter it, and the attempts that leave it.
final class BudgetLedger: Sendable {
    /// The calls and the retries of a server.
    private struct Account {
        var calls = 0
        var retries = 0
        /// The extra attempts that `hedged` has taken and not given back, and those that were certainly made.
        ///
        /// A cancelled attempt gives its token back, unless the race itself has ended it.
        var hedges = (taken: 0, made: 0)
        /// The least number of tokens that failures have left.
        var tokens: Double?
    }

    /// The attempts of a call of one modifier.
    final class Pass: Sendable {
        fileprivate let ledger: BudgetLedger?
        /// The number of the first attempt, which is greater than one behind an outer part that repeats requests.
        fileprivate let firstAttempt: Int
        private let attempts = Mutex(0)

        fileprivate init(_ ledger: BudgetLedger?, firstAttempt: Int) {
            self.ledger = ledger
            self.firstAttempt = firstAttempt
        }

        fileprivate func next() -> Int {
            attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
        }
    }

    /// A longer window than that of a run, in which nothing expires.
    static let endless = Duration.seconds(1_000_000)

    let budget: RetryBudget
    private let model: RetryBudget.Model
    private let accounts = Mutex<[AuthorityKey?: Account]>([:])

    init(_ model: RetryBudget.Model) {
        budget = RetryBudget(model)
        self.model = model
    }

    // MARK: Counting

    /// Counts a call of `retry`, and what remains of it at its end.
    fileprivate func begin(_ request: HTTPRequestData) {
        count(request) { $0.calls += 1 }
    }

    fileprivate func end(_ request: HTTPRequestData, _ result: Result<HTTPResponseData, any Error>) {
        guard case .success(let response) = result, response.retryRefusal == nil, !response.status.isServerError,
            case .throttle(let tokens, let ratio) = model
        else { return }
        count(request) { $0.tokens = min(Double(tokens), ($0.tokens ?? Double(tokens)) + ratio) }
    }

    /// Counts an attempt of `retry`.
    fileprivate func end(_ request: HTTPRequestData, attempt: Int, _ result: Result<HTTPResponseData, any Error>) {
        // The budget gets back the token of an attempt that was not sent.
        let isUnsent = result.wasRejected || attempt > 1 && result.isOfAnotherUser
        count(request) { account in
            if isUnsent {
                account.calls -= attempt == 1 ? 1 : 0
                account.retries -= attempt == 1 ? 0 : 1
            }
            let hasFailed = (try? result.get()).map { $0.status.code >= 400 } ?? true
            if hasFailed, case .throttle(let tokens, _) = model {
                account.tokens = max(0, (account.tokens ?? Double(tokens)) - 1)
            }
        }
    }

    fileprivate func begin(_ request: HTTPRequestData, attempt: Int) {
        if attempt > 1 { count(request) { $0.retries += 1 } }
    }

    /// Counts an extra attempt of `hedged` that has ended.
    fileprivate func endHedge(_ request: HTTPRequestData, _ error: (any Error)?) {
        if let error {
            let result = Result<HTTPResponseData, any Error>.failure(error)
            guard !(error is CancellationError), !result.wasRejected, !result.isOfAnotherUser else { return }
        }
        count(request) { $0.hedges.made += 1 }
    }

    fileprivate func addHedges(_ change: Int, _ request: HTTPRequestData) {
        count(request) { $0.hedges.taken += change }
    }

    private func count(_ request: HTTPRequestData, _ change: (inout Account) -> Void) {
        accounts.withLock { change(&$0[request.authorityKey, default: Account()]) }
    }

    // MARK: Checking

    /// Returns what the accounts of the budget have that they should not have, or lack, after a rest of minutes.
    func differences(at now: Duration) -> [String] {
        accounts.withLock { $0 }
            .compactMap { server, account -> String? in
                let (count, expected) = (retries(of: server, at: now), allowance(of: account))
                guard !expected.contains(count) else { return nil }
                return "\(server.map { "\($0)" } ?? "no server"): \(budget) allows \(count) retries instead of "
                    + "\(expected) after \(account)"
            }
    }

    private func allowance(of account: Account) -> ClosedRange<Int> {
        switch model {
        case .ratio(_, let reserve, let window) where window < Self.endless: return reserve...reserve
        case .ratio(let part, let reserve, _):
            let left = Double(reserve) + part * Double(account.calls) - Double(account.retries)
            let most = Int((left + 1e-9).rounded(.down)) - account.hedges.made
            return max(0, most + account.hedges.made - account.hedges.taken)...max(0, most)
        case .throttle(let tokens, _):
            let least = (account.tokens ?? Double(tokens)) - Double(tokens) / 2
            return max(0, Int(least.rounded(.up)))...((tokens + 1) / 2)
        }
    }

    /// Returns the number of retries that the budget allows, and leaves the budget as it was.
    ///
    /// For a throttle, it is the number of failures that stop retries.
    private func retries(of server: AuthorityKey?, at now: Duration) -> Int {
        var permits: [RetryBudget.Permit] = []
        while permits.count < 1_000, let permit = budget.withdraw(server, at: now) {
            permits.append(permit)
            budget.note(server, at: now)
        }
        for permit in permits {
            budget.refund(permit, server, at: now)
            if case .throttle(_, let ratio) = model {
                for _ in 0..<Int(1 / ratio) {
                    budget.endSuccessfully(server, at: now)
                }
            }
        }
        return permits.count
    }
}

// MARK: - In a stack

extension RequestOptionKey {
    fileprivate static let budgetPass = RequestOption<BudgetLedger.Pass?>(
        "budgetPass",
        default: nil,
        affects: .nothing,
        isSetByStack: true
    )
}

/// Notes the calls that enter a modifier with a budget.
struct BudgetEntrance: UpstreamLimited {
    enum Part {
        /// The calls of `retry` are deposits.
        case retry
        case hedged
        /// Its budget is that of the `retry` around it.
        case hedgedWithinRetry(StackRun)
    }

    let part: Part
    /// The ledger of the modifier's own budget; `nil` for an unlimited one.
    let ledger: BudgetLedger?

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        let ledger =
            if case .hedgedWithinRetry(let run) = part {
                request.retryTerms.flatMap { run.ledger(of: $0.budget) }
            } else {
                ledger
            }
        var sent = request
        let pass = BudgetLedger.Pass(ledger, firstAttempt: request.attempt)
        sent[.budgetPass] = pass
        sent.addObserver(HedgeObserver(pass: pass))
        guard case .retry = part, let ledger else { return try await upstream.send(sent) }
        ledger.begin(request)
        do {
            let response = try await upstream.send(sent)
            ledger.end(request, .success(response))
            return response
        } catch {
            ledger.end(request, .failure(error))
            throw error
        }
    }
}

/// Notes the extra attempts that `hedged` takes from a budget, and gives back.
private struct HedgeObserver: NetworkEventObserver {
    let pass: BudgetLedger.Pass

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        // Another part further in has a pass of its own.
        guard let event = event as? HedgingEvent, request[.budgetPass] === pass else { return }
        switch event {
        case .hedging: pass.ledger?.addHedges(1, request)
        case .refused(.rejected), .refused(.anotherUser): pass.ledger?.addHedges(-1, request)
        default: break
        }
    }
}

/// Notes the attempts that a modifier with a budget makes.
struct BudgetExit: UpstreamLimited {
    let isRetry: Bool

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        guard let pass = request[.budgetPass], let ledger = pass.ledger else { return try await upstream.send(request) }
        guard isRetry else {
            guard request.attempt > pass.firstAttempt else { return try await upstream.send(request) }
            do {
                let response = try await upstream.send(request)
                ledger.endHedge(request, nil)
                return response
            } catch {
                ledger.endHedge(request, error)
                throw error
            }
        }
        let attempt = pass.next()
        ledger.begin(request, attempt: attempt)
        do {
            let response = try await upstream.send(request)
            ledger.end(request, attempt: attempt, .success(response))
            return response
        } catch {
            ledger.end(request, attempt: attempt, .failure(error))
            throw error
        }
    }
}
