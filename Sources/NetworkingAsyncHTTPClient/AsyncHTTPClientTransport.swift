#if AsyncHTTPClient
public import AsyncHTTPClient
public import NetworkingTrust
public import NetworkingCore
public import NIOCore
public import NIOPosix
import Synchronization

/// A transport over AsyncHTTPClient with its own client, for servers and for features that URLSession lacks on Linux.
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
/// Request and response bodies are streamed at the same time, and a slow sink slows down the server. Over TLS it uses
/// HTTP/2 if the server supports it. The client itself neither follows redirects nor decompresses bodies: the library
/// follows redirects, and the transport requests gzip and deflate, and decodes them within
/// `HTTPRequestData.decompressionLimit`.
///
/// If the server is silent for 60 seconds, or for the stack's `timeout` if that is longer, the exchange fails with
/// `NetworkingError.Kind.timeout`. The transport has no cookie storage: received cookies are header fields, and a
/// request sends only the cookies in its fields.
///
/// Its connections close with ``shutdown()``, or when it is released. Build with the trait `AsyncHTTPClient`.
public final class AsyncHTTPClientTransport: ClosableTransport {
    private let clients: ClientPool
    private let trust: ServerTrust?
    private let configuration: HTTPClient.Configuration
    private let state = Mutex(State())

    /// Creates a transport with its own client.
    ///
    /// ```swift
    /// var configuration = HTTPClient.Configuration.networking
    /// configuration.proxy = .server(host: "proxy.example.com", port: 8080)
    /// configuration.tlsConfiguration = tls
    /// let transport = AsyncHTTPClientTransport(configuration: configuration)
    /// ```
    ///
    /// - Parameters:
    ///   - configuration: The client's configuration. Its settings for redirects, decompression and tracing are
    ///     ignored.
    ///   - maximumConnectionsPerHost: The maximum number of connections over HTTP/1.1 to a host, greater than zero. An
    ///     open stream occupies one, and other requests wait if streams occupy them all. The default is that of the
    ///     configuration, which is 8 unless it was set.
    ///   - connectionReuse: Which requests may use a connection that an earlier request has used. By default, only
    ///     requests with the same credentials, except over HTTP/2.
    ///   - eventLoopGroup: The event loops to use; by default those shared by the process.
    public init(
        configuration: HTTPClient.Configuration = .networking,
        maximumConnectionsPerHost: Int? = nil,
        connectionReuse: ConnectionReuse = .sameCredentials,
        eventLoopGroup: any EventLoopGroup = HTTPClient.defaultEventLoopGroup
    ) {
        let configuration = configuration.limited(to: maximumConnectionsPerHost).leavingToStack()
        self.configuration = configuration
        clients = ClientPool(configuration, reuse: connectionReuse, eventLoopGroup: eventLoopGroup)
        trust = nil
    }

    /// Creates a transport that checks pins, trusts custom authorities, or presents client identities.
    ///
    /// ```swift
    /// let trust = ServerTrust(pins: [HostPins("api.example.com", pins: [currentKey, backupKey])])
    /// let transport = try AsyncHTTPClientTransport(trust: trust)
    /// ```
    ///
    /// The pins of a host are compared after the handshake of each connection to it, before a request is written. A
    /// mismatch fails with `NetworkingError.Kind.tls` and a `NetworkingError.pinMismatch`. A request without TLS to
    /// a host with enforced pins fails with `NetworkingError.Kind.invalidRequest`.
    ///
    /// Each host with pins or an identity has a separate client with separate connections. The clients of the most
    /// recently used hosts are kept; those of other hosts are shut down when they have no request.
    ///
    /// - Parameters:
    ///   - configuration: The client's configuration. `trust` replaces the roots, the verification and the
    ///     identity of its `tlsConfiguration`. The stricter of the two minimum versions of TLS applies.
    ///   - trust: The servers to trust. Pins of the scope `HostPins.Scope.validatedChain` are not possible.
    ///   - maximumConnectionsPerHost: As in the other initializer.
    ///   - connectionReuse: As in the other initializer.
    ///   - eventLoopGroup: The event loops to use; by default NIO's threads, which are shared by the process. The event
    ///     loops of Network.framework are not possible.
    /// - Throws: `ServerTrustError` if this transport cannot enforce `trust`, or an identity cannot be read.
    public init(
        configuration: HTTPClient.Configuration = .networking,
        trust: ServerTrust,
        maximumConnectionsPerHost: Int? = nil,
        connectionReuse: ConnectionReuse = .sameCredentials,
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) throws(ServerTrustError) {
        let configuration = configuration.limited(to: maximumConnectionsPerHost).leavingToStack()
        self.configuration = configuration
        clients = try ClientPool(
            configuration,
            reuse: connectionReuse,
            trust: trust,
            eventLoopGroup: eventLoopGroup
        )
        self.trust = trust
    }

    deinit {
        // A client that is released without a shutdown traps. It retains itself until the shutdown is complete.
        guard !state.withLock({ $0.isShutDown }) else { return }
        clients.beginShutdown()
    }

    /// Makes one exchange over AsyncHTTPClient.
    ///
    /// - Parameter request: The request, resolved and checked.
    /// - Returns: The response, with its body collected or delivered to the request's sink.
    /// - Throws: A `NetworkingError` that holds AsyncHTTPClient's error, or `CancellationError` as soon as the caller
    ///   is cancelled. After ``shutdown()``, one of kind `NetworkingError.Kind.rejected`.
    public func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        guard state.withLock({ $0.begin() }) else { throw request.transportIsShutDown }
        defer { state.withLock { $0.end() }?.resume() }
        return try await clients.respond(to: request)
    }

    /// The streams that may occupy all connections, and the rules of the pins and of the versions of TLS.
    public var stackPart: StackPart {
        // A trust has its own minimum version.
        StackPart(
            options: [.contentDecoders],
            connectionShortage: clients.connectionShortage,
            rules: self.trust?.rules ?? self.configuration.rulesOfTLS
        )
    }

    /// Shuts down: rejects new exchanges, waits for the running ones, and closes the connections.
    ///
    /// Concurrent calls wait for the same shutdown. If the first caller is cancelled, it stops waiting, and the
    /// remaining exchanges fail with `NetworkingError.Kind.connectionLost`.
    ///
    /// - Throws: The error of AsyncHTTPClient if connections cannot be closed; `CancellationError` for another caller
    ///   that is cancelled.
    public func shutdown() async throws {
        let wait = Suspension<Void>()
        switch state.withLock({ $0.shutDown(wait) }) {
        case .done: return
        case .another: return try await wait.value(until: nil)
        case .waiting: try? await wait.value(until: nil)
        case .idle: break
        }
        let result: Result<Void, any Error>
        do {
            try await clients.shutdown()
            result = .success(())
        } catch {
            result = .failure(error)
        }
        for wait in state.withLock({ $0.finishShutdown() }) {
            wait.resume(with: result)
        }
        try result.get()
    }

    private enum Shutdown {
        /// The shutdown is complete.
        case done
        /// Another caller is shutting down, and resumes this one when it is done.
        case another
        /// The wait ends with the last exchange.
        case waiting
        /// No exchange is in flight.
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

        /// Removes an exchange; returns the waiter if it was the last one.
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

        /// Returns the other callers that wait for the shutdown.
        mutating func finishShutdown() -> [Suspension<Void>] {
            isClosed = true
            defer { others = [] }
            return others
        }
    }
}

extension HTTPClient.Configuration {
    /// Returns the same configuration with another limit of connections to a host, unless it is `nil`.
    fileprivate func limited(to maximumConnectionsPerHost: Int?) -> HTTPClient.Configuration {
        guard let maximumConnectionsPerHost else { return self }
        precondition(
            maximumConnectionsPerHost > 0,
            "maximumConnectionsPerHost must be greater than zero (is \(maximumConnectionsPerHost))"
        )
        var configuration = self
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = maximumConnectionsPerHost
        return configuration
    }
}

extension AsyncHTTPClientTransport: CustomStringConvertible {
    /// The line in an outline of the stack.
    public var description: String {
        "AsyncHTTPClientTransport"
    }
}
#endif
