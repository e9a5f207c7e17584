#if LoopbackRedirect
import FoundationForNetworking
import NetworkingCore
import NetworkingLoopback
import Synchronization

/// Responds to browsers, and accepts the one request that is the callback of an authorization.
final class LoopbackReception: Sendable {
    private let authorization: OAuthAuthorization
    private let address: LoopbackAddress
    private let texts: LoopbackUserAgent.Texts
    private let end = Suspension<URL>()
    private let isOver = Mutex(false)

    init(of authorization: OAuthAuthorization, at address: LoopbackAddress, texts: LoopbackUserAgent.Texts) {
        self.authorization = authorization
        self.address = address
        self.texts = texts
    }

    /// Waits for the callback.
    func callback() async throws -> URL {
        try await end.value(until: nil)
    }

    /// Ends the wait with an error, unless it has already ended.
    func fail(with error: any Error) {
        end.resume(with: .failure(error))
    }

    /// Serves the one request of a connection.
    func serve(_ connection: LoopbackConnection) async throws {
        let decision =
            if let head = try await connection.head() {
                LoopbackRequestHead(head).map { decide(on: $0) } ?? refusal("400 Bad Request")
            } else {
                refusal("431 Request Header Fields Too Large")
            }
        // The waiting caller may end the process, so the browser gets its page first. The request is read to its end,
        // so that closing the connection does not discard the page.
        defer { conclude(decision) }
        try await connection.respond(with: decision.response.data)
        conclude(decision)
        try await connection.drain()
    }

    /// The response to a request, and the callback URL if the request carried it; the URL is delivered after the
    /// browser has received the response.
    private struct Decision {
        let response: LoopbackResponse
        var url: URL?
    }

    /// Decides how to respond to a request.
    private func decide(on request: LoopbackRequestHead) -> Decision {
        // A foreign name may resolve to this machine (DNS rebinding), and its pages could then read the response.
        guard let host = request.host, address.isNamed(by: host) else { return refusal("403 Forbidden") }
        guard request.path == address.path else { return refusal("404 Not Found") }
        guard request.method == "GET" else { return refusal("405 Method Not Allowed", ["Allow: GET"]) }
        guard let url = address.url(of: request.target), authorization.matches(redirect: url) else {
            return refusal("400 Bad Request")
        }
        let isFirst = isOver.withLock { isOver in
            defer { isOver = true }
            return !isOver
        }
        guard isFirst else { return Decision(response: page("410 Gone", texts.over)) }
        let isRefusal = request.queryNames.contains("error")
        return Decision(response: page("200 OK", isRefusal ? texts.refused : texts.received), url: url)
    }

    /// Ends the wait, if the request was the callback.
    private func conclude(_ decision: Decision) {
        if let url = decision.url { end.resume(with: .success(url)) }
    }

    private func refusal(_ status: String, _ fields: [String] = []) -> Decision {
        Decision(response: page(status, texts.unexpected, fields))
    }

    private func page(_ status: String, _ text: String, _ fields: [String] = []) -> LoopbackResponse {
        LoopbackResponse(status: status, fields: fields, language: texts.language, title: texts.title, text: text)
    }
}

extension LoopbackRequestHead {
    fileprivate var path: Substring {
        target.prefix { $0 != "?" }
    }

    /// The names of the query items.
    fileprivate var queryNames: [Substring] {
        target.dropFirst(path.count + 1).split(separator: "&").map { $0.prefix { $0 != "=" } }
    }
}
#endif
