import Foundation
import HTTPTypes
import Logging
import Networking
import Synchronization

@testable import NetworkingTesting

/// What every run of a random stack must keep.
enum Invariant: String, Sendable {
    case ending
    case prompt = "promptCancellation"
    case cancellation = "cancellationOfOthers"
    case credentials, foreignServer, response, secret
    case permits, budgets, idempotency, sentAfterEnd, anonymousWork
    case events, counters, alarms, retention, recovery, stall
}

struct Violation: Sendable, CustomStringConvertible {
    let invariant: Invariant
    let detail: String

    init(_ invariant: Invariant, _ detail: String) {
        (self.invariant, self.detail) = (invariant, detail)
    }

    var description: String {
        "\(invariant.rawValue): \(detail)"
    }
}

/// A call of a run.
///
/// Its requests carry it to the transport.
final class SimulatedCall: Sendable {
    let number: Int
    let isAnonymous: Bool
    /// Whether the caller reads the body in chunks, without a permit.
    let isStream: Bool
    /// Whether a part of the stack may send a request for the call after its end.
    let mayOutliveCaller: Bool
    /// Whether no user was signed in at the start.
    let beganWithoutUser: Bool
    private let app: SimulatedApp
    /// The number of users who had signed in at the start.
    private let signIns: Int
    private let state: Mutex<(user: String?, hasEnded: Bool, cancellation: Duration?)>

    init(
        number: Int,
        of app: SimulatedApp,
        user: String?,
        isAnonymous: Bool,
        isStream: Bool,
        mayOutliveCaller: Bool
    ) {
        self.number = number
        self.app = app
        beganWithoutUser = user == nil
        signIns = app.users.count
        self.isAnonymous = isAnonymous
        self.isStream = isStream
        self.mayOutliveCaller = mayOutliveCaller
        state = Mutex((user, false, nil))
    }

    /// Returns the user of the call, which is the given one if no user was signed in at its start.
    func settle(_ user: String) -> String? {
        state.withLock { state in
            state.user = state.user ?? user
            return state.user
        }
    }

    var user: String? { state.withLock { $0.user } }
    /// The user of the cookies, also of requests that are first sent without credentials.
    var holder: String { user ?? SimulatedBackend.anonymous }
    /// Whether the call cannot belong to a user who has signed in since its start.
    var hasKnownHolder: Bool { user != nil || isAnonymous || app.user == nil && app.users.count == signIns }
    var hasEnded: Bool { state.withLock { $0.hasEnded } }
    /// The moment of the cancellation; `nil` if the call was not cancelled.
    var cancellation: Duration? { state.withLock { $0.cancellation } }

    /// Returns whether a response for a user may be that of the call.
    ///
    /// A call that began without a user belongs to one who signs in. The server does not see which one if a cache or
    /// another call's exchange answers it.
    func mayReceiveResponse(of user: String) -> Bool {
        guard !isAnonymous else { return false }
        return self.user.map { $0 == user } ?? app.users.dropFirst(signIns).contains(user)
    }

    func cancel(at now: Duration) {
        state.withLock { $0.cancellation = $0.cancellation ?? now }
    }

    func end() {
        state.withLock { $0.hasEnded = true }
    }
}

extension RequestOptionKey {
    fileprivate static let simulatedCall = RequestOption<SimulatedCall?>(
        "simulatedCall",
        default: nil,
        affects: .nothing
    )
}

extension HTTPRequestData {
    var simulatedCall: SimulatedCall? {
        get { self[.simulatedCall] }
        set { self[.simulatedCall] = newValue }
    }
}

/// An app with its own user.
final class SimulatedApp: Sendable {
    let store: TokenStore<Networking.Session>
    private let signIns: SignIns

    init(_ store: TokenStore<Networking.Session>, _ signIns: SignIns) {
        self.store = store
        self.signIns = signIns
    }

    func signIn(_ session: Networking.Session) {
        signIns.add(session)
        store.set(session)
    }

    /// The user who is signed in.
    var user: String? {
        store.credentials.flatMap { SimulatedBackend.user(in: $0.accessToken) }
    }

    /// The users who have signed in so far, in order.
    var users: [String] {
        signIns.users
    }
}

/// The users who have signed in to an app, in order.
final class SignIns: Sendable {
    private let state = Mutex<[String]>([])

    var users: [String] {
        state.withLock { $0 }
    }

    func add(_ session: Networking.Session) {
        state.withLock { $0.append(SimulatedBackend.user(in: session.accessToken) ?? "") }
    }
}

private struct SimulatedLogin: AuthenticationDelegate {
    struct Tokens: Decodable {
        enum CodingKeys: String, CodingKey {
            case access = "access_token"
            case refresh = "refresh_token"
            case lifetime = "expires_in"
        }

        let access: String
        let refresh: String
        let lifetime: Double
    }

    struct Refused: Error {}

    let backend: SimulatedBackend
    let signIns: SignIns
    let authorizes: Bool
    let namesUsers: Bool

    func authorize(over network: any NetworkingComponent) async throws -> Networking.Session {
        guard authorizes else { throw Refused() }
        try await NetworkEnvironment.current.clock.sleep(for: .milliseconds(50))
        let session = backend.session(of: "eve", named: namesUsers)
        signIns.add(session)
        return session
    }

    func refresh(
        _ session: Networking.Session,
        after response: HTTPResponseData?,
        over network: any NetworkingComponent
    ) async throws -> Networking.Session {
        let request = HTTPRequestData(
            method: .post,
            scheme: "https",
            authority: SimulatedBackend.authority,
            path: "/refresh",
            body: .json(["refresh_token": session.refreshToken ?? ""])
        )
        let response = try await network.send(request)
        guard response.status == .ok else { throw NetworkingError(.status, request: request, response: response) }
        let tokens = try JSONDecoder().decode(Tokens.self, from: response.data)
        let expiry = NetworkEnvironment.current.clock.date.addingTimeInterval(tokens.lifetime)
        return session.renewed(
            accessToken: tokens.access,
            refreshToken: tokens.refresh,
            expirationDate: expiry
        )
    }
}

/// One run of a plan in simulated time, which checks the invariants.
final class StackRun: Sendable {
    private struct State {
        var violations: [Violation] = []
        var counts: [(name: String, count: @Sendable () -> Int)] = []
        var texts: [@Sendable () -> String] = []
        var ledgers: [BudgetLedger] = []
        var active: [Int: OwnedTask<Void>] = [:]
        var calls: [WeakCall] = []
        /// The numbers, the moments and the outcomes of the calls that have ended, in order.
        var ends: [String] = []
        var cancelledStreams = 0
    }

    private struct WeakCall {
        let number: Int
        weak var call: SimulatedCall?
    }

    let log = LogRecorder()
    private let connectivity = ManualConnectivity()
    private let plan: StackPlan
    private let loop: SimulationLoop
    private let state = Mutex(State())

    private init(_ plan: StackPlan) {
        self.plan = plan
        let order = SimulationLoop.RandomOrder(random: .seeded(~plan.seed), lateness: plan.isLate ? 0.03 : 0)
        loop = SimulationLoop(patience: .seconds(2), order: order)
    }

    /// Returns the violations of a plan's run.
    static func violations(of plan: StackPlan) async -> [Violation] {
        let run = StackRun(plan)
        await run.run()
        return run.state.withLock { $0.violations }
    }

    /// Returns the number, the moment and the outcome of each call of a plan's run, in the order of the ends.
    static func ends(of plan: StackPlan) async -> [String] {
        let run = StackRun(plan)
        await run.run()
        return run.state.withLock { $0.ends }
    }

    /// Prints a step of the run with its simulated time, if the developer asks for it.
    func trace(_ step: @autoclosure () -> String) {
        if Self.isTraced { print("\(loop.clock.now) \(step())") }
    }

    private static let isTraced = ProcessInfo.processInfo.environment["SIMULATED_TRACE"] != nil

    func report(_ violation: Violation) {
        trace("violation: \(violation)")
        state.withLock { $0.violations.append(violation) }
    }

    /// Registers a count that must be zero when all calls have ended.
    func expectAtEnd(_ name: String, _ count: @escaping @Sendable () -> Int) {
        state.withLock { $0.counts.append((name, count)) }
    }

    /// Registers a budget whose accounts must agree with the calls when all calls have ended.
    func check(_ ledger: BudgetLedger) {
        state.withLock { $0.ledgers.append(ledger) }
    }

    /// Returns the ledger of a budget that is checked.
    func ledger(of budget: RetryBudget) -> BudgetLedger? {
        state.withLock { $0.ledgers.first { $0.budget === budget } }
    }

    /// Registers a text that must not contain a secret at the end.
    func expectNoSecrets(in text: @escaping @Sendable () -> String) {
        state.withLock { $0.texts.append(text) }
    }

    // MARK: The run

    private func run() async {
        var environment = NetworkEnvironment.current
        environment.clock = NetworkClock(engine: loop.clock)
        environment.connectivity = connectivity
        environment.random = .seeded(plan.seed &+ 1)
        let bytes = RandomSource.seeded(plan.seed &+ 2)
        environment.secureRandom = SecureRandomSource { count in
            (0..<count).map { _ in UInt8(truncatingIfNeeded: bytes.next() >> 32) }
        }
        environment.logger = log.logger(.trace)
        let end = Suspension<Void>()
        OwnedTaskExecutor.$current.withValue(loop) {
            _ = OwnedTask.immediate { [environment, self] in
                await withEnvironment(environment) { await play() }
                end.resume()
                loop.end()
            }
        }
        loop.start { [self] in
            report(Violation(.stall, "\(state.withLock { $0.active.keys.sorted() }) wait for no alarm."))
            loop.end()
            end.resume()
        }
        try? await end.uncancellableValue()
    }

    private func play() async {
        let clock = loop.clock
        await playCalls()
        if state.withLock({ $0.active.isEmpty }) {
            for leaked in state.withLock({ $0.calls }) where leaked.call != nil {
                report(Violation(.retention, "Call \(leaked.number) is retained after the release of its stack."))
            }
            if clock.pendingAlarms > 0 {
                report(Violation(.alarms, "\(clock.pendingAlarms) alarms are left at the end."))
            }
        }
        let texts = state.withLock { $0.texts }.map { $0() }
        for text in texts + [log.text] {
            checkSecrets(in: text)
        }
    }

    /// Builds the stacks, performs all actions and checks everything except retention and alarms.
    private func playCalls() async {
        let clock = loop.clock
        let backend = SimulatedBackend(seed: plan.seed) { [weak self] in self?.report($0) }
        let faults = FaultInjector(seed: plan.seed, faults)
        let observer = CallObserver(run: self, sharesExchanges: plan.layers.contains { $0.kind.sharesExchanges })
        let instrument = SessionInstrument(keeping: 0)
        let apps = (0..<plan.apps).map { app(Int($0), backend) }
        let modifiers = plan.layers.map { $0.kind.modifier(Draws($0.seed), in: self) }
        let stacks = apps.map { app in
            let transport = AnyNetworkingComponent(
                MockTransport { backend.respond(to: $0) }.faultInjected(by: faults)
            )
            let stack = modifiers.reduce(transport) { AnyNetworkingComponent($1($0, app)) }
            return AnyNetworkingComponent(stack.observed(by: observer).instrument(instrument))
        }
        for stack in stacks where hasDumps {
            checkSecrets(in: stack.outline + "\(stack.diagnostics)")
        }
        for action in plan.actions {
            try? await clock.sleep(until: action.time, tolerance: nil)
            let app = apps[action.app]
            switch action.kind {
            case .call: start(action, over: stacks[action.app], of: app)
            case .signIn(let user): app.signIn(backend.session(of: user, named: namesUsers))
            case .signOut: app.store.remove()
            case .revoke(let user): backend.revoke(user)
            case .network(let isAvailable): connectivity.update(isAvailable ? .wifi : .offline)
            }
        }
        await awaitCalls(for: 120)
        cancelCalls()
        // The clock of a late run may advance several times before a task that can continue does.
        await awaitCalls(for: plan.isLate ? 30 : 3)
        let unfinished = state.withLock { $0.active.keys.sorted() }
        if !unfinished.isEmpty {
            report(Violation(.ending, "\(unfinished) do not end after their cancellation."))
            return
        }
        await rest()
        checkCounts()
        backend.heal()
        faults.isEnabled = false
        connectivity.update(.wifi)
        for (app, stack) in zip(apps, stacks) {
            await recover(app, stack, backend)
        }
        await rest()
        checkCounts()
        observer.check()
        let (statistics, begun) = (instrument.statistics, observer.count)
        let (ended, cancelledStreams) = state.withLock { ($0.ends.count, $0.cancelledStreams) }
        let failures = statistics.failures.values.reduce(0, +) + statistics.otherFailures
        // A stream sends its request in a task, which may be cancelled before it begins.
        if statistics.calls != begun || statistics.successes + statistics.cancellations + failures != begun
            || begun > ended || begun < ended - cancelledStreams
        {
            let text = "\(begun) calls have begun, \(ended) have ended, and the statistics are \(statistics)."
            report(Violation(.counters, text))
        }
    }

    /// Whether requests have the credentials of a user.
    private var hasUsers: Bool {
        plan.layers.contains { $0.kind == .authenticated }
    }

    private var hasServer: Bool {
        plan.layers.contains { $0.kind == .server }
    }

    private var namesUsers: Bool {
        plan.seed % 3 > 0
    }

    /// Whether the run also checks descriptions and dumps, which take most of the time.
    var hasDumps: Bool {
        plan.seed % 5 == 0
    }

    private var faults: [Fault] {
        let draws = Draws(plan.seed, 4)
        let all: [Fault] = [
            .error(.connection, rate: 0.05), .error(.connectionLost, rate: 0.05),
            .error(.connectionLost, afterSending: true, rate: 0.05), .status(.serviceUnavailable, rate: 0.05),
            .latency(.milliseconds(300), jitter: .milliseconds(250), rate: 0.1), .truncated(after: 3, rate: 0.04),
            .stalled(after: 3, rate: 0.03), .sliced(into: 7, every: .milliseconds(40), rate: 0.1),
        ]
        return all.filter { _ in draws.chance(0.4) }
    }

    private func app(_ index: Int, _ backend: SimulatedBackend) -> SimulatedApp {
        let draws = Draws(plan.seed, 5, UInt64(index))
        let signIns = SignIns()
        let login = SimulatedLogin(
            backend: backend,
            signIns: signIns,
            authorizes: draws.chance(0.25),
            namesUsers: namesUsers
        )
        return SimulatedApp(
            TokenStore(
                delegate: login,
                leeway: draws.milliseconds(0...3_000),
                timeout: draws.milliseconds(500...10_000),
                limit: RefreshLimit(draws.int(1...5), per: draws.milliseconds(1_000...30_000))
            ),
            signIns
        )
    }

    // MARK: Calls

    private func start(_ action: StackPlan.Action, over stack: AnyNetworkingComponent, of app: SimulatedApp) {
        let draws = Draws(action.seed)
        let redirects = ["/public/moved", "/public/away", "/public/plain"]
        let path = draws.pick(["/private/a", "/private/a", "/private/b", "/public/a"] + redirects)
        var request = HTTPRequestData(scheme: "https", authority: SimulatedBackend.authority, path: path)
        request.headerFields[.acceptLanguage] = draws.pick(["de", "en"])
        if draws.chance(0.25) {
            request.method = draws.pick([.post, .put, HTTPRequest.Method("QUERY")!])
            request.body = .data(Data(draws.pick(["x", "y"]).utf8), contentType: "text/plain")
            if draws.chance(0.3) { request.isIdempotent = true }
        }
        if draws.chance(0.1) { request.authenticationMethod = .anonymous }
        if draws.chance(0.1) { request.cacheMode = draws.pick([.reload, .noCache, .forceCache, .noStore]) }
        if draws.chance(0.1) { request.priority = .high }
        if draws.chance(0.05) { request.isThrottled = false }
        if draws.chance(0.1) { request.deadline = draws.milliseconds(1...2_000) }
        let isStream = draws.chance(0.1)
        let sink = !isStream && draws.chance(0.2) ? CollectingSink() : nil
        request.sink = sink
        // The stack names the server.
        if hasServer, draws.chance(0.5) { request.authority = nil }
        let cancellation = draws.chance(0.3) ? draws.milliseconds(0...draws.pick([10, 300, 3_000])) : nil
        start(action.number, request, sink, isStream, over: stack, of: app, cancellingAfter: cancellation)
    }

    private func start(
        _ number: Int,
        _ request: HTTPRequestData,
        _ sink: CollectingSink? = nil,
        _ isStream: Bool = false,
        over stack: AnyNetworkingComponent,
        of app: SimulatedApp,
        cancellingAfter delay: Duration?,
        onEnd: @escaping @Sendable (Result<HTTPResponseData, any Error>) -> Void = { _ in }
    ) {
        let clock = loop.clock
        let mayOutliveCaller = plan.layers.contains { $0.kind.mayOutliveCaller }
        let task = OwnedTask.immediate { [self] in
            var request = request
            // In the task, because the work of the call begins there.
            let isAnonymous = request.authenticationMethod == .anonymous
            let call = SimulatedCall(
                number: number,
                of: app,
                user: isAnonymous || !hasUsers ? nil : app.user,
                isAnonymous: isAnonymous,
                isStream: isStream,
                mayOutliveCaller: mayOutliveCaller
            )
            request.simulatedCall = call
            state.withLock { $0.calls.append(WeakCall(number: number, call: call)) }
            let alarm = delay.map { delay in
                clock.alarm(at: clock.now + delay) { [weak self, weak call] in
                    call?.cancel(at: clock.now)
                    self?.state.withLock { $0.active[number] }?.cancel()
                }
            }
            let result = await isStream ? Result.ofStream(request, over: stack) : Result.of(request, over: stack)
            alarm?.cancel()
            call.end()
            check(result, of: request, call, sink)
            onEnd(result)
            let outcome = (try? result.get()).map { "\($0.status.code) \($0.body.count)" } ?? "failed"
            state.withLock { state in
                trace("call \(number) ends: \(result)")
                state.ends.append("\(number) \(clock.now) \(outcome)")
                if isStream, call.cancellation != nil { state.cancelledStreams += 1 }
                state.active[number] = nil
            }
        }
        state.withLock { $0.active[number] = task }
    }

    private func awaitCalls(for seconds: Int) async {
        for _ in 0..<seconds where state.withLock({ !$0.active.isEmpty }) {
            try? await loop.clock.sleep(until: loop.clock.now + .seconds(1), tolerance: nil)
        }
    }

    /// Waits for work in the background, which ends within its own limits.
    private func rest() async {
        try? await loop.clock.sleep(until: loop.clock.now + .seconds(600), tolerance: nil)
        // The clock may have advanced although a task can continue.
        for _ in 0..<(plan.isLate ? 10 : 0) {
            try? await loop.clock.sleep(until: loop.clock.now + .seconds(1), tolerance: nil)
        }
    }

    private func cancelCalls() {
        let (calls, tasks) = state.withLock { ($0.calls, $0.active) }
        for call in calls {
            call.call?.cancel(at: loop.clock.now)
        }
        for task in tasks.values {
            task.cancel()
        }
    }

    /// Checks that the stack works again when the server and the network do.
    private func recover(_ app: SimulatedApp, _ stack: AnyNetworkingComponent, _ backend: SimulatedBackend) async {
        app.signIn(backend.session(of: "zoe", named: namesUsers))
        let path = hasUsers ? "/private/a" : "/public/a"
        var request = HTTPRequestData(scheme: "https", authority: SimulatedBackend.authority, path: path)
        request.timeout = .unlimited
        request.headTimeout = .unlimited
        request.idleTimeout = .unlimited
        request.deadline = .unlimited
        request.headerFields[.acceptLanguage] = "zu"
        let outcomes = Mutex<[String]>([])
        let number = 10_000 * (1 + state.withLock { $0.ends.count })
        for attempt in 0..<8 {
            start(number + attempt, request, over: stack, of: app, cancellingAfter: .seconds(200)) { result in
                outcomes.withLock { outcomes in
                    outcomes.append((try? result.get()).map { "\($0.status.code)" } ?? "\(result)")
                }
            }
            await awaitCalls(for: 300)
            if outcomes.withLock({ $0.last == "200" }) { return }
            try? await loop.clock.sleep(until: loop.clock.now + .seconds(60), tolerance: nil)
        }
        report(Violation(.recovery, outcomes.withLock { $0.joined(separator: ", ") }))
    }

    // MARK: Checks

    private func checkCounts() {
        for (name, count) in state.withLock({ $0.counts }) where count() != 0 {
            report(Violation(.permits, "\(count()) \(name) are left."))
        }
        for difference in state.withLock({ $0.ledgers }).flatMap({ $0.differences(at: loop.clock.now) }) {
            report(Violation(.budgets, difference))
        }
    }

    func checkSecrets(in text: String) {
        guard let range = text.range(of: SimulatedBackend.secret) else { return }
        let start = text.index(range.lowerBound, offsetBy: -120, limitedBy: text.startIndex) ?? text.startIndex
        report(Violation(.secret, "\(text[start...].prefix(200))"))
    }

    private func check(
        _ result: Result<HTTPResponseData, any Error>,
        of request: HTTPRequestData,
        _ call: SimulatedCall,
        _ sink: CollectingSink?
    ) {
        if !plan.isLate, let cancellation = call.cancellation, loop.clock.now > cancellation {
            let delay = loop.clock.now - cancellation
            report(Violation(.prompt, "Call \(call.number) ends \(delay) after its cancellation."))
        }
        switch result {
        case .success(let response):
            check(response.body.data ?? sink?.data ?? Data(), response, of: request, call)
            if case .delivered = response.body, sink?.finished != 1 {
                let count = sink?.finished ?? 0
                report(Violation(.response, "The sink of call \(call.number) is finished \(count) times."))
            }
            if hasDumps { checkSecrets(in: "\(response) \(String(reflecting: response))") }
        case .failure(let error):
            if error is CancellationError, call.cancellation == nil {
                report(Violation(.cancellation, "Call \(call.number) was not cancelled and throws CancellationError."))
            }
            if let response = (error as? NetworkingError)?.response {
                check(response.body.data ?? Data(), response, of: request, call)
            }
            if hasDumps { checkSecrets(in: "\(error) \(String(reflecting: error)) \(error.localizedDescription)") }
        }
    }

    private func check(
        _ body: Data,
        _ response: HTTPResponseData,
        of request: HTTPRequestData,
        _ call: SimulatedCall
    ) {
        let pairs = String(decoding: body, as: UTF8.self).split(separator: ";", omittingEmptySubsequences: false)
            .dropLast()
            .map { $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) } }
        let fields = Dictionary(pairs.filter { $0.count == 2 }.map { ($0[0], $0[1]) }) { first, _ in first }
        if let user = fields["user"], user != SimulatedBackend.everybody {
            if user != SimulatedBackend.anonymous, !call.mayReceiveResponse(of: user) {
                report(Violation(.response, "Call \(call.number) of \(call.user ?? "nobody") receives: \(fields)"))
            }
        }
        let isMoved = request.path == "/public/moved"
        if let path = fields["path"], path != request.path, !(isMoved && path == "/private/a") {
            report(Violation(.response, "Call \(call.number) to \(request.path ?? "") receives: \(fields)"))
        }
        if let language = fields["language"], language != request.headerFields[.acceptLanguage] {
            report(Violation(.response, "Call \(call.number) in another language receives: \(fields)"))
        }
        let sent = request.body?.data.map { String(decoding: $0, as: UTF8.self) } ?? ""
        if let echo = fields["body"], echo != sent, !isMoved {
            report(Violation(.response, "Call \(call.number) with the body \(sent) receives: \(fields)"))
        }
    }
}

/// Checks the order of the events of each call.
private final class CallObserver: NetworkEventObserver {
    fileprivate struct Tally {
        var starts = 0
        var ends = 0
        var exchanges = 0
        var waits = 0

        var isComplete: Bool {
            starts == 1 && ends == 1 && exchanges == 0 && waits == 0
        }
    }

    private weak let run: StackRun?
    /// Whether a call receives the events of an exchange only while it waits for it.
    private let sharesExchanges: Bool
    private let tallies = Mutex<[Int: Tally]>([:])

    init(run: StackRun, sharesExchanges: Bool) {
        self.run = run
        self.sharesExchanges = sharesExchanges
    }

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        if run?.hasDumps == true { run?.checkSecrets(in: "\(event) \(request)") }
        guard let number = request.simulatedCall?.number else { return }
        run?.trace("call \(number): \(event.record.name)")
        if sharesExchanges, !(event is CallEvent) { return }
        let violation = tallies.withLock { $0[number, default: Tally()].add(event, number) }
        if let violation { run?.report(violation) }
    }

    /// The number of calls that have begun.
    var count: Int {
        tallies.withLock { $0.count }
    }

    /// Checks that everything that began has ended.
    func check() {
        for (number, tally) in tallies.withLock({ $0 }) where !tally.isComplete {
            run?.report(Violation(.events, "Call \(number): \(tally)"))
        }
    }
}

extension CallObserver.Tally {
    fileprivate mutating func add(_ event: any NetworkEvent, _ number: Int) -> Violation? {
        switch event {
        case CallEvent.started: starts += 1
        case CallEvent.ended, CallEvent.failed: ends += 1
        case ExchangeEvent.started: exchanges += 1
        case ExchangeEvent.ended, ExchangeEvent.failed: exchanges -= 1
        case WaitEvent.waiting: waits += 1
        case WaitEvent.waited: waits -= 1
        default: break
        }
        let isOrdered = starts == 1 && ends <= 1 && exchanges >= 0 && waits >= 0
        return isOrdered ? nil : Violation(.events, "Call \(number): \(event.record.name) leads to \(self)")
    }
}

extension Result<HTTPResponseData, any Error> {
    fileprivate static func of(_ request: HTTPRequestData, over stack: any NetworkingComponent) async -> Self {
        do {
            return .success(try await stack.send(request))
        } catch {
            return .failure(error)
        }
    }

    /// Reads the body in chunks.
    fileprivate static func ofStream(_ request: HTTPRequestData, over stack: any NetworkingComponent) async -> Self {
        do {
            return .success(
                try await stack.stream(request) { response, chunks in
                    var data = Data()
                    for try await chunk in chunks {
                        data.append(chunk)
                    }
                    var response = response
                    response.body = .collected(data)
                    return response
                }
            )
        } catch {
            return .failure(error)
        }
    }
}
