public import NetworkingCore

extension MockTransport {
    /// The requests that arrived, in order.
    public var requests: [HTTPRequestData] {
        board.read { $0.requests }
    }

    /// The number of responses in the script and of expectations that are still unused.
    public var unusedResponses: Int {
        board.read { $0.expectations.count - $0.met }
    }

    /// The number of requests that have arrived and are still in progress.
    public var active: Int {
        board.read { $0.active }
    }

    /// The number of exchanges that are over, regardless of their outcome.
    public var ended: Int {
        board.read { $0.ended }
    }

    /// The number of exchanges that ended because their caller was cancelled.
    public var cancelled: Int {
        board.read { $0.cancelled }
    }

    /// The number of body chunks delivered: to the sinks of requests, or to memory.
    public var deliveredChunks: Int {
        board.read { $0.delivered }
    }

    /// Waits until a number of requests have arrived and their responses are determined.
    ///
    /// A request that is sent afterwards gets a later response of a script or a later expectation.
    ///
    /// - Parameter count: The number of requests since the transport was created.
    /// - Throws: `CancellationError` if the caller is cancelled first.
    public func waitForRequests(_ count: Int = 1) async throws {
        try await board.wait { $0.settled >= count }
    }

    /// Waits until a number of exchanges are over, regardless of their outcome.
    ///
    /// - Parameter count: The number of exchanges since the transport was created.
    /// - Throws: `CancellationError` if the caller is cancelled first.
    public func waitForEnds(_ count: Int = 1) async throws {
        try await board.wait { $0.ended >= count }
    }

    /// Waits until a number of body chunks have reached the requests' sinks or memory.
    ///
    /// - Parameter count: The number of chunks since the transport was created.
    /// - Throws: `CancellationError` if the caller is cancelled first.
    public func waitForChunks(_ count: Int = 1) async throws {
        try await board.wait { $0.delivered >= count }
    }
}
