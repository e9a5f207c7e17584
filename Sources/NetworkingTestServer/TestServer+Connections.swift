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

extension TestServer {
    /// Says what the server does to a connection that it has accepted, before anything was said.
    public enum ConnectionEffect: Sendable, Hashable {
        /// Serves it.
        case serve

        /// Closes it.
        case close

        /// Resets it.
        case reset

        /// Closes the server's side alone, and waits until the client hangs up or the server stops.
        case halfClose

        /// Says nothing, and drops what the client sends, until that hangs up or the server stops.
        case stall

        /// Answers the first bytes with the alert of TLS that says that the handshake failed, and closes.
        ///
        /// The server speaks no TLS: a client that is given a URL with `https` fails at any connection of this server,
        /// with this effect in the way it does at a server that refuses all of its ciphers.
        case failHandshake
    }

    /// Queues what is done to the next connections, one for each; those behind them are served.
    ///
    /// ```swift
    /// server.enqueueConnections(.reset, .stall)
    /// ```
    ///
    /// A port that nobody listens on refuses a connection: ``stop()`` before, and ``restart()`` behind it. One that
    /// never completes a connection is ``withUnresponsiveServer(_:)``.
    ///
    /// - Parameter effects: What is done, to the next connection first.
    public func enqueueConnections(_ effects: ConnectionEffect...) {
        switchboard.withScript { $0.enqueueConnections(effects) }
    }

    /// Says what is done to one connection, ahead of those that are queued.
    ///
    /// - Parameters:
    ///   - number: The number of the connection, from 1, as in ``RecordedRequest/connection``.
    ///   - effect: What is done to it.
    /// - Precondition: `number` is greater than zero.
    public func onConnection(_ number: Int, _ effect: ConnectionEffect) {
        precondition(number > 0, "the first connection is number 1 (is \(number))")
        switchboard.withScript { $0.setEffect(effect, ofConnection: number) }
    }
}
#endif
