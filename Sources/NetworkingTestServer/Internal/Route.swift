#if TestServer
import HTTPTypes

/// Holds what one `route` call scripted.
struct Route: Sendable {
    /// The method, nil for any.
    let method: HTTPRequest.Method?
    let path: PathPattern
    /// Whether it answers before the body has arrived.
    var answersAtHead = false
    let handler: TestServer.Handler

    /// Returns what the path says when the route answers the request, and nil when it does not.
    func parameters(of request: RecordedRequest) -> [String: String]? {
        guard method == nil || method == request.method else { return nil }
        return path.parameters(in: request.path)
    }
}
#endif
