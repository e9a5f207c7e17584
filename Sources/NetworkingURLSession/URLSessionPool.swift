#if URLSession
import Foundation
public import NetworkingCore
import NetworkingTrust
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import Synchronization

extension URLSessionTransport {
    /// Which requests may use a connection that an earlier request has used.
    public typealias ConnectionReuse = NetworkingCore.ConnectionReuse
}

extension ConnectionReuse {
    /// The default of URLSession on this platform: ``sameCredentials`` on Linux, and ``always`` on Apple's platforms.
    ///
    /// libcurl, which implements URLSession on Linux, sends a request on a kept connection even if the server has sent
    /// unrequested data there (L37 in `Documentation/Transports.md`).
    public static var standard: ConnectionReuse {
        #if canImport(FoundationNetworking)
        .sameCredentials
        #else
        .always
        #endif
    }
}

/// The sessions of a transport, which separate the connections of its users and of hosts with pins or identities.
///
/// Every URLSession has its own connection pool, and there is no other way to choose a connection. Over HTTP/2, a
/// session may send requests for several hosts over one connection if the certificate names them all (RFC 9113 section
/// 9.1.1). A host with pins therefore has a separate session. All of its connections were compared with these pins.
final class URLSessionPool: Sendable {
    /// The maximum count of sessions kept without a request in progress, each as many times as it had requests at the
    /// same time.
    ///
    /// A session keeps a connection or more for each of them, and a process has 1,024 sockets by default.
    private static let maximumIdle = 64

    private let configuration: URLSessionConfiguration
    private let reuse: ConnectionReuse
    let trust: URLSessionTrust?
    private let calls: URLSessionCalls
    private let streams: OpenStreams
    private let common: URLSession
    private let sessions = Mutex(KeyedPool<Partition, URLSession>(maximumIdle: URLSessionPool.maximumIdle))

    /// The requests that may share connections.
    private struct Partition: Hashable {
        /// The user, if the transport separates users.
        let owner: ConnectionOwner?
        /// The pins and the identity of the host, if it has any.
        let host: HostTrust?
    }

    init(
        _ configuration: URLSessionConfiguration,
        maximumConnectionsPerHost: Int? = nil,
        reuse: ConnectionReuse,
        trust: URLSessionTrust? = nil,
        calls: URLSessionCalls = .shared
    ) {
        let configuration = configuration.copied
        if let maximumConnectionsPerHost {
            configuration.httpMaximumConnectionsPerHost = maximumConnectionsPerHost
        }
        self.configuration = configuration
        self.reuse = reuse
        self.trust = trust
        self.calls = calls
        streams = OpenStreams(limit: configuration.httpMaximumConnectionsPerHost)
        common = .forExchanges(configuration)
    }

    deinit {
        invalidate([common] + sessions.withLock { $0.removeAll() })
    }

    /// Invalidates sessions, which keep their delegate and their connections until then.
    ///
    /// The task of a cancelled exchange may not have been created yet. On Linux, creating it after its session was
    /// invalidated ends the process, so both happen in order on one queue.
    private func invalidate(_ sessions: [URLSession]) {
        calls.end {
            for session in sessions {
                session.finishTasksAndInvalidate()
            }
        }
    }

    /// Performs one exchange over a session with connections that the request may use.
    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        let host = try trust?.trust.hostTrust(for: request)
        guard reuse != .never, !request.needsOwnConnection else {
            let session = URLSession.forExchanges(configuration)
            defer { invalidate([session]) }
            return try await exchange(request, over: session, of: Partition(owner: nil, host: host), isShared: false)
        }
        let partition = Partition(owner: reuse == .sameCredentials ? ConnectionOwner(of: request) : nil, host: host)
        guard partition.owner != nil || host != nil else {
            return try await exchange(request, over: common, of: partition)
        }
        let session = sessions.withLock { $0.borrow(partition) { .forExchanges(configuration) } }
        defer {
            let surplus = sessions.withLock { $0.giveBack(partition) }
            if !surplus.isEmpty {
                invalidate(surplus)
            }
        }
        return try await exchange(request, over: session, of: partition)
    }

    /// Performs one exchange over a session.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - session: The session.
    ///   - partition: The owner of its connections, and what they need.
    ///   - isShared: Whether other requests use its connections too.
    /// - Returns: The response.
    /// - Throws: The errors of ``URLSessionTransport/exchange(_:)``.
    private func exchange(
        _ request: HTTPRequestData,
        over session: URLSession,
        of partition: Partition,
        isShared: Bool = true
    ) async throws -> HTTPResponseData {
        #if canImport(FoundationNetworking)
        // Over TLS the server may use HTTP/2, where many exchanges share a connection, and URLSession does not report
        // it.
        let part = isShared && request.scheme == "http" ? streams.begin(request, owner: partition.owner) : nil
        defer {
            if let part {
                streams.end(part)
            }
        }
        #endif
        return try await URLSessionExchange.response(
            to: request,
            over: session,
            trust: trust,
            host: partition.host,
            calls: calls
        )
    }

    /// Returns why a request may have waited for a connection; `nil` if nothing is known.
    func connectionShortage(for request: HTTPRequestData) -> String? {
        streams.shortage(for: request, owner: reuse == .sameCredentials ? ConnectionOwner(of: request) : nil)
    }
}

extension HTTPRequestData {
    /// Whether the request needs a connection that no other request has used.
    ///
    /// If a kept connection ends before the response, libcurl sends the request again on a new connection. It does so
    /// for every method, and has no option to prevent it. It does not do so for the first request of a connection.
    ///
    /// A request with a body is the exception: the exchange can refuse to provide the body again, so no new connection
    /// is needed.
    fileprivate var needsOwnConnection: Bool {
        #if canImport(FoundationNetworking)
        forbidsResending || !mayBeSentTwice && (body == nil || body?.length == 0)
        #else
        false
        #endif
    }
}
#endif
