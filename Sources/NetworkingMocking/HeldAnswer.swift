public import NetworkingCore

/// An answer that a test gives when it wants to, and that knows who waits for it.
///
/// ```swift
/// let answer = HeldAnswer()
/// let transport = MockTransport { _ in .held(by: answer) }
/// async let user = network.value(.user(id: 42))
///
/// try await answer.waitForRequests()  // the request is out, and there is no answer
/// answer.answer(.json(emily))         // or answer.fail(error)
/// ```
///
/// One answer may hold any number of requests: all get what it is answered with, those that come later at once. A
/// caller that is cancelled gets `CancellationError` at once, and the answer counts it.
public final class HeldAnswer: Sendable {
    fileprivate let tally = MockTally(Counts())

    fileprivate struct Counts {
        var requests: [HTTPRequestData] = []
        var cancellations = 0
        var answer: Result<MockResponse, any Error>?
    }

    /// Creates an answer that is not there yet.
    public init() {}

    /// The requests that have come for it, in order.
    public var requests: [HTTPRequestData] {
        tally.read { $0.requests }
    }

    /// How many callers were cancelled while they waited for it.
    public var cancellations: Int {
        tally.read { $0.cancellations }
    }

    /// Waits until requests have come for it.
    ///
    /// - Parameter count: How many, since it was made.
    /// - Throws: `CancellationError` when the caller is cancelled first.
    public func waitForRequests(_ count: Int = 1) async throws {
        try await tally.wait { $0.requests.count >= count }
    }

    /// Waits until callers were cancelled while they waited for it.
    ///
    /// - Parameter count: How many, since it was made.
    /// - Throws: `CancellationError` when the caller is cancelled first.
    public func waitForCancellations(_ count: Int = 1) async throws {
        try await tally.wait { $0.cancellations >= count }
    }

    /// Answers those who wait, and those who will; does nothing when it was given before.
    ///
    /// - Parameter response: The answer.
    /// - Precondition: The answer is not held by this one, nor by one that is answered with this one: nobody would ever
    ///   give it.
    public func answer(_ response: MockResponse = .ok()) {
        precondition(
            !response.isHeld(by: self),
            "response must not be held by the HeldAnswer that it answers; answer with what is to be sent"
        )
        end(with: .success(response))
    }

    /// Fails for those who wait, and those who will; does nothing when it was given before.
    ///
    /// - Parameter error: What the transport throws.
    public func fail(_ error: any Error) {
        end(with: .failure(error))
    }

    private func end(with answer: Result<MockResponse, any Error>) {
        tally.update { $0.answer = $0.answer ?? answer }
    }

    /// Waits for the answer on a request's account.
    func response(to request: HTTPRequestData) async throws -> MockResponse {
        tally.update { $0.requests.append(request.forRecording) }
        do {
            try await tally.wait { $0.answer != nil }
        } catch {
            tally.update { $0.cancellations += 1 }
            throw error
        }
        guard let answer = tally.read({ $0.answer }) else { throw CancellationError() }
        return try answer.get()
    }
}

extension MockResponse {
    /// Whether it comes from a held answer, if need be by way of others.
    fileprivate func isHeld(by answer: HeldAnswer) -> Bool {
        var response = self
        while case .held(let next) = response.outcome {
            if next === answer { return true }
            guard case .success(let following) = next.tally.read({ $0.answer }) else { return false }
            response = following
        }
        return false
    }
}
