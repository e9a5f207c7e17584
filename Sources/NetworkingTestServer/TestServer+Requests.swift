#if TestServer
public import HTTPTypes
import NetworkingCore

extension TestServer {
    /// The requests that have arrived, in order of arrival.
    ///
    /// A request arrives with the last byte of its body, or with its head if a route responds at the head.
    public var requests: [RecordedRequest] {
        switchboard.withRecord { $0.requests }
    }

    /// Returns the requests that have arrived for one method and path, in order of arrival.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: A pattern as in ``route(_:_:times:handler:)``.
    /// - Returns: The requests that match.
    /// - Precondition: `path` starts with `/`, `*` is its last segment if it has one, and its parameters have different
    ///   names.
    public func requests(for method: HTTPRequest.Method, path: String) -> [RecordedRequest] {
        let path = PathPattern(route: path)
        return requests.filter { $0.method == method && path.parameters(in: $0.path) != nil }
    }

    /// Removes the requests that have arrived, for example to save memory in a long test.
    ///
    /// Afterwards ``requests`` and ``waitForRequests(_:)`` start from zero, and ``takeRequest(_:_:within:)`` has no
    /// request to take.
    public func forgetRequests() {
        switchboard.withRecord { $0.forgetRequests() }
    }

    /// Waits until a number of requests have arrived since the start.
    ///
    /// With a ``Gate``, a test can act while a request is in flight:
    ///
    /// ```swift
    /// let gate = Gate()
    /// server.route(.get, "/slow") { _ in
    ///     try await gate.wait()
    ///     return .ok
    /// }
    /// async let first = network.data(.get("slow"))
    /// try await server.waitForRequests(1)
    /// gate.open()
    /// ```
    ///
    /// - Parameter count: The number of requests to wait for, including earlier requests.
    /// - Returns: The first `count` requests.
    /// - Throws: `CancellationError` if the task is cancelled or the server stops first.
    @discardableResult
    public func waitForRequests(_ count: Int) async throws(CancellationError) -> [RecordedRequest] {
        let arrival = Gate()
        switchboard.open(arrival, afterRequests: count)
        defer { switchboard.forget(arrival) }
        try await arrival.wait()
        let requests = requests
        // A server that stops also opens the gate, because no more requests can arrive.
        guard requests.count >= count else { throw CancellationError() }
        return Array(requests.prefix(count))
    }

    /// Takes the next request that was not taken before, and waits for one if necessary.
    ///
    /// A test that takes each request finds an extra one with ``verifyAllClaimed()``:
    ///
    /// ```swift
    /// let login = try await server.takeRequest(.post, "/login")
    /// try login.expect(headerFields: [.contentType: "application/json"])
    /// ```
    ///
    /// - Parameters:
    ///   - method: The method; `nil` for any. Requests with other methods are not taken.
    ///   - path: A pattern as in ``route(_:_:times:handler:)``; `nil` for any. Requests with other paths are not taken.
    ///   - patience: The time limit on the server's clock; `nil` for none.
    /// - Returns: The first request that matches.
    /// - Throws: `CancellationError` if the task is cancelled, and a ``TestServerError`` that lists the requests that
    ///   arrived if the time limit expires or the server stops.
    /// - Precondition: `path` starts with `/`, `*` is its last segment if it has one, and its parameters have different
    ///   names.
    public func takeRequest(
        _ method: HTTPRequest.Method? = nil,
        _ path: String? = nil,
        within patience: Duration? = nil
    ) async throws -> RecordedRequest {
        let filter = RequestFilter(method: method, path: path.map { PathPattern(route: $0) })
        guard let patience else { return try await take(filter) }
        let taken = try await withThrowingTaskGroup(of: RecordedRequest?.self) { group -> RecordedRequest? in
            group.addTask { try await self.take(filter) }
            group.addTask {
                try await self.switchboard.clock.sleep(for: patience)
                return nil
            }
            if let taken = try await group.next() ?? nil {
                group.cancelAll()
                return taken
            }
            group.cancelAll()
            // A request that was taken at the same moment is returned and not lost.
            return try? await group.next() ?? nil
        }
        guard let taken else {
            throw TestServerError.noRequest("No request matched within \(patience): \(filter).", requests)
        }
        return taken
    }

    private func take(_ filter: RequestFilter) async throws -> RecordedRequest {
        while true {
            try Task.checkCancellation()
            let arrival = Gate()
            switch switchboard.withRecord({ $0.take(filter, orExpect: arrival) }) {
            case .taken(let request):
                return request
            case .closed:
                throw TestServerError.noRequest("The server stopped before \(filter) arrived.", requests)
            case .waiting:
                defer { switchboard.forget(arrival) }
                try await arrival.wait()
            }
        }
    }

    /// The number of requests in progress.
    ///
    /// A request counts from its arrival until just before the last bytes of its response are sent. When a client has
    /// read its response, the request therefore no longer counts.
    public var activeRequests: Int {
        switchboard.activeRequests
    }

    /// The maximum number of requests that were in progress at the same time.
    public var peakActiveRequests: Int {
        switchboard.peakActiveRequests
    }
}
#endif
