#if URLSession
#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif

/// A URLSession is a transport.
///
/// ```swift
/// let network = URLSession.shared.logged()
/// ```
///
/// On Apple's platforms its tasks run on the session itself. On Linux, where a session without a delegate hangs on
/// some answers and crashes on some cancellations, they run on a companion that is made from a copy of its
/// configuration and lives as long as the session does.
///
/// A session that has a delegate of its own is refused with ``NetworkingError/Kind/invalidRequest`` on Linux, since the
/// companion could not honour it: use ``URLSessionTransport`` there.
extension URLSession: NetworkingTransport {
    /// Makes one exchange over this session.
    ///
    /// - Parameter request: The request, resolved and checked.
    /// - Returns: The response, with its body collected or delivered to the request's sink.
    /// - Throws: What ``URLSessionTransport/exchange(_:)`` throws.
    public func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await hostForExchanges(of: request).respond(to: request)
    }
}

extension URLSession {
    /// Runs a request as a task of this session, which must be one that can host it.
    func respond(to request: HTTPRequestData) async throws -> HTTPResponseData {
        guard var urlRequest = URLRequest(request) else {
            throw NetworkingError(.invalidRequest, request: request, reason: "Foundation finds no URL in this request.")
        }
        let cookies = cookiesForExchanges
        cookies?.add(to: &urlRequest)
        let upload = try await request.body?.upload(for: request)
        defer { upload?.discard() }
        let exchange = URLSessionExchange(request: request, cookies: cookies, upload: upload)
        exchange.start(task(for: exchange, with: urlRequest, sending: upload))
        return try await exchange.respond()
    }
}

extension URLSession: Outlined {
    package var outlineLines: [String] {
        ["URLSession"]
    }
}
#endif
