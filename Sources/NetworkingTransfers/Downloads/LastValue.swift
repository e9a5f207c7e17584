import Synchronization

/// The last value of a sequence, to detect repeated values.
final class LastValue<Value: Equatable & Sendable>: Sendable {
    private let last: Mutex<Value?>

    init(_ value: Value? = nil) {
        last = Mutex(value)
    }

    /// The last value; `nil` if there is none.
    var value: Value? {
        last.withLock { $0 }
    }

    /// Stores the next value and returns whether it differs from the one before.
    func replace(with next: Value) -> Bool {
        last.withLock { value in
            guard value != next else { return false }
            value = next
            return true
        }
    }
}
