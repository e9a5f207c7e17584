import Synchronization

/// The last of a row of values, to tell a new one from one that is told again.
final class LastValue<Value: Equatable & Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)

    /// Takes the next value, and answers whether it differs from the one before.
    func replace(with next: Value) -> Bool {
        value.withLock { value in
            guard value != next else { return false }
            value = next
            return true
        }
    }
}
