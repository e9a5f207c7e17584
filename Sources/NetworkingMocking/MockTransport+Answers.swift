public import HTTPTypes
public import NetworkingCore

extension MockTransport {
    // MARK: Stubs

    /// Answers the requests that match.
    ///
    /// ```swift
    /// transport.on(.request(.post, "/login") && .json(including: ["user": "emily"]), uses: .once) { _ in .json(session) }
    /// ```
    ///
    /// The first stub that matches answers, in the order of these calls; one that has answered as often as it may is
    /// passed over.
    ///
    /// - Parameters:
    ///   - matcher: Which requests.
    ///   - uses: How often it is to answer.
    ///   - answer: Answers a request, or throws what the transport is to throw.
    public func on(_ matcher: RequestMatcher, uses: MockUses = .atLeastOnce, answer: @escaping Answer) {
        board.update { $0.add(MockBoard.Stub(matcher: matcher, uses: uses, answer: answer)) }
    }

    /// Answers the requests that match, each with the same response.
    ///
    /// - Parameters:
    ///   - matcher: Which requests.
    ///   - uses: How often it is to answer.
    ///   - response: The answer.
    public func on(_ matcher: RequestMatcher, uses: MockUses = .atLeastOnce, _ response: MockResponse) {
        on(matcher, uses: uses) { _ in response }
    }

    /// Answers the requests with a method and a path, whatever their host and query.
    ///
    /// ```swift
    /// transport.on(.get, "/users/:id") { request in .json(users[request.pathParameters["id"] ?? ""]) }
    /// ```
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path, with or without its leading slash, or a pattern of one; see ``RequestMatcher/path(_:)``.
    ///   - uses: How often it is to answer.
    ///   - answer: Answers a request, or throws what the transport is to throw.
    public func on(
        _ method: HTTPRequest.Method,
        _ path: String,
        uses: MockUses = .atLeastOnce,
        answer: @escaping Answer
    ) {
        on(.request(method, path), uses: uses, answer: answer)
    }

    /// Answers the requests with a method and a path, whatever their host and query, each with the same response.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path, with or without its leading slash, or a pattern of one; see ``RequestMatcher/path(_:)``.
    ///   - uses: How often it is to answer.
    ///   - response: The answer.
    public func on(
        _ method: HTTPRequest.Method,
        _ path: String,
        uses: MockUses = .atLeastOnce,
        _ response: MockResponse
    ) {
        on(.request(method, path), uses: uses) { _ in response }
    }

    /// Answers the requests that equal one: same method, URL, header fields and body.
    ///
    /// - Parameters:
    ///   - request: The request, as it arrives: with authority and all that the stack adds.
    ///   - uses: How often it is to answer.
    ///   - answer: Answers a request, or throws what the transport is to throw.
    public func on(_ request: HTTPRequestData, uses: MockUses = .atLeastOnce, answer: @escaping Answer) {
        on(.equal(to: request), uses: uses, answer: answer)
    }

    /// Answers the requests that pass a test.
    ///
    /// - Parameters:
    ///   - label: What the message about an unexpected request calls it.
    ///   - matches: The test.
    ///   - uses: How often it is to answer.
    ///   - answer: Answers a request, or throws what the transport is to throw.
    public func on(
        _ label: String,
        where matches: @escaping @Sendable (HTTPRequestData) -> Bool,
        uses: MockUses = .atLeastOnce,
        answer: @escaping Answer
    ) {
        on(.where(label, matches), uses: uses, answer: answer)
    }

    /// Answers the requests that pass a test, each with the same response.
    ///
    /// - Parameters:
    ///   - label: What the message about an unexpected request calls it.
    ///   - matches: The test.
    ///   - uses: How often it is to answer.
    ///   - response: The answer.
    public func on(
        _ label: String,
        where matches: @escaping @Sendable (HTTPRequestData) -> Bool,
        uses: MockUses = .atLeastOnce,
        _ response: MockResponse
    ) {
        on(.where(label, matches), uses: uses) { _ in response }
    }

    // MARK: Conversations

    /// Expects a request after those that are expected already, and answers it.
    ///
    /// ```swift
    /// transport.expect(.request(.post, "/login"), .json(session))
    /// transport.expect(.request(.get, "/me") && .header(.authorization)) { _ in .json(emily) }
    /// ```
    ///
    /// Each answers once. A request that no stub answers, and that is not the one expected next, fails with
    /// ``NetworkingError/Kind/unimplemented`` and uses nothing up.
    ///
    /// - Parameters:
    ///   - matcher: What the request has to be.
    ///   - answer: Answers it, or throws what the transport is to throw.
    public func expect(_ matcher: RequestMatcher, answer: @escaping Answer) {
        board.update { $0.add(MockBoard.Expectation(matcher: matcher, answer: answer)) }
    }

    /// Expects a request after those that are expected already, and answers it with a response.
    ///
    /// - Parameters:
    ///   - matcher: What the request has to be.
    ///   - response: The answer.
    public func expect(_ matcher: RequestMatcher, _ response: MockResponse) {
        expect(matcher) { _ in response }
    }

    /// Expects a request with a method and a path after those that are expected already, and answers it.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path, or a pattern of one; see ``RequestMatcher/path(_:)``.
    ///   - answer: Answers it, or throws what the transport is to throw.
    public func expect(_ method: HTTPRequest.Method, _ path: String, answer: @escaping Answer) {
        expect(.request(method, path), answer: answer)
    }

    /// Expects a request with a method and a path after those that are expected already, and answers it with a
    /// response.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path, or a pattern of one; see ``RequestMatcher/path(_:)``.
    ///   - response: The answer.
    public func expect(_ method: HTTPRequest.Method, _ path: String, _ response: MockResponse) {
        expect(.request(method, path)) { _ in response }
    }

    /// Adds answers to the script: each is given once, in order, to whatever request comes.
    ///
    /// - Parameter responses: The answers.
    public func enqueue(_ responses: MockResponse...) {
        board.update { $0.enqueue(responses) }
    }

    // MARK: Latency

    /// Has each answer take a while, on the environment's clock, before what it takes itself.
    ///
    /// ```swift
    /// transport.delay(by: .milliseconds(200), jitter: .milliseconds(300))
    /// ```
    ///
    /// - Parameters:
    ///   - duration: The least that it takes.
    ///   - jitter: The most that it takes longer, by the environment's ``NetworkEnvironment/random``.
    /// - Precondition: Neither is negative.
    public func delay(by duration: Duration, jitter: Duration = .zero) {
        precondition(duration >= .zero, "duration must not be negative (is \(duration))")
        precondition(jitter >= .zero, "jitter must not be negative (is \(jitter))")
        board.update { $0.latency = MockLatency(least: duration, jitter: jitter) }
    }
}
