public import Networking

extension NetworkingComponent {
    /// Answers every request here, so that nothing upstream is asked.
    ///
    /// ```swift
    /// let network = URLSession.shared.mocked(all: .json(user)).retry().server(authority: "api.example.com")
    /// ```
    ///
    /// An answer takes the place of the transport: it fills sinks, reports progress, and counts as an attempt to
    /// whoever listens. A redirect that is answered is followed, and what it leads to is looked at here again. A
    /// cancelled caller gets `CancellationError` at once. The stack upstream still rewrites the request.
    ///
    /// Place it outside of the transport and inside of what is to be tried.
    ///
    /// - Parameter response: The answer.
    /// - Returns: A component that answers by itself, and throws what the answer fails with.
    public func mocked(all response: MockResponse) -> some NetworkingComponent {
        modified(Mocked(label: "all") { _ in response })
    }

    /// Answers the requests that equal one here, and passes on the others.
    ///
    /// Equal are method, URL, header fields and body, as they are at this place of the stack. For the rest see
    /// ``mocked(all:)``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The answer.
    /// - Returns: A component that answers this request, and throws what the answer fails with.
    public func mocked(_ request: HTTPRequestData, with response: MockResponse) -> some NetworkingComponent {
        modified(Mocked(matching: .equal(to: request), with: response))
    }

    /// Answers the requests that match here, and passes on the others.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .mocked(.request(.get, "/users/*"), with: .json(user))
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// A body in a file, in parts or a stream is read into memory if the matcher looks at bodies, and passed on from
    /// there. For the rest see ``mocked(all:)``.
    ///
    /// - Parameters:
    ///   - matcher: Which requests.
    ///   - response: The answer.
    /// - Returns: A component that answers these requests, and throws what the answer fails with.
    public func mocked(_ matcher: RequestMatcher, with response: MockResponse) -> some NetworkingComponent {
        modified(Mocked(matching: matcher, with: response))
    }

    /// Answers the requests that pass a check here, and passes on the others.
    ///
    /// - Parameters:
    ///   - check: The check. A body in a file, in parts or a stream is read into memory for it
    ///     (``Networking/RequestBody/data``), and passed on from there.
    ///   - response: The answer; see ``mocked(all:)``.
    /// - Returns: A component that answers these requests, and throws what the answer fails with.
    public func mocked(
        where check: @escaping @Sendable (HTTPRequestData) -> Bool,
        with response: MockResponse
    ) -> some NetworkingComponent {
        modified(Mocked(label: "where", readsBody: true) { check($0) ? response : nil })
    }

    /// Asks a closure for an answer to each request here, and passes on those for which it has none.
    ///
    /// ```swift
    /// let network = URLSession.shared.mocked(by: { request in request.path == "/health" ? .ok() : nil })
    /// ```
    ///
    /// - Parameter answer: Answers a request, passes it on with nil, or throws what is to be thrown; see
    ///   ``mocked(all:)``. A body in a file, in parts or a stream is read into memory for it
    ///   (``Networking/RequestBody/data``), and passed on from there.
    /// - Returns: A component that throws what the closure and the answers do.
    public func mocked(
        by answer: @escaping @Sendable (HTTPRequestData) async throws -> MockResponse?
    ) -> some NetworkingComponent {
        modified(Mocked(label: "by", readsBody: true, answer: answer))
    }

    /// Has a closure send each request here, with what is upstream at hand.
    ///
    /// ```swift
    /// let network = URLSession.shared.mocked(withUpstream: { request, upstream in
    ///     var response = try await upstream.send(request)
    ///     response.headerFields[.eTag] = nil
    ///     return response
    /// })
    /// ```
    ///
    /// - Parameter send: Sends a request, any number of times or never. It gets the caller's cancellation as that of
    ///   its task.
    /// - Returns: A component that throws what the closure does.
    public func mocked(
        withUpstream send:
            @escaping @Sendable (HTTPRequestData, any NetworkingComponent) async throws -> HTTPResponseData
    ) -> some NetworkingComponent {
        modified(MockedWithUpstream(answer: send))
    }
}

private struct Mocked: NetworkingModifier, CustomStringConvertible {
    private let label: String
    private let readsBody: Bool
    private let answer: @Sendable (HTTPRequestData) async throws -> MockResponse?

    init(
        label: String,
        readsBody: Bool = false,
        answer: @escaping @Sendable (HTTPRequestData) async throws -> MockResponse?
    ) {
        self.label = label
        self.readsBody = readsBody
        self.answer = answer
    }

    init(matching matcher: RequestMatcher, with response: MockResponse) {
        self.init(label: "\(matcher)", readsBody: matcher.readsBody) { matcher.matches($0) ? response : nil }
    }

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        let principal = { (next: HTTPRequestData) in upstream.principal(for: next) }
        // Here, since an answer may be a redirect, and where that leads may be mocked too.
        return try await request.takingOverRedirects(for: principal, over: upstream) { request in
            let request = readsBody ? try await request.withBodyInMemory() : request
            guard let answer = try await answer(request.outsideStack) else { return try await upstream.send(request) }
            return try await MockExchange(answer).send(request)
        }
    }

    var description: String {
        "mocked(\(label))"
    }
}

private struct MockedWithUpstream: NetworkingModifier, CustomStringConvertible {
    let answer: @Sendable (HTTPRequestData, any NetworkingComponent) async throws -> HTTPResponseData

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        try await answer(request, upstream)
    }

    var description: String {
        "mocked(withUpstream)"
    }
}
