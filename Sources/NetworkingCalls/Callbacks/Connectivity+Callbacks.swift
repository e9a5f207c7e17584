public import Dispatch
public import NetworkingCore

extension Connectivity {
    /// Passes the status to a closure on a queue as soon as it is known, and then each change.
    ///
    /// - Parameters:
    ///   - queue: The queue for the closure.
    ///   - handler: Receives the status. A busy queue gets only the newest one.
    /// - Returns: A handle that ends the calls of the closure. Releasing it does not end them.
    @discardableResult
    public func onChange(
        queue: DispatchQueue,
        _ handler: @escaping @Sendable (ConnectivityStatus) -> Void
    ) -> CallHandle {
        let callback = Callback<Void>(on: queue) { _ in }
        return callback.start { try await callback.pass(changes, to: handler) }
    }

    /// Passes the status to a closure on the main actor as soon as it is known, and then each change.
    ///
    /// ```swift
    /// let observation = SystemConnectivity().onChange(on: .main) { status in
    ///     label.text = status.isSatisfied ? "" : "You are offline."
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - main: The main queue, on which the closure runs.
    ///   - handler: Receives the status. A busy queue gets only the newest one.
    /// - Returns: A handle that ends the calls of the closure. Releasing it does not end them.
    @discardableResult
    public func onChange(
        on main: MainQueue,
        _ handler: @escaping @MainActor (ConnectivityStatus) -> Void
    ) -> CallHandle {
        onChange(queue: .main, MainQueue.closure(handler))
    }
}
