#if TestServer
import HTTPTypes
import NetworkingCore

/// A route scripted by one call to `route`.
struct Route: Sendable {
    let id: Int
    /// The method; `nil` for any.
    let method: HTTPRequest.Method?
    let path: PathPattern
    /// Whether the route responds before the body has arrived.
    var respondsAfterHead = false
    /// The number of requests that the route responds to.
    let limit: Int
    let script: Script
    /// The number of requests that the route has responded to.
    var uses = 0

    enum Script: Sendable {
        case handler(TestServer.Handler)
        /// The responses in order.
        ///
        /// The last one repeats.
        case responses([TestResponse])
        /// A closure that receives the body in chunks.
        case receiver(Receiver)
    }

    /// A closure that receives the body of a request in chunks, and returns the response.
    ///
    /// If it throws, the connection ends without a response.
    typealias Receiver =
        nonisolated(nonsending) @Sendable (RecordedRequest, inout IncomingBody) async throws -> TestResponse

    /// Returns the parameters of the path if the route matches the request, or `nil` if it does not.
    func parameters(of request: RecordedRequest) -> [String: String]? {
        guard method == nil || method == request.method, uses < limit else { return nil }
        return path.parameters(in: request.path)
    }

    /// The next response, if it is known before the request arrives.
    var nextResponse: TestResponse? {
        guard case .responses(let responses) = script else { return nil }
        return responses[min(uses, responses.count - 1)]
    }

    /// Whether a response of the route can control how the next request or a later one is received.
    var mayActOnRequests: Bool {
        guard case .responses(let responses) = script else { return respondsAfterHead }
        return responses[min(uses, responses.count - 1)..<min(limit, responses.count)].contains(where: \.actsOnRequest)
    }

    /// The handler for the next request.
    var handler: TestServer.Dispatcher {
        if let response = nextResponse { return { _ in response } }
        guard case .handler(let handler) = script else { return { _ in nil } }
        return handler
    }

    /// The closure that receives the body of the next request in chunks, if the route has one.
    var receiver: Receiver? {
        guard case .receiver(let receiver) = script else { return nil }
        return receiver
    }

    /// The number of scripted uses that are left; zero for a handler without a number of uses.
    var missingUses: Int {
        let promised =
            switch script {
            case .handler, .receiver: limit == .max ? 0 : limit
            case .responses(let responses): limit == .max ? responses.count : limit
            }
        return max(0, promised - uses)
    }
}

extension Route: CustomStringConvertible {
    var description: String {
        "\(method?.rawValue ?? "any method") \(path)"
    }
}
#endif
