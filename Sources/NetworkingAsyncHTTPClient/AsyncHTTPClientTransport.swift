#if AsyncHTTPClient
public import AsyncHTTPClient
public import Networking
public import NIOCore
import Synchronization

/// The transport over AsyncHTTPClient, with a client of its own: for servers, and for everything that URLSession on
/// Linux cannot do.
///
/// ```swift
/// import Networking
/// import NetworkingAsyncHTTPClient
///
/// let transport = AsyncHTTPClientTransport()
/// let network = transport.timeout(.seconds(10)).retry().server(authority: "api.example.com")
/// // … at the end of the program:
/// try await transport.shutdown()
/// ```
///
/// Bodies are streamed both ways at once, and a slow sink holds the server back. Over TLS it speaks HTTP/2 where the
/// server does. Redirects and decompression are the stack's and this library's business, so the client does neither:
/// gzip and deflate are asked for and undone here, within ``HTTPRequestData/decompressionLimit``.
///
/// A server that is silent for 60 seconds, or for as long as the stack's `timeout` allows if that is longer, ends the
/// exchange with ``NetworkingError/Kind/timeout``. It has no cookies: those of a response are header fields, and a
/// request sends what its fields say.
///
/// Its connections close with ``shutdown()``, or when it is released. Build with the trait `AsyncHTTPClient`.
public final class AsyncHTTPClientTransport: NetworkingTransport {
    private let client: HTTPClient
    private let streams: OpenStreams
    private let state = Mutex(State())

    /// Creates a transport with a client of its own.
    ///
    /// ```swift
    /// var configuration = HTTPClient.Configuration.networking
    /// configuration.proxy = .server(host: "proxy.example.com", port: 8080)
    /// configuration.tlsConfiguration = tls
    /// let transport = AsyncHTTPClientTransport(configuration: configuration)
    /// ```
    ///
    /// - Parameters:
    ///   - configuration: The client's configuration. Its redirects, its decompression and its tracing are not used.
    ///   - maximumConnectionsPerHost: The maximum number of connections over HTTP/1.1 to a host, greater than zero. An
    ///     open stream holds one, and other requests wait if streams hold them all. By default that of the
    ///     configuration, which is 8 unless it was set.
    ///   - eventLoopGroup: The event loops on which it works; by default those that a process shares.
    public init(
        configuration: HTTPClient.Configuration = .networking,
        maximumConnectionsPerHost: Int? = nil,
        eventLoopGroup: any EventLoopGroup = HTTPClient.defaultEventLoopGroup
    ) {
        var configuration = configuration
        if let maximumConnectionsPerHost {
            precondition(
                maximumConnectionsPerHost > 0,
                "maximumConnectionsPerHost must be greater than zero (is \(maximumConnectionsPerHost))"
            )
            configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = maximumConnectionsPerHost
        }
        client = HTTPClient(eventLoopGroup: eventLoopGroup, configuration: configuration.leavingToStack())
        streams = OpenStreams(limit: configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit)
    }

    deinit {
        // A client that goes without this traps. It keeps itself until it is done.
        if !state.withLock({ $0.isShutDown }) {
            client.shutdown { _ in }
        }
    }

    /// Makes one exchange over AsyncHTTPClient.
    ///
    /// - Parameter request: The request, resolved and checked.
    /// - Returns: The response, with its body collected or delivered to the request's sink.
    /// - Throws: A ``NetworkingError`` that holds AsyncHTTPClient's error, or `CancellationError` as soon as the caller
    ///   is cancelled. After ``shutdown()``, one of kind ``NetworkingError/Kind/rejected``.
    public func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        guard state.withLock({ $0.begin() }) else { throw request.transportIsShutDown }
        defer { state.withLock { $0.end() }?.resume() }
        return try await client.respond(to: request, counting: streams)
    }

    /// Lets the exchanges that are under way end, takes no others, and closes the connections.
    ///
    /// Who calls it again waits for the same end. The first caller, when it is cancelled, waits no longer: what is
    /// under way then fails with ``NetworkingError/Kind/connectionLost``.
    ///
    /// - Throws: What AsyncHTTPClient throws when connections cannot be closed; `CancellationError` to another caller
    ///   that is cancelled.
    public func shutdown() async throws {
        let wait = Suspension<Void>()
        switch state.withLock({ $0.shutDown(wait) }) {
        case .done: return
        case .another: return try await wait.value()
        case .waiting: try? await wait.value()
        case .idle: break
        }
        let result: Result<Void, any Error>
        do {
            result = .success(try await client.shutdown())
        } catch {
            result = .failure(error)
        }
        for wait in state.withLock({ $0.finishShutdown() }) {
            wait.resume(with: result)
        }
        try result.get()
    }

    private enum Shutdown {
        /// It has happened.
        case done
        /// Somebody else does it, and ends the wait when it is done.
        case another
        /// The wait ends with the last exchange.
        case waiting
        /// Nothing is under way.
        case idle
    }

    private struct State {
        private var exchanges = 0
        private(set) var isShutDown = false
        private var isClosed = false
        private var waiter: Suspension<Void>?
        private var others: [Suspension<Void>] = []

        mutating func begin() -> Bool {
            guard !isShutDown else { return false }
            exchanges += 1
            return true
        }

        /// Counts an exchange as over; answers who waits for that.
        mutating func end() -> Suspension<Void>? {
            exchanges -= 1
            return exchanges == 0 ? waiter : nil
        }

        mutating func shutDown(_ waiter: Suspension<Void>) -> Shutdown {
            if isClosed { return .done }
            guard !isShutDown else {
                others.append(waiter)
                return .another
            }
            isShutDown = true
            self.waiter = waiter
            return exchanges == 0 ? .idle : .waiting
        }

        /// Answers who else waits for the end.
        mutating func finishShutdown() -> [Suspension<Void>] {
            isClosed = true
            defer { others = [] }
            return others
        }
    }
}

extension AsyncHTTPClientTransport: ConnectionCounting {
    package func connectionShortage(for request: HTTPRequestData) -> String? {
        streams.shortage(for: request)
    }
}

extension AsyncHTTPClientTransport: CustomStringConvertible {
    /// The line of an outline.
    public var description: String {
        "AsyncHTTPClientTransport"
    }
}
#endif
