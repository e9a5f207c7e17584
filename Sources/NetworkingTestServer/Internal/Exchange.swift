#if TestServer
import HTTPTypes

/// Pairs a request that has arrived with who answers it.
struct Exchange: Sendable {
    let id: Int
    var request: RecordedRequest
    var handler: TestServer.Handler

    /// Returns the answer; an error of the handler becomes one too.
    func response() async -> TestResponse {
        do {
            return try await handler(request)
        } catch {
            let text = "The handler of \(request.method) \(request.path) threw \(error)."
            return .text(text, status: .internalServerError)
        }
    }

    /// Answers what nobody scripted.
    static let unscripted: TestServer.Handler = { request in
        let text = "Nobody scripted \(request.method) \(request.path): add a route or enqueue a response."
        return .text(text, status: .notImplemented)
    }
}
#endif
