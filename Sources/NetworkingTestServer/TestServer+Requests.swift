#if TestServer
public import HTTPTypes

extension TestServer {
    /// The requests that have arrived, in order of arrival.
    ///
    /// A request arrives when the last byte of its body does, and where a route answers at the head, with that.
    public var requests: [RecordedRequest] {
        switchboard.requests
    }

    /// Returns the requests that have arrived for one method and path, in order of arrival.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: A pattern as in ``route(_:_:handler:)``.
    /// - Returns: The requests that match.
    /// - Precondition: `path` starts with `/`, and `*` is its last segment if it has one.
    public func requests(for method: HTTPRequest.Method, path: String) -> [RecordedRequest] {
        let path = PathPattern(path)
        return requests.filter { $0.method == method && path.parameters(in: $0.path) != nil }
    }

    /// Forgets the requests that have arrived, so that a long test does not keep them all.
    ///
    /// From here on ``requests`` and ``waitForRequests(_:)`` count anew.
    public func forgetRequests() {
        switchboard.forgetRequests()
    }

    /// Waits until a number of requests have arrived since the start.
    ///
    /// Together with a ``Gate`` this shows that requests are in flight at the same time:
    ///
    /// ```swift
    /// let gate = Gate()
    /// server.route(.get, "/slow") { _ in
    ///     try await gate.wait()
    ///     return .ok
    /// }
    /// async let first = client.get("/slow")
    /// try await server.waitForRequests(1)
    /// gate.open()
    /// ```
    ///
    /// - Parameter count: How many requests to wait for, including those that arrived before this call.
    /// - Returns: The first `count` requests.
    /// - Throws: `CancellationError` when the task is cancelled or the server stops first.
    @discardableResult
    public func waitForRequests(_ count: Int) async throws(CancellationError) -> [RecordedRequest] {
        let arrival = Gate()
        switchboard.open(arrival, afterRequests: count)
        defer { switchboard.forget(arrival) }
        try await arrival.wait()
        let requests = requests
        // A server that stops opens the gate too, so that nobody waits for requests that cannot come any more.
        guard requests.count >= count else { throw CancellationError() }
        return Array(requests.prefix(count))
    }

    /// The number of requests being answered now.
    ///
    /// A request counts from its arrival until just before the last bytes of its answer are sent, so a client that has
    /// read its answer is no longer counted.
    public var activeRequests: Int {
        switchboard.activeRequests
    }

    /// The largest number of requests that were being answered at the same time.
    public var peakActiveRequests: Int {
        switchboard.peakActiveRequests
    }
}
#endif
