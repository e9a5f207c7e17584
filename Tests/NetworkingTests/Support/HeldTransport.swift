import Networking
import NetworkingTesting

/// A transport whose requests wait until the test answers them, and that ends at once when its caller is cancelled.
final class HeldTransport: NetworkingTransport {
    let journal = Journal()
    private let arrival = Suspension<Void>()
    private let answer = Suspension<MockResponse>()

    /// Waits until a request has arrived.
    func arrived() async throws {
        try await arrival.value()
    }

    func answer(_ response: MockResponse = .ok()) {
        answer.resume(with: .success(response))
    }

    func fail(_ error: any Error) {
        answer.resume(with: .failure(error))
    }

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        journal.note("sent")
        arrival.resume()
        _ = try await answer.value { self.journal.note("cancelled") }
        return HTTPResponseData(request: request)
    }
}
