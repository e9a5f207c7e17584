import Networking

/// Sends each request a number of times and returns the last response, as a retry would.
struct Resent: NetworkingModifier {
    var times = 3

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        for _ in 1..<times {
            _ = try await upstream.send(request)
        }
        return try await upstream.send(request)
    }
}

extension NetworkingComponent {
    func resent(times: Int = 3) -> some NetworkingComponent {
        modified(Resent(times: times))
    }
}
