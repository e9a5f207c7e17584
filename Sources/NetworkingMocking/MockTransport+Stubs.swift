public import HTTPTypes
public import NetworkingCore

extension MockTransport {
    // MARK: Stubs

    /// Adds a stub: a closure that responds to matching requests.
    ///
    /// ```swift
    /// transport.on(.request(.post, "/login") && .json(including: ["user": "emily"]), uses: .once) { _ in
    ///     .json(session)
    /// }
    /// ```
    ///
    /// The first matching stub responds, in the order of these calls. A stub that has reached its maximum number of
    /// uses is skipped.
    ///
    /// - Parameters:
    ///   - matcher: Selects the requests.
    ///   - uses: How often the stub must and may be used.
    ///   - respond: Returns a response, or throws the error that the transport throws.
    public func on(_ matcher: RequestMatcher, uses: MockUses = .atLeastOnce, respond: @escaping Responder) {
        board.update { $0.add(MockBoard.Stub(matcher: matcher, uses: uses, respond: respond)) }
    }

    /// Adds a stub that returns the same response to each matching request.
    ///
    /// - Parameters:
    ///   - matcher: Selects the requests.
    ///   - uses: How often the stub must and may be used.
    ///   - response: The response.
    public func on(_ matcher: RequestMatcher, uses: MockUses = .atLeastOnce, _ response: MockResponse) {
        on(matcher, uses: uses) { _ in response }
    }

    /// Adds a stub for requests with a method and a path, regardless of host and query.
    ///
    /// ```swift
    /// transport.on(.get, "/users/:id") { request in .json(users[request.pathParameters["id"] ?? ""]) }
    /// ```
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path, with or without its leading slash, or a path pattern; see ``RequestMatcher/path(_:)``.
    ///   - uses: How often the stub must and may be used.
    ///   - respond: Returns a response, or throws the error that the transport throws.
    public func on(
        _ method: HTTPRequest.Method,
        _ path: String,
        uses: MockUses = .atLeastOnce,
        respond: @escaping Responder
    ) {
        on(.request(method, path), uses: uses, respond: respond)
    }

    /// Adds a stub that returns the same response to requests with a method and a path, regardless of host and query.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path, with or without its leading slash, or a path pattern; see ``RequestMatcher/path(_:)``.
    ///   - uses: How often the stub must and may be used.
    ///   - response: The response.
    public func on(
        _ method: HTTPRequest.Method,
        _ path: String,
        uses: MockUses = .atLeastOnce,
        _ response: MockResponse
    ) {
        on(.request(method, path), uses: uses) { _ in response }
    }

    /// Adds a stub for requests that equal a given one; see ``RequestMatcher/equal(to:)``.
    ///
    /// - Parameters:
    ///   - request: The request as it arrives, with its authority and everything that the stack adds.
    ///   - uses: How often the stub must and may be used.
    ///   - respond: Returns a response, or throws the error that the transport throws.
    public func on(_ request: HTTPRequestData, uses: MockUses = .atLeastOnce, respond: @escaping Responder) {
        on(.equal(to: request), uses: uses, respond: respond)
    }

    /// Adds a stub for requests that pass a check.
    ///
    /// - Parameters:
    ///   - label: The name of the stub in the message about an unexpected request.
    ///   - matches: The check.
    ///   - uses: How often the stub must and may be used.
    ///   - respond: Returns a response, or throws the error that the transport throws.
    public func on(
        _ label: String,
        where matches: @escaping @Sendable (HTTPRequestData) -> Bool,
        uses: MockUses = .atLeastOnce,
        respond: @escaping Responder
    ) {
        on(.where(label, matches), uses: uses, respond: respond)
    }

    /// Adds a stub that returns the same response to requests that pass a check.
    ///
    /// - Parameters:
    ///   - label: The name of the stub in the message about an unexpected request.
    ///   - matches: The check.
    ///   - uses: How often the stub must and may be used.
    ///   - response: The response.
    public func on(
        _ label: String,
        where matches: @escaping @Sendable (HTTPRequestData) -> Bool,
        uses: MockUses = .atLeastOnce,
        _ response: MockResponse
    ) {
        on(.where(label, matches), uses: uses) { _ in response }
    }

    // MARK: Conversations

    /// Adds an expected request after the existing ones, and a closure that responds to it.
    ///
    /// ```swift
    /// transport.expect(.request(.post, "/login"), .json(session))
    /// transport.expect(.request(.get, "/me") && .headerField(.authorization)) { _ in .json(emily) }
    /// ```
    ///
    /// Each expectation is used once. A request that no stub handles and that does not match the next expectation fails
    /// with ``NetworkingError/Kind/unimplemented``, and leaves the expectation unused.
    ///
    /// - Parameters:
    ///   - matcher: The condition that the request must match.
    ///   - respond: Returns a response, or throws the error that the transport throws.
    public func expect(_ matcher: RequestMatcher, respond: @escaping Responder) {
        board.update { $0.add(MockBoard.Expectation(matcher: matcher, respond: respond)) }
    }

    /// Adds an expected request after the existing ones, and its response.
    ///
    /// - Parameters:
    ///   - matcher: The condition that the request must match.
    ///   - response: The response.
    public func expect(_ matcher: RequestMatcher, _ response: MockResponse) {
        expect(matcher) { _ in response }
    }

    /// Adds an expected request with a method and a path after the existing ones, and a closure that responds to it.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path, or a path pattern; see ``RequestMatcher/path(_:)``.
    ///   - respond: Returns a response, or throws the error that the transport throws.
    public func expect(_ method: HTTPRequest.Method, _ path: String, respond: @escaping Responder) {
        expect(.request(method, path), respond: respond)
    }

    /// Adds an expected request with a method and a path after the existing ones, and its response.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path, or a path pattern; see ``RequestMatcher/path(_:)``.
    ///   - response: The response.
    public func expect(_ method: HTTPRequest.Method, _ path: String, _ response: MockResponse) {
        expect(.request(method, path)) { _ in response }
    }

    /// Adds responses to the script: each is returned once, in order, to any request.
    ///
    /// - Parameter responses: The responses.
    public func enqueue(_ responses: MockResponse...) {
        board.update { $0.enqueue(responses) }
    }

    // MARK: Latency

    /// Delays each response on the environment's clock, in addition to the response's own delay.
    ///
    /// ```swift
    /// transport.delay(by: .milliseconds(200), jitter: .milliseconds(300))
    /// ```
    ///
    /// - Parameters:
    ///   - duration: The minimum delay.
    ///   - jitter: The maximum additional delay, drawn from the environment's ``NetworkEnvironment/random``.
    /// - Precondition: Neither value is negative.
    public func delay(by duration: Duration, jitter: Duration = .zero) {
        precondition(duration >= .zero, "duration must not be negative (is \(duration))")
        precondition(jitter >= .zero, "jitter must not be negative (is \(jitter))")
        board.update { $0.latency = MockLatency(minimum: duration, jitter: jitter) }
    }
}
