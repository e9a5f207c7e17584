import NetworkingCore

extension PreparedCall {
    /// Passes a `curl` command for the request to a closure, whether the call has started or not.
    ///
    /// ```swift
    /// network.prepare(request).cURL { print($0) }.start()
    /// ```
    ///
    /// The command contains the request as the stack rewrites it, with secrets redacted.
    ///
    /// - Parameter handler: Receives the command, on the main actor.
    /// - Returns: The same call.
    @discardableResult
    public func cURL(_ handler: @escaping @MainActor (String) -> Void) -> PreparedCall {
        onMain.cURL(MainQueue.closure(handler)).call
    }
}

extension QueuedCall {
    /// Passes a `curl` command for the request to a closure; see ``PreparedCall/cURL(_:)``.
    ///
    /// - Parameter handler: Receives the command, on the queue.
    /// - Returns: The same call.
    @discardableResult
    public func cURL(_ handler: @escaping @Sendable (String) -> Void) -> QueuedCall {
        let command = call.exchange.resolve().curl()
        queue.run { handler(command) }
        return self
    }
}
