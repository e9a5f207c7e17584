import NetworkingCore
import NetworkingResilience

/// The shared limit of one key in this process: the queue, the permits that were taken ahead, and the local share.
///
/// A state machine without a lock, a clock or a task.
struct SharedRateCell: RateCell {
    /// The numbers of a limit.
    struct Settings: Sendable {
        let interval: Duration
        let burst: Int
        let lead: Duration
        let localShare: Double

        /// The maximum number of permits to take for requests that are only expected.
        var maximumBatch: Int {
            Int(clamping: lead.attoseconds / interval.attoseconds)
        }
    }

    /// What has to happen outside of the lock.
    struct Step: Sendable {
        /// The places of the requests to send.
        var due: [WaitPlace] = []
        /// The places of the requests that wait no longer, because they wait only for a decision.
        var refused: [WaitPlace] = []
        /// The time until the next permit, for the refused requests.
        var wait = Duration.zero
        var fetch: Fetch?
        var alarm: AlarmPlan?
    }

    /// A call to the store.
    struct Fetch: Sendable {
        let number: UInt64
        /// The number of permits for requests that wait.
        let permits: Int
        /// The number of permits for requests that are expected.
        let spare: Int
        let returned: Int
    }

    /// The alarm that the cell needs from now on.
    struct AlarmPlan: Sendable {
        /// Its moment; `nil` if none is needed.
        let moment: Duration?
        let replaced: Alarm?
    }

    /// The result of a call to the store.
    enum FetchResult: Sendable {
        case granted(RateLimitGrant)
        case failed
        /// The circuit in front of the store is open, for about this time.
        case refused(Duration)
    }

    /// The number of the last place before this cell was created; a place with a higher number waits in this cell.
    let lastNumberBefore: UInt64
    private let settings: Settings
    private var queue = WaitQueue()
    /// The places in the queue that wait only for the decision of the store.
    private var hurried: [WaitPlace] = []
    private var held = HeldPermits()

    private var fetch: UInt64?
    private var fetchLimit: Alarm?
    /// The moment from which the store may be asked again.
    private var askAt = Duration.zero
    /// The moment at which the store has the next permit, as far as this process knows.
    private var isDryUntil = Duration.zero
    /// The number of permits to give back with the next call.
    private var returned = 0
    private var recent = RecentDemand()

    /// Whether the last call to the store has failed, so that the local share applies.
    private(set) var isLocal = false
    private var local: LocalShare

    private var alarm: Duration?
    private var handle: Alarm?
    private var alarmClock: NetworkClock?

    init(_ settings: Settings, lastNumberBefore: UInt64, at now: Duration) {
        self.settings = settings
        self.lastNumberBefore = lastNumberBefore
        local = LocalShare(settings)
        recent.start = now
    }

    // MARK: The cell of a table

    var emptyAt: Duration {
        // The result of a call to the store needs its cell.
        fetch == nil ? max(held.lapseAt ?? .zero, local.emptyAt) : .seconds(Int64.max)
    }

    var waiting: Int {
        queue.count
    }

    // MARK: Requests

    /// Takes permits for a new request, if it need not wait.
    mutating func take(_ weight: Int, at now: Duration) -> Bool {
        recent.count += weight
        guard queue.count == 0 else { return false }
        // The alarm comes late if the machine has slept.
        returned += held.lapse(at: now)
        return use(weight, at: now)
    }

    /// Returns the time that a new request has to wait at least, as far as this process knows.
    func wait(for weight: Int, at now: Duration) -> Duration {
        minimumWait(for: weight + queue.weight, at: now)
    }

    /// Returns the time until the next request may be sent, at least.
    func waitOfFirst(at now: Duration) -> Duration {
        minimumWait(for: 1, at: now)
    }

    private func minimumWait(for weight: Int, at now: Duration) -> Duration {
        if isLocal { return local.wait(for: weight, at: now) }
        if let moment = held.usable(weight) { return max(.zero, moment - now) }
        guard isDryUntil > now else { return .zero }
        return isDryUntil - now + settings.interval.multiplied(by: max(0, weight - held.count - 1))
    }

    mutating func enter(
        _ priority: RequestPriority,
        weight: Int,
        waitingUpTo limit: Duration?,
        after wait: Duration,
        numbered numbers: inout WaitNumbers
    ) -> WaitPlace {
        // The share of this process in the limit is not known, but it is at least the local one.
        let slack = limit.map { Int(min(max(0, ($0 - wait) / local.interval), 1e15)) }
        let place = queue.enter(priority, weight: weight, slack: slack, numbered: &numbers)
        if limit == .zero { hurried.append(place) }
        return place
    }

    mutating func leave(_ place: WaitPlace) {
        queue.leave(place)
        hurried.removeAll { $0.number == place.number }
    }

    /// Takes back the permits of a request that was not sent.
    mutating func giveBack(_ weight: Int, at now: Duration) {
        // Permits of the local share are none of the store.
        guard !isLocal else { return local.giveBack(weight) }
        held.add(weight, from: now, lapsingAt: now + settings.lead * 2, settings.interval)
    }

    private mutating func use(_ weight: Int, at now: Duration) -> Bool {
        if held.use(weight, at: now) {
            // The share is used up by the requests that the store has allowed, too. Otherwise each failure of the store
            // would allow a few more.
            local.note(weight, at: now)
            return true
        }
        return isLocal && local.take(weight, at: now)
    }

    // MARK: Steps

    /// Sends what may be sent, and plans the next call to the store and the next alarm.
    ///
    /// - Parameters:
    ///   - now: The moment.
    ///   - isProbing: Whether a request has arrived, so that a store that failed is tried again.
    ///   - clock: The clock of the alarm.
    ///   - numbers: The counter that numbers the call.
    /// - Returns: What has to happen outside of the lock.
    mutating func step(
        at now: Duration,
        isProbing: Bool = false,
        on clock: NetworkClock,
        numbered numbers: inout WaitNumbers
    ) -> Step {
        var step = Step()
        while let first = queue.first(), use(first.weight, at: now) {
            _ = queue.serve()
            step.due.append(first)
        }
        if queue.count == 0 { returned += held.lapse(at: now) }
        step.fetch = planFetch(at: now, isProbing: isProbing, numbered: &numbers)
        refuseHurried(&step, at: now)
        step.alarm = planAlarm(at: now, on: clock)
        return step
    }

    private mutating func planFetch(
        at now: Duration,
        isProbing: Bool,
        numbered numbers: inout WaitNumbers
    ) -> Fetch? {
        guard fetch == nil, now >= askAt else { return nil }
        let missing = queue.weight - held.count
        guard missing > 0 || returned > 0 && !isLocal || isLocal && isProbing else { return nil }
        let permits = max(missing, isLocal ? 1 : 0)
        var spare = 0
        if permits > 0 {
            spare = max(0, recent.expected(within: settings.lead, upTo: settings.maximumBatch, at: now) - permits)
            recent.begin(permits + spare, at: now)
        }
        let next = Fetch(number: numbers.next(), permits: permits, spare: spare, returned: returned)
        (fetch, returned) = (next.number, 0)
        return next
    }

    private mutating func refuseHurried(_ step: inout Step, at now: Duration) {
        guard !hurried.isEmpty else { return }
        hurried.removeAll { place in step.due.contains { $0.number == place.number } }
        guard isLocal || fetch == nil, !hurried.isEmpty else { return }
        (step.refused, hurried) = (hurried, [])
        for place in step.refused {
            queue.leave(place)
        }
        step.wait = wait(for: 1, at: now)
    }

    /// Stores the alarm of the time limit of a call; returns `false` if the call has ended.
    mutating func keep(limit: Alarm, of number: UInt64) -> Bool {
        guard fetch == number else { return false }
        fetchLimit = limit
        return true
    }

    /// Ends a call to the store.
    ///
    /// A call that ends after its time limit has only its permits added.
    ///
    /// - Returns: The alarm of its time limit.
    mutating func end(_ demand: Fetch, with result: FetchResult, at now: Duration) -> Alarm? {
        let isLate = fetch != demand.number
        if case .granted(let grant) = result {
            add(grant, at: now)
        }
        guard !isLate else { return nil }
        fetch = nil
        switch result {
        case .granted(let grant):
            isLocal = false
            let wait = min(grant.wait, longestWait)
            let isShort = grant.permits < demand.permits
            askAt = now + (grant.permits == 0 ? wait : .zero)
            isDryUntil = isShort ? now + wait + (grant.permits == 0 ? .zero : settings.interval) : .zero
        case .failed:
            (isLocal, returned) = (true, 0)
            askAt = now + max(settings.lead, .milliseconds(10))
        case .refused(let wait):
            (isLocal, returned) = (true, 0)
            askAt = now + max(wait, .milliseconds(1))
        }
        defer { fetchLimit = nil }
        return fetchLimit
    }

    /// The maximum time for which the store is believed that there are no permits.
    private var longestWait: Duration {
        settings.interval.multiplied(by: settings.burst) + settings.interval + RateLimitDemand.longestTurn
    }

    private mutating func add(_ grant: RateLimitGrant, at now: Duration) {
        guard grant.permits > 0 else { return }
        held.add(
            grant.permits,
            from: now + grant.wait - settings.interval.multiplied(by: grant.permits - 1),
            lapsingAt: now + grant.wait + settings.lead * 2,
            settings.interval
        )
    }

    // MARK: The alarm

    private mutating func planAlarm(at now: Duration, on clock: NetworkClock) -> AlarmPlan? {
        let moment = nextMoment(at: now)
        if let alarm, let moment, alarm <= moment, alarmClock.map({ $0 === clock }) == true { return nil }
        guard moment != nil || alarm != nil else { return nil }
        defer { (alarm, handle, alarmClock) = (moment, nil, clock) }
        return AlarmPlan(moment: moment, replaced: handle)
    }

    /// The next moment at which a step has an effect; `nil` if only a request or the store has one.
    private mutating func nextMoment(at now: Duration) -> Duration? {
        guard let first = queue.first() else { return held.lapseAt }
        var moments: [Duration] = []
        if let usable = held.usable(first.weight) { moments.append(usable) }
        if isLocal { moments.append(now + local.wait(for: first.weight, at: now)) }
        if fetch == nil, queue.weight > held.count { moments.append(askAt) }
        return moments.min().map { max($0, now) }
    }

    /// Stores an alarm so that it can be cancelled; returns `false` if the alarm is no longer needed.
    mutating func keep(_ alarm: Alarm, for moment: Duration, on clock: NetworkClock) -> Bool {
        guard self.alarm == moment, handle == nil, alarmClock.map({ $0 === clock }) == true else { return false }
        handle = alarm
        return true
    }

    /// Records that an alarm rings.
    mutating func ring(_ moment: Duration) {
        guard alarm == moment else { return }
        (alarm, handle) = (nil, nil)
    }
}

/// The permits that a process holds, in the order in which they may be used.
private struct HeldPermits {
    private struct Batch {
        var count: Int
        /// The moment from which the first of the permits may be used.
        var from: Duration
        let interval: Duration
        let lapsesAt: Duration

        func usable(_ number: Int) -> Duration {
            from + interval.multiplied(by: number - 1)
        }
    }

    private var batches: Queue<Batch> = []
    private(set) var count = 0

    /// The moment at which the first permits lapse.
    var lapseAt: Duration? {
        batches.lazy.map(\.lapsesAt).min()
    }

    mutating func add(_ count: Int, from moment: Duration, lapsingAt end: Duration, _ interval: Duration) {
        batches.append(Batch(count: count, from: moment, interval: interval, lapsesAt: end))
        self.count += count
    }

    /// Returns the moment from which a number of permits may be used; `nil` if there are fewer.
    func usable(_ weight: Int) -> Duration? {
        guard weight <= count else { return nil }
        var (left, moment) = (weight, Duration.zero)
        for batch in batches where left > 0 {
            moment = max(moment, batch.usable(min(left, batch.count)))
            left -= batch.count
        }
        return moment
    }

    mutating func use(_ weight: Int, at now: Duration) -> Bool {
        guard let moment = usable(weight), moment <= now else { return false }
        count -= weight
        var left = weight
        while left > 0, let first = batches.first {
            if first.count <= left {
                batches.removeFirst()
            } else {
                batches[0].from = first.usable(left + 1)
                batches[0].count -= left
            }
            left -= first.count
        }
        return true
    }

    /// Removes the permits that were not used in time.
    ///
    /// - Returns: The number of those to give back. Permits of long ago are not, because their time has passed.
    mutating func lapse(at now: Duration) -> Int {
        guard let lapseAt, lapseAt <= now else { return 0 }
        let lapsed = batches.filter { $0.lapsesAt <= now }
        batches.removeAll { $0.lapsesAt <= now }
        count -= lapsed.reduce(0) { $0 + $1.count }
        return lapsed.reduce(0) { $0 + ($1.lapsesAt + .seconds(1) > now ? $1.count : 0) }
    }
}

/// The permits that were used lately, from which the next batch follows.
private struct RecentDemand {
    var start = Duration.zero
    /// The number of permits that requests have asked for since the start.
    var count = 0
    private var last = 1

    /// Returns the number of permits that will be used within a time, at most twice those of the last batch.
    func expected(within time: Duration, upTo maximum: Int, at now: Duration) -> Int {
        let elapsed = now - start
        guard elapsed > .zero else { return min(count, maximum, 2 * last) }
        return Int(min(Double(count) * (time / elapsed), Double(min(maximum, 2 * last))).rounded(.up))
    }

    mutating func begin(_ permits: Int, at now: Duration) {
        (start, count, last) = (now, 0, min(permits, 1 << 30))
    }
}

/// The part of the limit that a process uses without the store.
private struct LocalShare {
    /// The moment at which all permits of the share are available again.
    private(set) var emptyAt = Duration.zero
    let interval: Duration
    private let tolerance: Duration

    init(_ settings: SharedRateCell.Settings) {
        interval = settings.interval * (1 / settings.localShare)
        tolerance = interval.multiplied(by: max(1, Int(Double(settings.burst) * settings.localShare)) - 1)
    }

    func wait(for weight: Int, at now: Duration) -> Duration {
        // A request that weighs more than the burst of the share needs all of it, and leaves a debt.
        let slack = max(.zero, tolerance - interval.multiplied(by: weight - 1))
        return max(.zero, emptyAt - now - slack)
    }

    mutating func take(_ weight: Int, at now: Duration) -> Bool {
        guard wait(for: weight, at: now) == .zero else { return false }
        emptyAt = max(emptyAt, now) + interval.multiplied(by: weight)
        return true
    }

    mutating func giveBack(_ weight: Int) {
        emptyAt -= interval.multiplied(by: weight)
    }

    /// Counts a request that the store has allowed.
    mutating func note(_ weight: Int, at now: Duration) {
        let limit = max(emptyAt, now + tolerance + interval)
        emptyAt = min(max(emptyAt, now) + interval.multiplied(by: weight), limit)
    }
}
