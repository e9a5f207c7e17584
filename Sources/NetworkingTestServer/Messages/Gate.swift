#if TestServer
private import Synchronization

/// A barrier that holds tasks until a test opens it.
///
/// A handler that waits at a gate keeps its request in flight until the test opens the gate, without a fixed delay:
///
/// ```swift
/// let gate = Gate()
/// server.route(.get, "/slow") { _ in
///     try await gate.wait()
///     return .ok
/// }
/// ```
///
/// A gate opens once and stays open.
public final class Gate: Sendable {
    private let state = Mutex(State())

    /// Creates a closed gate.
    public init() {}

    /// Whether the gate has been opened.
    public var isOpen: Bool {
        state.withLock { $0.isOpen }
    }

    /// Opens the gate for all current and later waiters.
    ///
    /// Opening it twice is allowed.
    public func open() {
        for waiter in state.withLock({ $0.open() }) {
            waiter.resume(returning: true)
        }
    }

    /// Waits until the gate is open.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before the gate opens, or before it starts to wait.
    public func wait() async throws(CancellationError) {
        let id = state.withLock { $0.makeID() }
        let isAdmitted = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let result = state.withLock { $0.enter(id, continuation) }
                if let result { continuation.resume(returning: result) }
            }
        } onCancel: {
            state.withLock { $0.cancel(id) }?.resume(returning: false)
        }
        state.withLock { $0.forget(id) }
        guard isAdmitted else { throw CancellationError() }
    }
}

extension Gate {
    private struct State {
        typealias Waiter = CheckedContinuation<Bool, Never>

        private(set) var isOpen = false
        private var lastID = 0
        private var waiters: [Int: Waiter] = [:]
        private var cancelled: Set<Int> = []

        mutating func makeID() -> Int {
            lastID += 1
            return lastID
        }

        /// Returns `true` if the gate is open, `false` if the task was already cancelled, and `nil` if it has to wait.
        mutating func enter(_ id: Int, _ waiter: Waiter) -> Bool? {
            if cancelled.contains(id) { return false }
            if isOpen { return true }
            waiters[id] = waiter
            return nil
        }

        /// Returns the waiter to resume, or records the cancellation of a waiter that has not entered yet.
        mutating func cancel(_ id: Int) -> Waiter? {
            guard let waiter = waiters.removeValue(forKey: id) else {
                cancelled.insert(id)
                return nil
            }
            return waiter
        }

        /// Removes a cancellation that was recorded after the waiter was resumed.
        mutating func forget(_ id: Int) {
            cancelled.remove(id)
        }

        mutating func open() -> [Waiter] {
            isOpen = true
            defer { waiters = [:] }
            return Array(waiters.values)
        }
    }
}
#endif
