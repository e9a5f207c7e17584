package import NetworkingCore

/// A transport with a single response, for mocks in the middle of a stack.
package struct MockExchange: NetworkingTransport {
    private let mock: MockResponse

    package init(_ mock: MockResponse) {
        self.mock = mock
    }

    package func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        var request = request
        let progress = try await request.arrive()
        let response = try await mock.respond(to: request, after: progress)
        try Task.checkCancellation()
        return response
    }
}

extension HTTPRequestData {
    /// Returns the request with its body in memory.
    package func withBodyInMemory() async throws -> HTTPRequestData {
        guard let body, body.data == nil else { return self }
        var request = self
        request.progressHandler = nil
        do {
            _ = try await request.arrive()
        } catch let failure as RequestBody.Failure {
            throw failure.error(of: self)
        }
        request.progressHandler = progressHandler
        return request
    }
}
