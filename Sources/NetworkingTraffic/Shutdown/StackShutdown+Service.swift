#if ServiceLifecycle
public import ServiceLifecycle

/// A shutdown is a service that drains its stacks on a graceful shutdown.
///
/// ```swift
/// import Logging
/// import Networking
/// import ServiceLifecycle
/// import UnixSignals
///
/// func run(_ server: any Service, _ shutdown: StackShutdown) async throws {
///     let group = ServiceGroup(
///         services: [shutdown, server],
///         gracefulShutdownSignals: [.sigterm],
///         logger: Logger(label: "shop")
///     )
///     try await group.run()
/// }
/// ```
///
/// A group shuts its services down from the last to the first. Put the shutdown before the services that send requests
/// through its stacks, so that these have ended when it starts.
extension StackShutdown: Service {
    /// Waits for a graceful shutdown, and drains.
    ///
    /// If the group is cancelled instead, the calls in flight are cancelled at once.
    ///
    /// - Throws: `CancellationError` if the group is cancelled.
    public func run() async throws {
        // It throws if the group is cancelled, and then drain() does not wait.
        try? await gracefulShutdown()
        try await drain()
    }
}
#endif
