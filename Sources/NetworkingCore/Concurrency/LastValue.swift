import Synchronization

/// The last of a row of values, to tell a new one from one that is told again.
package final class LastValue<Value: Equatable & Sendable>: Sendable {
    private let last: Mutex<Value?>

    package init(_ value: Value? = nil) {
        last = Mutex(value)
    }

    /// The last; nil when there was none.
    package var value: Value? {
        last.withLock { $0 }
    }

    /// Takes the next value, and answers whether it differs from the one before.
    package func replace(with next: Value) -> Bool {
        last.withLock { value in
            guard value != next else { return false }
            value = next
            return true
        }
    }
}
