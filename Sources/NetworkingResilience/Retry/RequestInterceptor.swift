public import NetworkingCore

extension NetworkingComponent {
    /// Lets interceptors change each attempt and decide whether failed attempts are retried.
    ///
    /// Before each attempt, the interceptors adapt the request in order: the first receives the original request, and
    /// each of the others receives the result of the one before. After a failed attempt, they are asked in order, and
    /// the first decision other than ``RetryDecision/standard`` applies. If no interceptor decides, the request is not
    /// retried. Otherwise it works like ``retry(_:budget:)``: the maximum number of retries, budget, replay checks,
    /// deadline and cancellation are the same, and it belongs in the same position.
    ///
    /// ```swift
    /// struct Authorization: RequestInterceptor {
    ///     let tokens: Tokens
    ///
    ///     func adapt(_ request: HTTPRequestData) async throws -> HTTPRequestData {
    ///         var request = request
    ///         request.headerFields[.authorization] = try await "Bearer \(tokens.current())"
    ///         return request
    ///     }
    ///
    ///     func retry(_ request: HTTPRequestData, dueTo attempt: Attempt) async throws -> RetryDecision {
    ///         guard attempt.number == 1, attempt.response?.status == .unauthorized else { return .standard }
    ///         try await tokens.refresh()
    ///         return .retry
    ///     }
    /// }
    ///
    /// let network = URLSession.shared.intercepted(by: Authorization(tokens: Tokens()), Diagnostics())
    /// ```
    ///
    /// - Parameters:
    ///   - interceptors: The interceptors, in order.
    ///   - policy: The number of retries and the backoff; the policy's own rules for retries are not used.
    ///   - budget: The share of the requests to a server that may be retries.
    /// - Returns: A component that throws the errors of the interceptors.
    public func intercepted(
        by interceptors: any RequestInterceptor...,
        policy: RetryPolicy = .exponential(),
        budget: RetryBudget = RetryBudget()
    ) -> some NetworkingComponent {
        intercepted(by: interceptors, policy: policy, budget: budget)
    }

    /// Lets a list of interceptors change each attempt and decide whether failed attempts are retried.
    ///
    /// It is the form for interceptors that the app collects in an array. With an empty array, no request is changed or
    /// retried.
    ///
    /// ```swift
    /// let network = URLSession.shared.intercepted(by: interceptors)
    /// ```
    ///
    /// - Parameters:
    ///   - interceptors: The interceptors, in order.
    ///   - policy: The number of retries and the backoff; the policy's own rules for retries are not used.
    ///   - budget: The share of the requests to a server that may be retries.
    /// - Returns: A component that throws the errors of the interceptors.
    public func intercepted(
        by interceptors: [any RequestInterceptor],
        policy: RetryPolicy = .exponential(),
        budget: RetryBudget = RetryBudget()
    ) -> some NetworkingComponent {
        modified(Adapted(interceptors: interceptors))
            .retry(policy.deciding(by: Interceptors(interceptors)), budget: budget)
    }
}

/// A type that changes requests before each attempt and decides whether failed attempts are retried.
///
/// It resembles the interceptors of other libraries. A ``NetworkingModifier`` can do the same and more, because it has
/// access to the components upstream.
public protocol RequestInterceptor: StackDescribing, _InterceptorDeclarations, Sendable {
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
    /// - Throws: An error that the call fails with, instead of the result of the attempt. The next interceptors are not
    ///   asked.
    func retry(_ request: HTTPRequestData, dueTo attempt: Attempt) async throws -> RetryDecision
}

extension RequestInterceptor {
    /// Returns the request unchanged.
    public func adapt(_ request: HTTPRequestData) async throws -> HTTPRequestData {
        request
    }

    /// Leaves the decision to the next interceptor.
    public func retry(_ request: HTTPRequestData, dueTo attempt: Attempt) async throws -> RetryDecision {
        .standard
    }
}

/// Asks the interceptors in order and returns the first decision.
private struct Interceptors: RetryStrategy {
    let interceptors: [any RequestInterceptor]

    init(_ interceptors: [any RequestInterceptor]) {
        self.interceptors = interceptors
    }

    func decide(about request: HTTPRequestData, after attempts: [Attempt]) async throws -> RetryDecision {
        guard let attempt = attempts.last else { return .giveUp }
        for interceptor in interceptors {
            let decision = try await interceptor.retry(request, dueTo: attempt)
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
            request = try await request.replaced(by: interceptor.adapt(request.besideStack))
        }
        return try await upstream.send(request)
    }

    var stackPart: StackPart {
        StackPart(
            roles: interceptors.reduce(into: [.adaptation]) { $0.formUnion($1.stackPart.roles) },
            options: interceptors.reduce(into: []) { $0.formUnion($1.stackPart.options) },
            rules: interceptors.flatMap(\.stackPart.rules)
        )
    }

    var description: String {
        "adapted(by: \(interceptors.map { "\(type(of: $0))" }.joined(separator: ", ")))"
    }
}
