package import NetworkingCore

/// A place in a queue, with the suspension that is resumed when its turn comes.
package struct WaitPlace: Sendable {
    let priority: RequestPriority
    package let number: UInt64
    package let weight: Int
    package let wait: Suspension<Void>

    /// Waits for the permit of a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - end: The moment at which the wait ends by itself; `nil` for no limit.
    ///   - clock: The clock of this moment.
    ///   - lateness: The error if the wait ends by itself.
    ///   - refusal: The error if a request of higher priority takes the place.
    ///   - leave: Removes the place from its queue; called if the wait ended without a permit.
    ///   - giveBack: Releases a permit that arrived together with the cancellation or the limit, or after a circuit
    ///     further out has opened.
    /// - Throws: `CancellationError` if the caller is cancelled or its limit is reached, or one of the two errors.
    package func permit(
        for request: HTTPRequestData,
        until end: Duration? = nil,
        on clock: NetworkClock,
        late lateness: @autoclosure () -> any Error,
        displaced refusal: @autoclosure () -> any Error,
        leave: @escaping @Sendable () -> Void,
        giveBack: () -> Void
    ) async throws {
        request.waitObserver?.requestWaits()
        let deadline = end.map { WaitDeadline<Void>($0, on: clock, with: .failure(Late())) }
        do {
            try await wait.value(until: request.exchangeLimit, or: deadline, onEnd: leave)
        } catch is Late {
            throw lateness()
        } catch is Displaced {
            throw refusal()
        }
        do {
            try request.checkAfterWait()
        } catch {
            giveBack()
            throw error
        }
    }

    /// Ends the wait, because another request took the place.
    package func displace() {
        // The error of the wait is its own caller's, because the other request may be another user's.
        wait.resume(with: .failure(Displaced()))
    }

    // Both stand for errors that are created for the caller, because creating them reports them to its listeners.
    private struct Displaced: Error {}
    private struct Late: Error {}
}

/// The numbers of the places in all queues of a limiter.
///
/// A limiter discards the queue of an idle host or key, although a cancelled caller may still hold a place in it. If
/// numbers restarted with each queue, that place could have the same number as another caller's place in a new queue.
/// Therefore one counter numbers all places of a limiter.
package struct WaitNumbers {
    package init() {}

    package private(set) var last: UInt64 = 0

    package mutating func next() -> UInt64 {
        last += 1
        return last
    }
}

/// The callers that wait for the same resource, by priority, and in the order of arrival within one priority.
///
/// The time to enter, leave or be served does not depend on the number of callers.
///
/// An abandoned place keeps its entry until it reaches the front, or until such entries outnumber the others.
package struct WaitQueue {
    package init() {}

    private var lines = Array(repeating: Line(), count: RequestPriority.allCases.count)

    /// The number of waiting callers.
    package private(set) var count = 0

    /// The sum of the weights of the places.
    package private(set) var weight = 0

    /// The weight that was served ahead of an earlier place since the queue was last empty.
    private var overtaken = 0

    /// The maximum of ``overtaken`` for each place that may be overtaken only to a limit.
    private var limits = Heap<OvertakingLimit>()

    /// Adds a place at the end of its priority.
    ///
    /// - Parameters:
    ///   - priority: The priority.
    ///   - weight: The weight of the place.
    ///   - slack: The weight of later places that may be served before this one; `nil` for no limit.
    ///   - numbers: The counter that numbers the place.
    /// - Returns: The place.
    package mutating func enter(
        _ priority: RequestPriority,
        weight: Int = 1,
        slack: Int? = nil,
        numbered numbers: inout WaitNumbers
    ) -> WaitPlace {
        let place = WaitPlace(priority: priority, number: numbers.next(), weight: weight, wait: Suspension())
        lines[priority.rawValue].places.append(place)
        count += 1
        self.weight += weight
        if let slack {
            let (limit, overflows) = overtaken.addingReportingOverflow(slack)
            limits.insert(
                OvertakingLimit(overtaken: overflows ? .max : limit, priority: priority, number: place.number)
            )
        }
        return place
    }

    /// Returns the number of waiting callers with at least a given priority.
    package func count(from priority: RequestPriority) -> Int {
        lines[priority.rawValue...].reduce(0) { $0 + $1.count }
    }

    /// Removes and returns the place that is served next.
    package mutating func serve() -> WaitPlace? {
        guard let turn = turn() else { return nil }
        guard let place = lines[turn.line].popFirst() else { return nil }
        if turn.overtakes {
            overtaken += place.weight
        }
        remove(place)
        return place
    }

    /// Returns the place that is served next.
    package mutating func first() -> WaitPlace? {
        turn().flatMap { lines[$0.line].first() }
    }

    /// Returns the line with the place to serve next.
    ///
    /// It is the line of the highest priority, unless that would overtake an older place too far. In that case the
    /// places are served in the order of arrival.
    private mutating func turn() -> (line: Int, overtakes: Bool)? {
        var urgent: (line: Int, place: WaitPlace)?
        var oldest: (line: Int, place: WaitPlace)?
        for line in lines.indices.reversed() {
            guard let place = lines[line].first() else { continue }
            urgent = urgent ?? (line, place)
            if oldest.map({ place.number < $0.place.number }) ?? true {
                oldest = (line, place)
            }
        }
        guard let urgent, let oldest else { return nil }
        guard urgent.line != oldest.line else { return (urgent.line, false) }
        if let limit = smallestLimit(), overtaken + urgent.place.weight > limit { return (oldest.line, false) }
        return (urgent.line, true)
    }

    /// The number of limits in memory, including those of abandoned places.
    var limitCount: Int {
        limits.count
    }

    /// Returns the maximum of ``overtaken`` for the places that are in the queue.
    private mutating func smallestLimit() -> Int? {
        while let limit = limits.min {
            if lines[limit.priority.rawValue].isWaiting(limit.number) { return limit.overtaken }
            limits.popMin()
        }
        return nil
    }

    /// Removes and returns the last place of the lowest priority, if that is below the given one.
    package mutating func yield(to priority: RequestPriority) -> WaitPlace? {
        for index in 0..<priority.rawValue {
            if let place = lines[index].popLast() {
                remove(place)
                return place
            }
        }
        return nil
    }

    /// Removes a place after its caller has stopped waiting; does nothing if it is not in the queue.
    package mutating func leave(_ place: WaitPlace) {
        if lines[place.priority.rawValue].leave(place.number) {
            remove(place)
        }
    }

    private mutating func remove(_ place: WaitPlace) {
        count -= 1
        weight -= place.weight
        if count == 0 {
            overtaken = 0
            limits = Heap()
        } else if limits.count > 2 * count + 64 {
            // The limit of an abandoned place is removed at the top of the heap, or here once such limits outnumber the
            // others.
            limits = Heap(limits.unordered.filter { lines[$0.priority.rawValue].isWaiting($0.number) })
        }
    }

    /// The maximum weight that may overtake a place.
    private struct OvertakingLimit: Comparable {
        let overtaken: Int
        let priority: RequestPriority
        let number: UInt64

        static func < (lhs: Self, rhs: Self) -> Bool {
            (lhs.overtaken, lhs.number) < (rhs.overtaken, rhs.number)
        }
    }

    /// The places of one priority.
    private struct Line {
        var places: Queue<WaitPlace> = []
        /// The numbers of the abandoned places that still have entries.
        private var gone: Set<UInt64> = []

        var count: Int {
            places.count - gone.count
        }

        mutating func leave(_ number: UInt64) -> Bool {
            guard contains(number), gone.insert(number).inserted else { return false }
            if gone.count > places.count / 2 + 16 {
                places.removeAll { gone.contains($0.number) }
                gone = []
            }
            return true
        }

        func isWaiting(_ number: UInt64) -> Bool {
            contains(number) && !gone.contains(number)
        }

        /// Whether a place has an entry; entries are in the order of their numbers.
        private func contains(_ number: UInt64) -> Bool {
            var (low, high) = (places.startIndex, places.endIndex)
            while low < high {
                let middle = low + (high - low) / 2
                if places[middle].number < number {
                    low = middle + 1
                } else {
                    high = middle
                }
            }
            return low < places.endIndex && places[low].number == number
        }

        mutating func first() -> WaitPlace? {
            while let place = places.first {
                guard gone.remove(place.number) != nil else { return place }
                places.removeFirst()
            }
            return nil
        }

        mutating func popFirst() -> WaitPlace? {
            let place = first()
            if place != nil {
                places.removeFirst()
            }
            return place
        }

        mutating func popLast() -> WaitPlace? {
            while let place = places.popLast() {
                if gone.remove(place.number) == nil { return place }
            }
            return nil
        }
    }
}
