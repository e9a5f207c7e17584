public import NetworkingCore
public import NetworkingMocking

extension NetworkingComponent {
    /// Returns a mock response for every request here, so that nothing is sent upstream.
    ///
    /// ```swift
    /// let network = URLSession.shared.mocked(all: .json(user)).retry().server(authority: "api.example.com")
    /// ```
    ///
    /// The mock replaces the transport: it fills sinks, reports progress, and counts as an attempt for event listeners.
    /// A mocked redirect is followed, and the next request is mocked here again. A cancelled caller gets
    /// `CancellationError` immediately. The upstream stack still rewrites the request.
    ///
    /// Place it outside of the transport and inside of the modifiers that you want to test.
    ///
    /// - Parameter response: The mock response.
    /// - Returns: A component that returns the mock response, or throws its error.
    public func mocked(all response: MockResponse) -> some NetworkingComponent {
        modified(Mocked(label: "all") { _ in response })
    }

    /// Returns a mock response for requests equal to a given one here, and forwards all others.
    ///
    /// Requests are equal if method, URL, header fields, body and the options that count for equality are the same at
    /// this place of the stack. For everything else, see ``mocked(all:)``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The mock response.
    /// - Returns: A component that mocks this request, or throws the error of the mock response.
    public func mocked(_ request: HTTPRequestData, with response: MockResponse) -> some NetworkingComponent {
        modified(Mocked(matching: .equal(to: request), with: response))
    }

    /// Returns a mock response for matching requests here, and forwards all others.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .mocked(.request(.get, "/users/*"), with: .json(user))
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// If the matcher reads bodies, a file, multipart or stream body is read into memory and then forwarded from there.
    /// For everything else, see ``mocked(all:)``.
    ///
    /// - Parameters:
    ///   - matcher: Selects the requests.
    ///   - response: The mock response.
    /// - Returns: A component that mocks these requests, or throws the error of the mock response.
    public func mocked(_ matcher: RequestMatcher, with response: MockResponse) -> some NetworkingComponent {
        modified(Mocked(matching: matcher, with: response))
    }

    /// Returns a mock response for requests that pass a check here, and forwards all others.
    ///
    /// - Parameters:
    ///   - check: The check. A file, multipart or stream body is read into memory for it
    ///     (`RequestBody.data`) and then forwarded from there.
    ///   - response: The mock response; see ``mocked(all:)``.
    /// - Returns: A component that mocks these requests, or throws the error of the mock response.
    public func mocked(
        where check: @escaping @Sendable (HTTPRequestData) -> Bool,
        with response: MockResponse
    ) -> some NetworkingComponent {
        modified(Mocked(label: "where", readsBody: true) { check($0) ? response : nil })
    }

    /// Calls a closure for a mock response to each request here, and forwards the request if it returns nil.
    ///
    /// ```swift
    /// let network = URLSession.shared.mocked(by: { request in request.path == "/health" ? .ok() : nil })
    /// ```
    ///
    /// - Parameter responder: Returns a mock response, returns nil to forward the request, or throws an error for the
    ///   caller; see ``mocked(all:)``. A file, multipart or stream body is read into memory for it
    ///   (`RequestBody.data`) and then forwarded from there.
    /// - Returns: A component that throws the errors of the closure and of its mock responses.
    public func mocked(
        by responder: @escaping @Sendable (HTTPRequestData) async throws -> MockResponse?
    ) -> some NetworkingComponent {
        modified(Mocked(label: "by", readsBody: true, responder: responder))
    }

    /// Handles each request here with a closure that can use the upstream component.
    ///
    /// ```swift
    /// let network = URLSession.shared.mocked(withUpstream: { request, upstream in
    ///     var response = try await upstream.send(request)
    ///     response.headerFields[.eTag] = nil
    ///     return response
    /// })
    /// ```
    ///
    /// - Parameter send: Sends a request upstream any number of times, or never. If the caller is cancelled, the
    ///   closure's task is cancelled.
    /// - Returns: A component that throws the errors of the closure.
    public func mocked(
        withUpstream send:
            @escaping @Sendable (HTTPRequestData, any NetworkingComponent) async throws -> HTTPResponseData
    ) -> some NetworkingComponent {
        modified(MockedWithUpstream(handler: send))
    }
}

private struct Mocked: NetworkingModifier, CustomStringConvertible {
    private let label: String
    private let readsBody: Bool
    private let responder: @Sendable (HTTPRequestData) async throws -> MockResponse?

    init(
        label: String,
        readsBody: Bool = false,
        responder: @escaping @Sendable (HTTPRequestData) async throws -> MockResponse?
    ) {
        self.label = label
        self.readsBody = readsBody
        self.responder = responder
    }

    init(matching matcher: RequestMatcher, with response: MockResponse) {
        self.init(label: "\(matcher)", readsBody: matcher.readsBody) { matcher.matches($0) ? response : nil }
    }

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        let principal = { (next: HTTPRequestData) in upstream.principal(for: next) }
        // Redirects are followed here, because a mock response may be a redirect and its target may be mocked, too.
        return try await request.takingOverRedirects(for: principal, over: upstream) { request in
            let request = readsBody ? try await request.withBodyInMemory() : request
            guard let response = try await responder(request.outsideStack) else {
                return try await upstream.send(request)
            }
            return try await MockExchange(response).send(request)
        }
    }

    var description: String {
        "mocked(\(label))"
    }
}

private struct MockedWithUpstream: NetworkingModifier, CustomStringConvertible {
    let handler: @Sendable (HTTPRequestData, any NetworkingComponent) async throws -> HTTPResponseData

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        try await handler(request, upstream)
    }

    var description: String {
        "mocked(withUpstream)"
    }
}
