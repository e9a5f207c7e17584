public import NetworkingCore

extension NetworkingComponent {
    /// Has interceptors change each attempt and decide about those that fail.
    ///
    /// Before each attempt every interceptor adapts the request in order, each what the one before made of it,
    /// beginning with the request as it came. After an attempt that failed they are asked in order, and the first that
    /// decides is followed; if none does, it is not tried again. For the rest it is ``retry(_:budget:)``: limits,
    /// budget, replay checks, deadline and cancellation are the same, and it belongs in the same place.
    ///
    /// ```swift
    /// struct Session: RequestInterceptor {
    ///     func adapt(_ request: HTTPRequestData) async throws -> HTTPRequestData {
    ///         var request = request
    ///         request.headerFields[.authorization] = try await "Bearer \(tokens.current())"
    ///         return request
    ///     }
    ///
    ///     func retry(_ request: HTTPRequestData, dueTo attempt: Attempt) async -> RetryDecision {
    ///         guard attempt.number == 1, attempt.response?.status == .unauthorized else { return .standard }
    ///         return await tokens.refresh() ? .retry : .giveUp
    ///     }
    /// }
    ///
    /// let network = URLSession.shared.intercepted(by: Session(), Diagnostics())
    /// ```
    ///
    /// - Parameters:
    ///   - interceptors: The interceptors, in order.
    ///   - policy: How often and after what while; the rules by which a policy retries by itself are not used.
    ///   - budget: How much of what goes to a server may be retries.
    /// - Returns: A component that throws what an interceptor's `adapt` throws.
    public func intercepted(
        by interceptors: any RequestInterceptor...,
        policy: RetryPolicy = .exponential(),
        budget: RetryBudget = RetryBudget()
    ) -> some NetworkingComponent {
        modified(Adapted(interceptors: interceptors))
            .retry(policy.deciding(by: Interceptors(interceptors)), budget: budget)
    }
}

/// Changes requests before each attempt and decides whether to retry failures, as interceptors of other libraries do.
///
/// A ``NetworkingModifier`` can do the same and more. An interceptor knows nothing about the components upstream.
public protocol RequestInterceptor: RequestOptionReader, Sendable {
    /// Changes a request before an attempt; by default it returns the request unchanged.
    ///
    /// - Parameter request: The request, as changed by the interceptors before this one.
    /// - Returns: The request to send.
    /// - Throws: The error that the attempt fails with.
    func adapt(_ request: HTTPRequestData) async throws -> HTTPRequestData

    /// Decides whether to retry a failed attempt; by default the next interceptor decides.
    ///
    /// - Parameters:
    ///   - request: The request, before it was adapted.
    ///   - attempt: The attempt, with its number, its response and its error.
    /// - Returns: ``RetryDecision/standard`` to leave it to the next interceptor, or a decision.
    func retry(_ request: HTTPRequestData, dueTo attempt: Attempt) async -> RetryDecision
}

extension RequestInterceptor {
    /// Returns the request as it is.
    public func adapt(_ request: HTTPRequestData) async throws -> HTTPRequestData {
        request
    }

    /// Leaves the decision to the next interceptor.
    public func retry(_ request: HTTPRequestData, dueTo attempt: Attempt) async -> RetryDecision {
        .standard
    }
}

/// Asks the interceptors in order and returns the first decision.
private struct Interceptors: RetryStrategy {
    let interceptors: [any RequestInterceptor]

    init(_ interceptors: [any RequestInterceptor]) {
        self.interceptors = interceptors
    }

    func decide(about request: HTTPRequestData, after attempts: [Attempt]) async -> RetryDecision {
        guard let attempt = attempts.last else { return .giveUp }
        for interceptor in interceptors {
            let decision = await interceptor.retry(request, dueTo: attempt)
            if decision != .standard { return decision }
        }
        return .giveUp
    }
}

private struct Adapted: NetworkingModifier, CustomStringConvertible {
    let interceptors: [any RequestInterceptor]

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        var request = request
        for interceptor in interceptors {
            request = try await interceptor.adapt(request)
        }
        return try await upstream.send(request)
    }

    var requestOptions: Set<RequestOptionKey> {
        interceptors.reduce(into: []) { $0.formUnion($1.requestOptions) }
    }

    var description: String {
        "adapted(by: \(interceptors.map { "\(type(of: $0))" }.joined(separator: ", ")))"
    }
}
