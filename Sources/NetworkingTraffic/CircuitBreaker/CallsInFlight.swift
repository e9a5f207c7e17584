import NetworkingCore

/// The calls in flight through a circuit, in the order of their start, to find calls that take too long.
///
/// It keeps the order only until a call has ended or is overdue, so the calls after a long one take no memory.
struct CallsInFlight {
    private struct Call {
        let start: Duration
        var hasEnded = false
    }

    private var calls: Queue<Call> = []
    /// The number of the first call in ``calls``.
    private var first: UInt64 = 0

    /// The number of calls in memory.
    var count: Int {
        calls.count
    }

    /// The overdue calls that have not ended.
    private var overdueCalls: Set<UInt64> = []
    /// The moment of the last response.
    var lastResponse: Duration

    init(at now: Duration) {
        lastResponse = now
    }

    /// The number of overdue calls that have not ended.
    var overdue: Int {
        overdueCalls.count
    }

    /// Adds a call.
    ///
    /// - Returns: The number of the call, for ``end(_:)``.
    mutating func begin(at now: Duration) -> UInt64 {
        calls.append(Call(start: now))
        return first + UInt64(calls.count) - 1
    }

    /// Ends a call; does nothing if it has ended.
    ///
    /// - Returns: Whether the call was overdue.
    mutating func end(_ number: UInt64) -> Bool {
        guard number >= first else { return overdueCalls.remove(number) != nil }
        calls[Int(number - first)].hasEnded = true
        while calls.first?.hasEnded == true {
            removeFirst()
        }
        return false
    }

    /// Counts the calls that have become overdue, each of them once.
    ///
    /// - Parameter latestStart: The calls that started until then are overdue.
    /// - Returns: Their number.
    mutating func becomeOverdue(startedBy latestStart: Duration) -> Int {
        let before = overdue
        while let call = calls.first, call.hasEnded || call.start <= latestStart {
            if !call.hasEnded { overdueCalls.insert(first) }
            removeFirst()
        }
        return overdue - before
    }

    /// Forgets all calls, whose numbers are not used again.
    mutating func removeAll(at now: Duration) {
        first += UInt64(calls.count)
        calls.removeAll()
        overdueCalls.removeAll()
        lastResponse = now
    }

    private mutating func removeFirst() {
        calls.removeFirst()
        first += 1
    }
}
