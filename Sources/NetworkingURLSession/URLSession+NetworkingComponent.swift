#if URLSession
public import NetworkingCore

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
/// On Apple's platforms its tasks run on the session itself. On Linux, a session without a delegate hangs on some
/// responses and crashes on some cancellations. There the tasks run on a companion session, which is created from a
/// copy of the configuration and exists at least as long as the session. Requests with different credentials use
/// different connections there (``ConnectionReuse/sameCredentials``).
///
/// The session's own cache is neither read nor written, and its stored credentials are not used for a 401, because the
/// stack decides both. Its cookies are used as its configuration says.
///
/// On Linux, a session with a delegate is rejected with ``NetworkingError/Kind/invalidRequest``, because the companion
/// could not call that delegate. Use ``URLSessionTransport`` there.
///
/// - Warning: On Linux, a server can end the process over URLSession (L10, L35 and L36 in
///   `Documentation/Transports.md`). Use `AsyncHTTPClientTransport` there for servers that are not trusted.
extension URLSession: NetworkingTransport {
    /// Performs one exchange over this session.
    ///
    /// - Parameter request: The request, resolved and checked.
    /// - Returns: The response, with its body collected or delivered to the request's sink.
    /// - Throws: The errors of ``URLSessionTransport/exchange(_:)``.
    public func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        #if canImport(FoundationNetworking)
        try await URLSessionCompanions.shared.pool(for: request, of: self).exchange(request)
        #else
        try await URLSessionExchange.response(to: request, over: self)
        #endif
    }
}

extension URLSession {
    /// The name of the type, the options that it reads, and the streams that may occupy all connections.
    public var stackPart: StackPart {
        #if canImport(Darwin)
        StackPart(name: "URLSession", options: Self.options)
        #else
        StackPart(name: "URLSession", connectionShortage: { self.shortage(for: $0) })
        #endif
    }

    /// The options for the allowed networks and for HTTP/3, which only Apple's URLSession reads.
    static var options: Set<RequestOptionKey> {
        #if canImport(Darwin)
        [.networkAccess, .assumesHTTP3]
        #else
        []
        #endif
    }
}

extension URLSession {
    /// Returns whether this transport ends the exchange of a request at its time limit itself.
    public func enforcesLimit(of request: HTTPRequestData) -> Bool {
        request.isLimitedByURLSessionExchange
    }
}

extension URLSessionTransport {
    /// Returns whether this transport ends the exchange of a request at its time limit itself.
    public func enforcesLimit(of request: HTTPRequestData) -> Bool {
        request.isLimitedByURLSessionExchange
    }
}

extension HTTPRequestData {
    /// Whether the exchange waits only for URLSession, and neither for a sink nor for the file of a body.
    fileprivate var isLimitedByURLSessionExchange: Bool {
        sink == nil && (body == nil || body?.data != nil)
    }
}
#endif
