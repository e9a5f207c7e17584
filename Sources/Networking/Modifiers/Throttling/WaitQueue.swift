import DequeModule

/// A place in a queue, and how its owner hears that its turn has come.
struct WaitPlace: Sendable {
    let priority: RequestPriority
    let number: UInt64
    let weight: Int
    let wait: Suspension<Void>
}

/// Who waits for the same thing, by priority, and by arrival within one.
///
/// Entering, leaving and being served take the same
/// time however many there are.
///
/// One that leaves keeps its entry until it comes to the front, or until such entries outnumber the others.
struct WaitQueue {
    private var lines = Array(repeating: Line(), count: RequestPriority.allCases.count)
    private var lastNumber: UInt64 = 0

    /// How many wait.
    private(set) var count = 0

    /// What they want together.
    private(set) var weight = 0

    mutating func enter(_ priority: RequestPriority, weight: Int = 1) -> WaitPlace {
        lastNumber += 1
        let place = WaitPlace(priority: priority, number: lastNumber, weight: weight, wait: Suspension())
        lines[priority.rawValue].places.append(place)
        count += 1
        self.weight += weight
        return place
    }

    /// Takes the one whose turn it is.
    mutating func serve() -> WaitPlace? {
        for index in lines.indices.reversed() {
            if let place = lines[index].popFirst() {
                remove(place)
                return place
            }
        }
        return nil
    }

    /// The one whose turn it is.
    mutating func first() -> WaitPlace? {
        for index in lines.indices.reversed() {
            if let place = lines[index].first() { return place }
        }
        return nil
    }

    /// Takes the last of the lowest priority, if that is below one.
    mutating func yield(to priority: RequestPriority) -> WaitPlace? {
        for index in 0..<priority.rawValue {
            if let place = lines[index].popLast() {
                remove(place)
                return place
            }
        }
        return nil
    }

    /// Counts one out that does not wait any more; does nothing when it has been taken out.
    mutating func leave(_ place: WaitPlace) {
        if lines[place.priority.rawValue].leave(place.number) {
            remove(place)
        }
    }

    private mutating func remove(_ place: WaitPlace) {
        count -= 1
        weight -= place.weight
    }

    /// Those of one priority.
    private struct Line {
        var places: Deque<WaitPlace> = []
        /// The numbers of those who left, as long as their entries are there.
        private var gone: Set<UInt64> = []

        mutating func leave(_ number: UInt64) -> Bool {
            guard contains(number), gone.insert(number).inserted else { return false }
            if gone.count > places.count / 2 + 16 {
                places.removeAll { gone.contains($0.number) }
                gone = []
            }
            return true
        }

        /// Whether its entry is there; entries are in the order of their numbers.
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
