#if SecureTestServer
extension TestServer {
    /// The certificate and the protocols of a server that speaks TLS.
    ///
    /// ```swift
    /// try await withTestServer(tls: .loopback) { server in
    ///     server.enqueue(.text("hello"))
    ///     // server.url is https://127.0.0.1:49152. The client trusts TestServer.TLS.loopbackAuthority.
    /// }
    /// ```
    ///
    /// Over HTTP/2, each stream is served as a connection of HTTP/1.1 would be: the same routes, delays and throttles
    /// apply. A response that HTTP/1.1 would end by closing or resetting the connection resets its stream, unless it is
    /// complete. Bytes of ``TestResponse/raw(_:)`` that are not a response reset the stream as well.
    public struct TLS: Sendable, Hashable {
        /// The certificate of the server, followed by the intermediate certificates, in PEM.
        public var certificateChain: String

        /// The private key of the server's certificate, in PEM.
        public var privateKey: String

        /// The protocols that the server accepts, the preferred one first.
        public var protocols: [ApplicationProtocol]

        /// The certificate of the authority, in PEM, that must have issued the client's certificate.
        ///
        /// `nil` if the client needs no certificate, which is the default.
        public var clientAuthority: String?

        /// Creates the settings of a server.
        ///
        /// - Parameters:
        ///   - certificateChain: The certificate of the server, followed by the intermediate certificates, in PEM.
        ///   - privateKey: The private key in PEM.
        ///   - protocols: The protocols that the server accepts, the preferred one first.
        ///   - clientAuthority: The certificate of the authority, in PEM, that must have issued the client's
        ///     certificate.
        /// - Precondition: `protocols` is not empty.
        public init(
            certificateChain: String,
            privateKey: String,
            protocols: [ApplicationProtocol] = [.http2, .http1],
            clientAuthority: String? = nil
        ) {
            precondition(!protocols.isEmpty, "protocols must not be empty")
            self.certificateChain = certificateChain
            self.privateKey = privateKey
            self.protocols = protocols
            self.clientAuthority = clientAuthority
        }

        /// A certificate for 127.0.0.1, ::1 and localhost, with HTTP/2 and HTTP/1.1.
        ///
        /// It is issued by ``loopbackAuthority`` and valid until 2119. Its private key is public.
        public static let loopback = TLS(certificateChain: loopbackCertificate, privateKey: loopbackPrivateKey)

        /// The same certificate with other protocols.
        ///
        /// - Parameter protocols: The protocols that the server accepts, the preferred one first.
        /// - Returns: The settings.
        public static func loopback(_ protocols: ApplicationProtocol...) -> TLS {
            TLS(certificateChain: loopbackCertificate, privateKey: loopbackPrivateKey, protocols: protocols)
        }
    }

    /// Starts a server that speaks TLS on a port of 127.0.0.1.
    ///
    /// Apart from TLS and HTTP/2, the server behaves like one from ``start(port:keepingBodiesUpTo:clock:)``.
    ///
    /// - Parameters:
    ///   - tls: The certificate and the protocols.
    ///   - port: The port to listen on; 0 for a free one.
    ///   - bodyLimit: The maximum number of bytes recorded of each body. The rest is read and counted.
    ///   - clock: The clock of all delays.
    /// - Returns: A running server.
    /// - Throws: ``TestServerError`` if the port, the certificate or the private key cannot be used.
    /// - Precondition: `port` is at most 65535, and neither it nor `bodyLimit` is negative.
    public static func start(
        tls: TLS,
        port: Int = 0,
        keepingBodiesUpTo bodyLimit: Int = .max,
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws -> TestServer {
        let context = try SecureListener.context(tls)
        return try await start(scheme: "https", port: port, keepingBodiesUpTo: bodyLimit, clock: clock) {
            try await SecureListener(port: $0, context: context, switchboard: $1)
        }
    }
}

extension TestServer.TLS {
    /// A protocol that client and server agree on in the handshake (ALPN).
    public enum ApplicationProtocol: String, Sendable, Hashable, CaseIterable {
        /// HTTP/1.1.
        case http1 = "http/1.1"

        /// HTTP/2.
        case http2 = "h2"
    }
}

/// Runs a closure with a server that speaks TLS, and stops the server afterwards.
///
/// ```swift
/// try await withTestServer(tls: .loopback(.http2)) { server in
///     server.enqueue(.text("hello"))
///     try await check(server.url)
/// }
/// ```
///
/// - Parameters:
///   - tls: The certificate and the protocols.
///   - port: The port to listen on; 0 for a free one.
///   - bodyLimit: The maximum number of bytes recorded of each body. The rest is read and counted.
///   - clock: The clock of all delays.
///   - body: A closure that uses the running server.
/// - Returns: The result of `body`.
/// - Throws: The error of `body`; ``TestServerError`` if the port, the certificate or the key cannot be used.
/// - Precondition: `port` is at most 65535, and neither it nor `bodyLimit` is negative.
public func withTestServer<Result>(
    tls: TestServer.TLS,
    port: Int = 0,
    keepingBodiesUpTo bodyLimit: Int = .max,
    clock: any Clock<Duration> = ContinuousClock(),
    _ body: nonisolated(nonsending) (TestServer) async throws -> Result
) async throws -> Result {
    try await running(
        try await TestServer.start(tls: tls, port: port, keepingBodiesUpTo: bodyLimit, clock: clock),
        body
    )
}
#endif
