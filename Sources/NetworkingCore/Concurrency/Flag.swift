import Synchronization

/// A flag that is set once.
package final class Flag: Sendable {
    private let state = Atomic(false)

    package init() {}

    package var isSet: Bool {
        state.load(ordering: .acquiring)
    }

    /// Sets the flag, and returns whether it was set before.
    @discardableResult
    package func set() -> Bool {
        state.exchange(true, ordering: .acquiringAndReleasing)
    }
}
