/// A handle to a call that was started with closures, for cancelling it.
///
/// ```swift
/// let call = network.data(request, on: .main) { result in show(result) }
/// stopButton.action = { call.cancel() }
/// ```
///
/// Releasing the handle does not cancel the call, as with a `URLSessionTask`. The handle does not retain the closures
/// of a call that has ended.
public final class CallHandle: Sendable {
    private let onCancel: @Sendable () -> Void

    init(onCancel: @escaping @Sendable () -> Void) {
        self.onCancel = onCancel
    }

    /// Cancels the call, from any thread.
    ///
    /// The exchange ends at once, and the completion receives `CancellationError`. Cancelling a call twice, or after
    /// its end, does nothing.
    public func cancel() {
        onCancel()
    }
}
