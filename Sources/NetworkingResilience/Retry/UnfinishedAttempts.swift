import NetworkingCore

/// The attempts of a call that may end at its deadline, for the error of the deadline.
struct UnfinishedAttempts: Sendable {
    private let attempts: [Attempt]
    private let request: HTTPRequestData

    init(_ attempts: [Attempt], of request: HTTPRequestData) {
        self.attempts = attempts
        self.request = request
    }

    /// Adds the attempts to the error of a deadline, unless they are those of another request, such as a token refresh
    /// for which the call waits.
    func complete(_ error: inout NetworkingError) {
        // A caller that shares the exchange has a request of its own.
        guard error.request.id == request.id || error.request.hasSameTarget(as: request) else { return }
        error = error.after(attempts, refusal: nil)
    }
}

extension HTTPRequestData {
    fileprivate func hasSameTarget(as other: HTTPRequestData) -> Bool {
        method == other.method && url == other.url
    }
}
