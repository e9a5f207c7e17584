import NetworkingResilience

/// The health of the members of a server, and the choice between them.
///
/// It is a pure state machine: the time and the randomness are parameters.
struct EndpointTable {
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
        case ejected(Int, for: Duration)
        case returned(Int)
        /// No member works, and none of the others may be ejected, so all of them are used.
        case panic
    }

    private(set) var members: [EndpointHealth]
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
        members = groups.joined().map { EndpointHealth(weight: $0) }
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
        probeLimit: Duration = EndpointHealth.probeLimit,
        random: UInt64
    ) -> (pick: Pick?, change: Change?) {
        var change: Change?
        if ejectedCount > 0, !isInPanic {
            change = endOldProbe(at: now, jitter: random)
        }
        for group in groups {
            if ejectedCount > 0, !isInPanic, let index = memberToProbe(in: group, at: now, excluding: excluded) {
                probes &+= 1
                members[index].probe = (probes, now + max(probeLimit, EndpointHealth.probeLimit))
                return (take(index, probe: probes), change)
            }
            if let index = choose(in: group, excluding: excluded, random: random) {
                return (take(index, probe: nil), change)
            }
        }
        return (nil, change)
    }

    /// Picks a member for a further attempt of a call.
    ///
    /// - Parameters:
    ///   - tried: The members that the attempts so far have used.
    ///   - mayMoveOn: Whether the request may be sent to another member than one that may have processed it.
    ///   - now: The time.
    ///   - probeLimit: The time after which the attempt counts as failed if it is a probe.
    ///   - random: Random bits.
    /// - Returns: The pick, and an ejection because of a probe that has not ended; no pick if no member is left.
    mutating func pick(
        after tried: EndpointVisits.Tried,
        mayMoveOn: Bool,
        at now: Duration,
        probeLimit: Duration,
        random: UInt64
    ) -> (pick: Pick?, change: Change?) {
        if !mayMoveOn {
            guard tried.inUse == 0 else { return (nil, nil) }
            if let last = tried.last { return (pick(only: last), nil) }
        }
        let next = pick(at: now, excluding: tried.all, probeLimit: probeLimit, random: random)
        guard next.pick == nil else { return next }
        // All usable members have been tried, so the call starts over with those that are free.
        let again = pick(at: now, excluding: tried.inUse, probeLimit: probeLimit, random: random)
        return (again.pick, next.change ?? again.change)
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
        guard members[index].hasFailed(after: outcome == .failure, at: now) else {
            if outcome == .success { setFailing(index, false) }
            return nil
        }
        // At most half of the members, and never the last one; more only if the next group takes over.
        if (ejectedCount + 1) * 2 <= members.count || isReplaced(index) {
            return eject(index, at: now, jitter: jitter)
        }
        let wasInPanic = isInPanic
        setFailing(index, true)
        return isInPanic && !wasInPanic && members.count > 1 ? .panic : nil
    }

    /// Whether no other member of a failing member's group works, and one of another group does.
    private func isReplaced(_ index: Int) -> Bool {
        let working = members.indices.filter { other in
            other != index && members[other].ejectedUntil == nil && !members[other].isFailing
        }
        guard let group = groups.first(where: { $0.contains(index) }), !working.isEmpty else { return false }
        return !working.contains { group.contains($0) }
    }

    private mutating func setFailing(_ index: Int, _ isFailing: Bool) {
        guard members[index].isFailing != isFailing else { return }
        members[index].isFailing = isFailing
        failingCount += isFailing ? 1 : -1
    }

    private mutating func eject(_ index: Int, at now: Duration, jitter: UInt64) -> Change {
        setFailing(index, false)
        ejectedCount += members[index].ejectedUntil == nil ? 1 : 0
        return .ejected(index, for: members[index].eject(at: now, jitter: jitter))
    }

    private mutating func restore(_ index: Int, at now: Duration) -> Change {
        ejectedCount -= 1
        members[index].restore(at: now)
        return .returned(index)
    }

    private mutating func endOldProbe(at now: Duration, jitter: UInt64) -> Change? {
        let old = members.indices.first { members[$0].probe.map { $0.end <= now } == true }
        return old.map { eject($0, at: now, jitter: jitter) }
    }
}
