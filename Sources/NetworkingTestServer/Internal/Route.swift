#if TestServer
import HTTPTypes
import Networking

/// Holds what one `route` call scripted.
struct Route: Sendable {
    let id: Int
    /// The method, nil for any.
    let method: HTTPRequest.Method?
    let path: PathPattern
    /// Whether it answers before the body has arrived.
    var answersAtHead = false
    /// How many requests it answers.
    let limit: Int
    let script: Script
    /// How many requests it has answered.
    var uses = 0

    enum Script: Sendable {
        case handler(TestServer.Handler)
        /// One for each request; the last one stays.
        case responses([TestResponse])
    }

    /// Returns what the path says when the route answers the request, and nil when it does not.
    func parameters(of request: RecordedRequest) -> [String: String]? {
        guard method == nil || method == request.method, uses < limit else { return nil }
        return path.parameters(in: request.path)
    }

    /// The response that it gives next, where that is known before there is a request.
    var nextResponse: TestResponse? {
        guard case .responses(let responses) = script else { return nil }
        return responses[min(uses, responses.count - 1)]
    }

    /// Whether it may say, to the next request or a later one, how that is received.
    var mayActOnRequests: Bool {
        guard case .responses(let responses) = script else { return answersAtHead }
        return responses[min(uses, responses.count - 1)..<min(limit, responses.count)].contains(where: \.actsOnRequest)
    }

    /// Who answers the next request.
    var handler: TestServer.Dispatcher {
        if let response = nextResponse { return { _ in response } }
        guard case .handler(let handler) = script else { return { _ in nil } }
        return handler
    }

    /// How many requests it was promised and did not get; a handler without a number was promised none.
    var missingUses: Int {
        let promised =
            switch script {
            case .handler: limit == .max ? 0 : limit
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
