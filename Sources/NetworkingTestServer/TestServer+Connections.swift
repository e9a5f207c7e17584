#if TestServer
extension TestServer {
    /// The number of connections accepted since the start.
    public var acceptedConnections: Int {
        switchboard.acceptedConnections
    }

    /// The number of accepted connections that the server has not closed.
    ///
    /// The server closes a connection when it notices that the client has disconnected.
    public var openConnections: Int {
        switchboard.openConnections
    }

    /// Waits until at most a number of connections are open.
    ///
    /// A test can check with it that a cancelled client disconnects. A client that reuses connections keeps them open
    /// until it is shut down.
    ///
    /// - Parameter count: The maximum number of open connections.
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func waitForOpenConnections(_ count: Int = 0) async throws(CancellationError) {
        let departure = Gate()
        switchboard.open(departure, atOpenConnections: count)
        defer { switchboard.forget(departure) }
        try await departure.wait()
    }
}

extension TestServer {
    /// The effect of the server on an accepted connection before any bytes are exchanged.
    public enum ConnectionEffect: Sendable, Hashable {
        /// Serves the connection.
        case serve

        /// Closes the connection.
        case close

        /// Resets the connection.
        case reset

        /// Closes only the server's side, and waits until the client disconnects or the server stops.
        case halfClose

        /// Sends nothing and drops all received bytes until the client disconnects or the server stops.
        case stall

        /// Responds to the first bytes with the TLS alert that the handshake failed, and closes.
        ///
        /// A client with an `https` URL then fails as with a server that refuses all of its ciphers.
        case failHandshake
    }

    /// Queues effects for the next connections, one each.
    ///
    /// Later connections are served.
    ///
    /// ```swift
    /// server.enqueueConnections(.reset, .stall)
    /// ```
    ///
    /// To refuse connections, call ``stop()`` before and ``restart()`` after them. A server that never completes a
    /// connection is ``withUnresponsiveServer(_:)``.
    ///
    /// - Parameter effects: The effects, starting with that of the next connection.
    public func enqueueConnections(_ effects: ConnectionEffect...) {
        switchboard.withScript { $0.enqueueConnections(effects) }
    }

    /// Sets the effect for one connection, which takes precedence over the queue.
    ///
    /// - Parameters:
    ///   - number: The number of the connection, from 1, as in ``RecordedRequest/connection``.
    ///   - effect: The effect.
    /// - Precondition: `number` is greater than zero.
    public func onConnection(_ number: Int, _ effect: ConnectionEffect) {
        precondition(number > 0, "the first connection is number 1 (is \(number))")
        switchboard.withScript { $0.setEffect(effect, ofConnection: number) }
    }
}
#endif
