#if URLSession
public import NetworkingCore

#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif

/// The transport over URLSession, with sessions of its own.
///
/// ```swift
/// let network = URLSessionTransport(configuration: .ephemeral, maximumConnectionsPerHost: 32).logged()
/// ```
///
/// Redirects, caching and credentials are the stack's business. So the sessions follow no redirect, store nothing and
/// answer no challenge except the one for the server's certificate. Their connections close when the transport is
/// released.
///
/// - Warning: On Linux, a server can end the process over URLSession (L10, L35 and L36 in
///   `Documentation/Transports.md`). Use `AsyncHTTPClientTransport` there for servers that are not trusted.
public final class URLSessionTransport: NetworkingTransport {
    private let pool: URLSessionPool

    /// Creates a transport with sessions of its own.
    ///
    /// - Parameters:
    ///   - configuration: The configuration, which is copied. Its cache and its credential storage are not used. Its
    ///     limits, such as the number of connections to a host, count for each user if `connectionReuse` keeps users
    ///     apart.
    ///   - maximumConnectionsPerHost: The maximum number of connections over HTTP/1.1 to a host, greater than zero. An
    ///     open stream holds one, and other requests wait if streams hold them all. By default that of the
    ///     configuration, which is 6 unless it was set.
    ///   - connectionReuse: Which requests may use a connection that an earlier request has used. By default, only
    ///     those with the same credentials on Linux, and every request on Apple's platforms.
    public init(
        configuration: URLSessionConfiguration = .default,
        maximumConnectionsPerHost: Int? = nil,
        connectionReuse: ConnectionReuse = .standard
    ) {
        if let maximumConnectionsPerHost {
            precondition(
                maximumConnectionsPerHost > 0,
                "maximumConnectionsPerHost must be greater than zero (is \(maximumConnectionsPerHost))"
            )
        }
        pool = URLSessionPool(
            configuration,
            maximumConnectionsPerHost: maximumConnectionsPerHost,
            reuse: connectionReuse
        )
    }

    /// Makes one exchange over URLSession.
    ///
    /// - Parameter request: The request, resolved and checked.
    /// - Returns: The response, with its body collected or delivered to the request's sink.
    /// - Throws: A ``NetworkingError`` that holds the `URLError`, or `CancellationError` as soon as the caller is
    ///   cancelled.
    public func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await pool.respond(to: request)
    }
}

extension URLSessionTransport: ConnectionCounting {
    package func connectionShortage(for request: HTTPRequestData) -> String? {
        pool.connectionShortage(for: request)
    }
}

extension URLSessionTransport: CustomStringConvertible {
    /// The line of an outline.
    public var description: String {
        "URLSessionTransport"
    }
}

#endif
