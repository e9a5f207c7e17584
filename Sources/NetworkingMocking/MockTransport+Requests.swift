public import NetworkingCore

extension MockTransport {
    /// The requests that arrived, in order.
    public var requests: [HTTPRequestData] {
        board.read { $0.requests }
    }

    /// The answers of the script and of the conversation that nobody has asked for yet.
    public var unusedAnswers: Int {
        board.read { $0.expectations.count - $0.met }
    }

    /// How many requests have arrived and wait for their answer, or for the rest of it.
    public var active: Int {
        board.read { $0.active }
    }

    /// How many exchanges are over, one way or another.
    public var ended: Int {
        board.read { $0.ended }
    }

    /// How many exchanges were ended by the cancellation of their caller.
    public var cancelled: Int {
        board.read { $0.cancelled }
    }

    /// How many chunks of bodies have reached the requests' sinks, or memory.
    public var deliveredPortions: Int {
        board.read { $0.delivered }
    }

    /// Waits until requests have arrived and it is settled what answers them.
    ///
    /// A request that is sent afterwards gets a later answer of a script or a conversation than those.
    ///
    /// - Parameter count: How many, since the transport was made.
    /// - Throws: `CancellationError` when the caller is cancelled first.
    public func waitForRequests(_ count: Int = 1) async throws {
        try await board.wait { $0.settled >= count }
    }

    /// Waits until exchanges are over, one way or another.
    ///
    /// - Parameter count: How many, since the transport was made.
    /// - Throws: `CancellationError` when the caller is cancelled first.
    public func waitForEnds(_ count: Int = 1) async throws {
        try await board.wait { $0.ended >= count }
    }

    /// Waits until chunks of bodies have reached the requests' sinks, or memory.
    ///
    /// - Parameter count: How many, since the transport was made.
    /// - Throws: `CancellationError` when the caller is cancelled first.
    public func waitForPortions(_ count: Int = 1) async throws {
        try await board.wait { $0.delivered >= count }
    }
}
