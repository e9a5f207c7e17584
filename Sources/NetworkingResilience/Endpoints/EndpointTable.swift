/// The health of the members of a server, and the choice between them.
///
/// It is a pure state machine: the time and the randomness are parameters.
struct EndpointTable {
    /// The limits of ejection.
    enum Limit {
        /// The number of failures in succession that eject a member.
        static let consecutiveFailures = 5
        /// The minimum number of calls in ``window`` for the ratio of failures to count; half of them must fail.
        static let minimumCalls = 10
        static let window = Duration.seconds(10)
        /// The duration of the first ejection; each further one is longer by the same duration.
        static let ejection = Duration.seconds(30)
        static let maximumEjection = Duration.seconds(300)
        /// The maximum extension of an ejection, as a fraction of it.
        static let jitter = 0.1
        /// The time in service that reduces the number of counted ejections by one.
        static let cleanInterval = Duration.seconds(10)
        /// The minimum time after which an unfinished probe counts as failed.
        static let probe = Duration.seconds(10)
    }

    /// The choice of a member for one attempt, which ends with ``end(_:as:at:jitter:)``.
    struct Pick: Equatable {
        let index: Int
        /// The number of the member's ejections and returns when it was picked, by which a late result is recognized.
        let generation: UInt32
        /// The number of the probe; `nil` for an attempt that is not one.
        let probe: UInt32?
    }

    /// The conclusion from the result of an attempt.
    enum Outcome: Equatable {
        /// The member has responded.
        case success
        /// The member failed.
        case failure
        /// The result says nothing about the member.
        case nothing
    }

    /// A change that a result has caused.
    enum Change: Equatable {
        case ejected(Int, until: Duration)
        case returned(Int)
        /// No member works, and none of the others may be ejected, so all of them are used.
        case panic
    }

    struct Member {
        let weight: Double
        var inFlight = 0
        var consecutiveFailures = 0
        var window = FailureWindow()
        /// The ejections that count for the duration of the next one.
        var ejections = 0
        /// The end of the ejection; `nil` for a member in service.
        var ejectedUntil: Duration?
        /// The moment from which the member has been in service since its last ejection.
        var returnedAt = Duration.zero
        /// Whether the member would have been ejected if enough others were in service.
        var isFailing = false
        var generation: UInt32 = 0
        var probe: (number: UInt32, end: Duration)?

        init(weight: Double) {
            self.weight = weight
        }
    }

    private(set) var members: [Member]
    private let groups: [Range<Int>]
    private var probes: UInt32 = 0
    private var ejectedCount = 0
    private var failingCount = 0

    /// Creates a table.
    ///
    /// - Parameter groups: The weights of the members of each group.
    init(groups: [[Double]]) {
        var start = 0
        self.groups = groups.map { group in
            defer { start += group.count }
            return start..<(start + group.count)
        }
        members = groups.joined().map { Member(weight: $0) }
    }

    /// Whether every member is ejected or fails.
    var isInPanic: Bool {
        ejectedCount + failingCount == members.count
    }

    // MARK: Picking

    /// Picks a member of the first group that has a usable one.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - excluded: A bit for each member that is not picked.
    ///   - probeLimit: The time after which the attempt counts as failed if it is a probe.
    ///   - random: Random bits.
    /// - Returns: The pick, and an ejection because of a probe that has not ended; no pick if no member is left.
    mutating func pick(
        at now: Duration,
        excluding excluded: UInt64 = 0,
        probeLimit: Duration = Limit.probe,
        random: UInt64
    ) -> (pick: Pick?, change: Change?) {
        var change: Change?
        if ejectedCount > 0, !isInPanic {
            change = endOldProbe(at: now, jitter: random)
        }
        for group in groups {
            if ejectedCount > 0, !isInPanic, let index = memberToProbe(in: group, at: now, excluding: excluded) {
                probes &+= 1
                members[index].probe = (probes, now + max(probeLimit, Limit.probe))
                return (take(index, probe: probes), change)
            }
            if let index = choose(in: group, excluding: excluded, random: random) {
                return (take(index, probe: nil), change)
            }
        }
        return (nil, change)
    }

    /// Picks a given member, in whatever state it is.
    mutating func pick(only index: Int) -> Pick {
        take(index, probe: nil)
    }

    private mutating func take(_ index: Int, probe: UInt32?) -> Pick {
        members[index].inFlight += 1
        return Pick(index: index, generation: members[index].generation, probe: probe)
    }

    private func isUsable(_ index: Int, excluding excluded: UInt64) -> Bool {
        excluded & (1 << UInt64(index)) == 0 && (members[index].ejectedUntil == nil || isInPanic)
    }

    /// Draws two members by their weights, and returns the one with fewer attempts in flight for its weight.
    private func choose(in group: Range<Int>, excluding excluded: UInt64, random: UInt64) -> Int? {
        var total = 0.0
        for index in group where isUsable(index, excluding: excluded) {
            total += members[index].weight
        }
        // The high and the low half of the bits are two independent fractions.
        let fractions = (Double(random >> 32) * 0x1p-32, Double(random & 0xFFFF_FFFF) * 0x1p-32)
        guard let first = draw(fractions.0 * total, in: group, excluding: excluded) else { return nil }
        let rest = excluded | 1 << UInt64(first)
        guard let second = draw(fractions.1 * (total - members[first].weight), in: group, excluding: rest) else {
            return first
        }
        return load(of: second) < load(of: first) ? second : first
    }

    /// Returns the usable member at a place on the line of the weights; `nil` if no member is usable.
    private func draw(_ place: Double, in group: Range<Int>, excluding excluded: UInt64) -> Int? {
        var rest = place
        var last: Int?
        for index in group where isUsable(index, excluding: excluded) {
            rest -= members[index].weight
            last = index
            if rest < 0 { return index }
        }
        // Rounding may lead beyond the last member.
        return last
    }

    private func load(of index: Int) -> Double {
        Double(members[index].inFlight) / members[index].weight
    }

    private func memberToProbe(in group: Range<Int>, at now: Duration, excluding excluded: UInt64) -> Int? {
        group.first { index in
            guard excluded & (1 << UInt64(index)) == 0, let end = members[index].ejectedUntil else { return false }
            return end <= now && members[index].probe == nil
        }
    }

    // MARK: Results

    /// Ends a pick.
    ///
    /// - Parameters:
    ///   - pick: The pick.
    ///   - outcome: The conclusion from the result.
    ///   - now: The time.
    ///   - jitter: Random bits for the duration of an ejection.
    /// - Returns: The change, if the result caused one.
    mutating func end(_ pick: Pick, as outcome: Outcome, at now: Duration, jitter: UInt64) -> Change? {
        let index = pick.index
        members[index].inFlight -= 1
        if let number = pick.probe {
            guard members[index].probe?.number == number else { return nil }
            members[index].probe = nil
        }
        guard outcome != .nothing, pick.generation == members[index].generation else { return nil }
        guard members[index].ejectedUntil == nil else {
            switch outcome {
            case .success: return restore(index, at: now)
            // A failure of an ejected member that is used in a panic is no news.
            default: return pick.probe == nil ? nil : eject(index, at: now, jitter: jitter)
            }
        }
        members[index].window.add(isFailure: outcome == .failure, at: now)
        guard outcome == .failure else {
            members[index].consecutiveFailures = 0
            setFailing(index, false)
            return nil
        }
        members[index].consecutiveFailures += 1
        guard members[index].hasFailed else { return nil }
        // At most half of the members, and never the last one.
        if (ejectedCount + 1) * 2 <= members.count { return eject(index, at: now, jitter: jitter) }
        let wasInPanic = isInPanic
        setFailing(index, true)
        return isInPanic && !wasInPanic && members.count > 1 ? .panic : nil
    }

    private mutating func setFailing(_ index: Int, _ isFailing: Bool) {
        guard members[index].isFailing != isFailing else { return }
        members[index].isFailing = isFailing
        failingCount += isFailing ? 1 : -1
    }

    private mutating func eject(_ index: Int, at now: Duration, jitter: UInt64) -> Change {
        setFailing(index, false)
        if members[index].ejectedUntil == nil {
            ejectedCount += 1
            let clean = Int(min((now - members[index].returnedAt) / Limit.cleanInterval, 1_000))
            members[index].ejections = max(0, members[index].ejections - max(0, clean))
        }
        members[index].ejections += 1
        let duration = min(Limit.ejection * members[index].ejections, Limit.maximumEjection)
        let end = now + duration + duration * (Limit.jitter * Double(jitter >> 11) * 0x1p-53)
        members[index].ejectedUntil = end
        members[index].probe = nil
        members[index].generation &+= 1
        return .ejected(index, until: end)
    }

    private mutating func restore(_ index: Int, at now: Duration) -> Change {
        ejectedCount -= 1
        members[index].ejectedUntil = nil
        members[index].probe = nil
        members[index].returnedAt = now
        members[index].consecutiveFailures = 0
        members[index].window = FailureWindow()
        members[index].generation &+= 1
        return .returned(index)
    }

    private mutating func endOldProbe(at now: Duration, jitter: UInt64) -> Change? {
        let old = members.indices.first { members[$0].probe.map { $0.end <= now } == true }
        return old.map { eject($0, at: now, jitter: jitter) }
    }
}

extension EndpointTable.Member {
    /// Whether the latest failure is a reason for an ejection.
    fileprivate var hasFailed: Bool {
        consecutiveFailures >= EndpointTable.Limit.consecutiveFailures
            || window.calls >= EndpointTable.Limit.minimumCalls && window.failures * 2 >= window.calls
    }
}

/// The calls of the last ten seconds, in ten buckets.
struct FailureWindow {
    private typealias Buckets = (
        UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64
    )

    // A tuple of counters in place of an array, so that the window needs no memory of its own.
    /// The calls in the high half and the failures in the low half of each bucket.
    private var buckets: Buckets = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    private var second: Int64 = 0
    private(set) var calls = 0
    private(set) var failures = 0

    mutating func add(isFailure: Bool, at now: Duration) {
        advance(to: now.components.seconds)
        calls += 1
        failures += isFailure ? 1 : 0
        withBucket(second) { $0 &+= 1 << 32 | (isFailure ? 1 : 0) }
    }

    private mutating func advance(to now: Int64) {
        // A clock that another stack uses may be behind.
        guard now > second else { return }
        for passed in 0..<min(10, now - second) {
            let old = withBucket(now - passed) { bucket in
                defer { bucket = 0 }
                return bucket
            }
            calls -= Int(old >> 32)
            failures -= Int(old & 0xFFFF_FFFF)
        }
        second = now
    }

    private mutating func withBucket<Result>(_ second: Int64, _ body: (inout UInt64) -> Result) -> Result {
        withUnsafeMutableBytes(of: &buckets) { bytes in
            bytes.withMemoryRebound(to: UInt64.self) { body(&$0[Int(((second % 10) + 10) % 10)]) }
        }
    }
}
