import NetworkingCore

extension HTTPRequestData {
    /// The number of attempts that `retry` still allows, including this one; `nil` without `retry`.
    ///
    /// `retry` sets it if `hedged` is further in, because each extra attempt counts as a retry.
    var attemptsLeft: Int? {
        get { self[.attemptsLeft] }
        set { self[.attemptsLeft] = newValue }
    }
}

extension RequestOptionKey {
    fileprivate static let attemptsLeft = RequestOption<Int?>(
        "attemptsLeft",
        default: nil,
        affects: .nothing,
        isSetByStack: true
    )
}

extension HTTPResponseData {
    /// The number of extra attempts that `hedged` has made for this response.
    var hedges: Int {
        get { self[metadata: HedgesKey.self] }
        set { self[metadata: HedgesKey.self] = newValue }
    }
}

extension NetworkingError {
    /// The number of extra attempts that `hedged` has made before this failure.
    var hedges: Int {
        get { self[metadata: HedgesKey.self] }
        set { self[metadata: HedgesKey.self] = newValue }
    }
}

private enum HedgesKey: ResponseMetadata {
    static let defaultValue = 0
}

extension Result<HTTPResponseData, any Error> {
    /// The number of extra attempts that `hedged` has made for this result.
    var hedges: Int {
        switch self {
        case .success(let response): response.hedges
        case .failure(let error): (error as? NetworkingError)?.hedges ?? 0
        }
    }
}

extension RetryPolicy {
    /// The maximum number of attempts of a call.
    var maximumAttempts: Int {
        min(maximumRetries, .max - 1) + 1
    }
}
