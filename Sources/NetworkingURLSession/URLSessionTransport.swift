#if URLSession
public import NetworkingCore
public import NetworkingTrust

#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif
import Synchronization

/// A transport over URLSession that creates its own sessions.
///
/// ```swift
/// let network = URLSessionTransport(configuration: .ephemeral, maximumConnectionsPerHost: 32).logged()
/// ```
///
/// The stack handles redirects, caching and credentials. The sessions therefore follow no redirect, store nothing and
/// reply to no challenge except the one for the server's certificate. Their connections close with ``shutdown()``, or
/// when the transport is released.
///
/// - Warning: On Linux, a server can end the process over URLSession (L10, L35 and L36 in
///   `Documentation/Transports.md`). Use `AsyncHTTPClientTransport` there for servers that are not trusted.
public final class URLSessionTransport: ClosableTransport {
    private let trust: ServerTrust?
    /// The sessions, which are invalidated when no exchange uses them; `nil` after the shutdown.
    private let pool: Mutex<URLSessionPool?>

    /// Creates a transport with its own sessions.
    ///
    /// - Parameters:
    ///   - configuration: The configuration, which is copied. Its cache and its credential storage are not used. Its
    ///     limits, such as the number of connections to a host, apply to each user if `connectionReuse` separates
    ///     users.
    ///   - maximumConnectionsPerHost: The maximum number of HTTP/1.1 connections to a host, greater than zero. An open
    ///     stream uses one, and other requests wait if streams use them all. The default is the configuration's value,
    ///     which is 6 unless it was set.
    ///   - connectionReuse: Which requests may use a connection that an earlier request has used. By default, only
    ///     requests with the same credentials on Linux, and all requests on Apple's platforms.
    public convenience init(
        configuration: URLSessionConfiguration = .default,
        maximumConnectionsPerHost: Int? = nil,
        connectionReuse: ConnectionReuse = .standard
    ) {
        self.init(configuration, maximumConnectionsPerHost, connectionReuse, trust: nil)
    }

    /// Creates a transport that checks pins, trusts custom authorities, or presents client identities.
    ///
    /// ```swift
    /// let trust = ServerTrust(pins: [HostPins("api.example.com", pins: [currentKey, backupKey])])
    /// let transport = try URLSessionTransport(trust: trust)
    /// ```
    ///
    /// On Apple's platforms, the pins of a host are compared after the system's validation, before a request is sent. A
    /// mismatch fails with ``NetworkingError/Kind/tls`` and a ``NetworkingError/pinMismatch``. A request without TLS to
    /// a host with enforced pins fails with ``NetworkingError/Kind/invalidRequest``.
    ///
    /// Each host with pins or an identity has its own session with separate connections.
    ///
    /// On Linux, URLSession can enforce none of this, so any `trust` other than the default throws. Use
    /// `AsyncHTTPClientTransport` there.
    ///
    /// - Parameters:
    ///   - configuration: The configuration, which is copied. The stricter of its minimum version of TLS and
    ///     that of `trust` applies.
    ///   - trust: The servers to trust. Identities must be in PKCS#12.
    ///   - maximumConnectionsPerHost: As in the other initializer.
    ///   - connectionReuse: As in the other initializer.
    /// - Throws: ``ServerTrustError`` if this transport cannot enforce `trust`, or an identity cannot be read.
    public convenience init(
        configuration: URLSessionConfiguration = .default,
        trust: ServerTrust,
        maximumConnectionsPerHost: Int? = nil,
        connectionReuse: ConnectionReuse = .standard
    ) throws(ServerTrustError) {
        let configuration = configuration.copied
        let trust = try URLSessionTrust(trust, configuring: configuration)
        self.init(configuration, maximumConnectionsPerHost, connectionReuse, trust: trust)
    }

    private init(
        _ configuration: URLSessionConfiguration,
        _ maximumConnectionsPerHost: Int?,
        _ connectionReuse: ConnectionReuse,
        trust: URLSessionTrust?
    ) {
        if let maximumConnectionsPerHost {
            precondition(
                maximumConnectionsPerHost > 0,
                "maximumConnectionsPerHost must be greater than zero (is \(maximumConnectionsPerHost))"
            )
        }
        self.trust = trust?.trust
        pool = Mutex(
            URLSessionPool(
                configuration,
                maximumConnectionsPerHost: maximumConnectionsPerHost,
                reuse: connectionReuse,
                trust: trust
            )
        )
    }

    /// Performs one exchange over URLSession.
    ///
    /// - Parameter request: The request, resolved and checked.
    /// - Returns: The response, with its body collected or delivered to the request's sink.
    /// - Throws: A ``NetworkingError`` that holds the `URLError`, or `CancellationError` as soon as the caller is
    ///   cancelled. After ``shutdown()``, one of kind ``NetworkingError/Kind/rejected``.
    public func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        guard let pool = pool.withLock({ $0 }) else { throw request.transportIsShutDown }
        return try await pool.exchange(request)
    }

    /// Rejects new exchanges, and closes the connections when the running exchanges have ended.
    ///
    /// It does not wait for the running exchanges.
    public func shutdown() {
        // Released outside of the lock, because the last user of the sessions invalidates them.
        _ = pool.withLock { pool in
            defer { pool = nil }
            return pool
        }
    }

    /// The options that URLSession reads, the streams that may occupy all connections, and the rules of the pins.
    public var stackPart: StackPart {
        StackPart(
            options: URLSession.options,
            connectionShortage: { request in self.pool.withLock { $0 }?.connectionShortage(for: request) },
            rules: self.trust?.rules ?? []
        )
    }
}

extension URLSessionTransport: CustomStringConvertible {
    /// The transport's line in an outline of the stack.
    public var description: String {
        "URLSessionTransport"
    }
}

#endif
