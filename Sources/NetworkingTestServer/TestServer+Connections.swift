#if TestServer
extension TestServer {
    /// The number of connections that were accepted since the start.
    public var acceptedConnections: Int {
        switchboard.acceptedConnections
    }

    /// The number of connections that neither side has closed.
    public var openConnections: Int {
        switchboard.openConnections
    }

    /// Waits until no more than a number of connections are open.
    ///
    /// It shows that a client that gives up hangs up. A client that keeps connections for further requests keeps them
    /// open until it is told to let go.
    ///
    /// - Parameter count: How many may be open.
    /// - Throws: `CancellationError` when the task is cancelled first.
    public func waitForOpenConnections(_ count: Int = 0) async throws(CancellationError) {
        let departure = Gate()
        switchboard.open(departure, atOpenConnections: count)
        defer { switchboard.forget(departure) }
        try await departure.wait()
    }
}
#endif
