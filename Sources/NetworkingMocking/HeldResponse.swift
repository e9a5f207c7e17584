public import NetworkingCore

/// A mock response that a test provides at a time of its choice, and that counts the requests waiting for it.
///
/// ```swift
/// let held = HeldResponse()
/// let transport = MockTransport { _ in .held(by: held) }
/// async let user = network.value(.user(id: 42))
///
/// try await held.waitForRequests()    // the request is in flight, and has no response yet
/// held.respond(with: .json(emily))    // or held.fail(error)
/// ```
///
/// One held response can serve any number of requests: all waiting requests receive it, and later requests
/// receive it immediately. A cancelled caller gets `CancellationError` immediately, and the cancellation is counted.
public final class HeldResponse: Sendable {
    fileprivate let tally = MockTally(Counts())

    fileprivate struct Counts {
        var requests: [HTTPRequestData] = []
        var cancellations = 0
        var result: Result<MockResponse, any Error>?
    }

    /// Creates a held response without a result.
    public init() {}

    /// The requests that have waited for the response, in order.
    public var requests: [HTTPRequestData] {
        tally.read { $0.requests }
    }

    /// The number of callers that were cancelled while they waited for the response.
    public var cancellations: Int {
        tally.read { $0.cancellations }
    }

    /// Waits until a number of requests have arrived.
    ///
    /// - Parameter count: The number of requests since the held response was created.
    /// - Throws: `CancellationError` if the caller is cancelled first.
    public func waitForRequests(_ count: Int = 1) async throws {
        try await tally.wait { $0.requests.count >= count }
    }

    /// Waits until a number of callers were cancelled while they waited for the response.
    ///
    /// - Parameter count: The number of cancellations since the held response was created.
    /// - Throws: `CancellationError` if the caller is cancelled first.
    public func waitForCancellations(_ count: Int = 1) async throws {
        try await tally.wait { $0.cancellations >= count }
    }

    /// Provides the response for all waiting and later requests; does nothing if it already has a result.
    ///
    /// - Parameter response: The response.
    /// - Precondition: The response is not held by this object, neither directly nor through other held responses,
    ///   because it would never be provided.
    public func respond(with response: MockResponse = .ok()) {
        precondition(
            !response.isHeld(by: self),
            "response must not be held by the same HeldResponse; pass the response to send"
        )
        end(with: .success(response))
    }

    /// Makes all waiting and later requests fail; does nothing if it already has a result.
    ///
    /// - Parameter error: The error that the transport throws.
    public func fail(_ error: any Error) {
        end(with: .failure(error))
    }

    private func end(with result: Result<MockResponse, any Error>) {
        tally.update { $0.result = $0.result ?? result }
    }

    /// Waits for the response to a request.
    func response(to request: HTTPRequestData) async throws -> MockResponse {
        tally.update { $0.requests.append(request.forRecording) }
        do {
            try await tally.wait { $0.result != nil }
        } catch {
            tally.update { $0.cancellations += 1 }
            throw error
        }
        guard let result = tally.read({ $0.result }) else { throw CancellationError() }
        return try result.get()
    }
}

extension MockResponse {
    /// Whether the response is held by an object, directly or through other held responses.
    fileprivate func isHeld(by holder: HeldResponse) -> Bool {
        var response = self
        while case .held(let next) = response.outcome {
            if next === holder { return true }
            guard case .success(let following) = next.tally.read({ $0.result }) else { return false }
            response = following
        }
        return false
    }
}
