public import NetworkingCore
public import NetworkingResilience

extension NetworkingComponent {
    /// Sends a request through another component if the server is unavailable.
    ///
    /// ```swift
    /// let mirror = URLSession.shared.server(authority: "mirror.example.com")
    /// let network = URLSession.shared
    ///     .server(authority: "api.example.com")
    ///     .retry()
    ///     .fallback(to: mirror)
    /// ```
    ///
    /// It belongs outside `retry` and `cached`, and the parts that both components need are written after it. The other
    /// component receives the request as it reached `fallback`, and rewrites it with its own servers and credentials.
    /// Credentials of the first component, and those that belong to its server, are not sent to the other one. The
    /// request stays one of the user for whom the call began.
    ///
    /// By default, only requests with a safe method fall back (``HTTPRequestData/fallsBack``), and only if
    /// ``Attempt/isServerUnavailable``. A cancelled caller gets `CancellationError`, and nothing else is sent. If the
    /// other component fails too, the outcome is the first failure. The response names it as
    /// ``HTTPResponseData/failureBeforeFallback``.
    ///
    /// - Parameters:
    ///   - other: The component that sends the request after a failure.
    ///   - isReplaced: Returns whether a failure is replaced: an error, or a response with a status of at least 400.
    /// - Returns: A component that has a substitute for an unavailable server.
    public func fallback(
        to other: some NetworkingComponent,
        when isReplaced: @escaping @Sendable (_ failure: Attempt) -> Bool = { $0.isServerUnavailable }
    ) -> some NetworkingComponent {
        modified(Fallback(source: .component(other), isReplaced: isReplaced))
    }

    /// Returns the response of a closure if the server is unavailable.
    ///
    /// ```swift
    /// let network = URLSession.shared.retry().fallback { request, _ in
    ///     request.path == "/features" ? HTTPResponseData(request: request, data: Data("[]".utf8)) : nil
    /// }
    /// ```
    ///
    /// Otherwise it works like ``fallback(to:when:)``. An error that the closure throws is the outcome of the call.
    ///
    /// - Parameters:
    ///   - isReplaced: Returns whether a failure is replaced: an error, or a response with a status of at least 400.
    ///   - respond: Returns the response in place of the failure, or `nil` for none. If it sends the request, a new
    ///     call begins.
    /// - Returns: A component that has a substitute for an unavailable server.
    public func fallback(
        when isReplaced: @escaping @Sendable (_ failure: Attempt) -> Bool = { $0.isServerUnavailable },
        _ respond:
            @escaping @Sendable (_ request: HTTPRequestData, _ failure: Attempt) async throws -> HTTPResponseData?
    ) -> some NetworkingComponent {
        modified(Fallback(source: .closure(respond), isReplaced: isReplaced))
    }

    /// Returns the stored response, however old, if the server is unavailable.
    ///
    /// It belongs outside `cached`, which it needs:
    ///
    /// ```swift
    /// let network = URLSession.shared.retry().cached().fallbackToStoredResponse()
    /// ```
    ///
    /// The cache returns only responses of the same user, and none that the server has forbidden to store. Without a
    /// stored response, the outcome is the failure. Otherwise it works like ``fallback(to:when:)``.
    ///
    /// - Parameter isReplaced: Returns whether a failure is replaced: an error, or a response with a status of at least
    ///   400.
    /// - Returns: A component that has a substitute for an unavailable server.
    public func fallbackToStoredResponse(
        when isReplaced: @escaping @Sendable (_ failure: Attempt) -> Bool = { $0.isServerUnavailable }
    ) -> some NetworkingComponent {
        modified(Fallback(source: .storedResponse, isReplaced: isReplaced))
    }
}

extension HTTPRequestData {
    /// Whether `fallback` may replace a failure of this request; `nil`, the default, means that its method decides.
    ///
    /// A request with a safe method falls back. With `true`, any other one does too: the first server may have carried
    /// it out, and the other component carries it out again.
    public var fallsBack: Bool? {
        get { self[.fallsBack] }
        set { self[.fallsBack] = newValue }
    }

    /// The request before the parts inside of `fallback` rewrote it.
    fileprivate var requestForFallback: HTTPRequestData? {
        get { self[.requestForFallback] }
        set { self[.requestForFallback] = newValue }
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/fallsBack``.
    public static let fallsBack = RequestOption<Bool?>("fallsBack", default: nil, affects: .sending)
    fileprivate static let requestForFallback = RequestOption<HTTPRequestData?>(
        "requestForFallback",
        default: nil,
        affects: .nothing,
        isSetByStack: true
    )
}

extension HTTPResponseData {
    /// The failure that `fallback` has replaced by this response; `nil` for the response of the server itself.
    public internal(set) var failureBeforeFallback: Attempt? {
        get { self[metadata: FailureKey.self] }
        set { self[metadata: FailureKey.self] = newValue }
    }

    private enum FailureKey: ResponseMetadata {
        static let defaultValue: Attempt? = nil
    }
}

extension Attempt {
    /// Whether the server could not be reached, gave no complete response in time, or responded with 500, 502, 503 or
    /// 504, or a limit of the stack refused the request.
    ///
    /// `false` for a cancellation, a server that is not trusted, missing credentials, an invalid request, and errors of
    /// the app.
    public var isServerUnavailable: Bool {
        if error == nil || isStatusError { return response.map { Self.unavailable.contains($0.status) } ?? false }
        let failure = error as? NetworkingError
        return switch failure?.kind.meaning {
        case .unreachable, .interrupted, .expired, .rejected: true
        case .untrusted: failure?.isHandshakeFailure == true
        default: false
        }
    }

    private static let unavailable: StatusSet = [500, 502, 503, 504]
}

struct Fallback: UpstreamLimited, CustomStringConvertible {
    enum Source: Sendable {
        case component(any NetworkingComponent)
        case closure(@Sendable (HTTPRequestData, Attempt) async throws -> HTTPResponseData?)
        case storedResponse
    }

    let source: Source
    let isReplaced: @Sendable (Attempt) -> Bool

    func resolve(_ request: inout HTTPRequestData) {
        if case .component(let other) = source {
            let own = request.forAnotherStack
            request.requestForFallback = own
            request.noteUsers(of: other, for: own)
        }
    }

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        guard request.fallsBack ?? request.method.isSafe else { return try await upstream.send(request) }
        let clock = NetworkEnvironment.current.clock
        let start = clock.now
        var observed = request
        let sinkUse = observed.observeSink()
        let result = try await upstream.outcome(of: observed)
        if case .success(let response) = result, response.status.code < 400 { return response }
        var failure = Attempt(number: 1, result: result, elapsed: clock.now - start)
        failure.refusedResponse = failure.error.flatMap { request.response(of: $0) }
        guard sinkUse?.canStartOver ?? true, request.exchangeLimit?.isReached != true, !result.isOfAnotherUser,
            isReplaced(failure), let response = try await response(to: request, after: failure, over: upstream)
        else { return try result.get() }
        return response
    }

    /// Returns the response in place of a failure; `nil` if there is none.
    ///
    /// It is not inlined, because its values would take memory in every call that waits for its response.
    @inline(never)
    private func response(
        to request: HTTPRequestData,
        after failure: Attempt,
        over upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData? {
        try Task.checkCancellation()
        // The other component and the closure do not know the limit.
        let found: HTTPResponseData? = try await request.enforcingLimit {
            try await substitute(for: $0, after: failure, upstream)
        }
        guard var response = found else { return nil }
        request.emit(FallbackEvent.used(failure))
        response.failureBeforeFallback = failure.trimmed(backoff: .zero)
        return response
    }

    private func substitute(
        for request: HTTPRequestData,
        after failure: Attempt,
        _ upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData? {
        let result: Result<HTTPResponseData, any Error>
        switch source {
        case .closure(let respond):
            return try await respond(request.besideStack, failure)
        case .component(let other):
            guard request.body?.isReplayable ?? true else { return nil }
            // The first attempt may have taken longer than another user needs to sign in.
            let own = request.requestForFallback.map { request.replaced(by: $0) } ?? request.besideStack
            result = try await other.outcome(of: own)
        case .storedResponse:
            guard upstream.modifiers.contains(where: { $0.stackPart.roles.contains(.caching) }) else { return nil }
            var stored = request
            stored.requiresStoredResponse = true
            result = try await upstream.outcome(of: stored)
        }
        switch result {
        case .success(let response):
            return response
        case .failure(let error):
            request.emit(FallbackEvent.failed(error))
            return nil
        }
    }

    var stackPart: StackPart {
        StackPart(
            roles: [.fallback],
            options: [.fallsBack],
            branches: branches,
            rules: [
                .not("has no cached inside, so there is no stored response. Put cached inside.") {
                    needsCache && !$0.isOutside(.caching)
                },
                .not("is inside cached, which may store its response as that of the server. Put it outside.") {
                    $0.isInside(.caching) && (!needsCache || $0.isOutside(.caching))
                },
                .notInside(
                    .retry,
                    "is inside retry, so no failure that it replaces is retried. Put it outside."
                ),
            ]
        )
    }

    private var branches: [any NetworkingComponent] {
        guard case .component(let other) = source else { return [] }
        return [other]
    }

    private var needsCache: Bool {
        if case .storedResponse = source { true } else { false }
    }

    var description: String {
        switch source {
        case .component: "fallback(to:)"
        case .closure: "fallback(a closure)"
        case .storedResponse: "fallbackToStoredResponse()"
        }
    }
}
