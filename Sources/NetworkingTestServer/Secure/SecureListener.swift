#if SecureTestServer
import CLibraryForNetworking
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL

/// Listens on a loopback port with TLS, and serves each connection and each HTTP/2 stream in its own task.
struct SecureListener: Listening {
    let port: Int
    private let channel: NIOAsyncChannel<Arrival, Never>

    /// An accepted connection, with the number and the effect that were assigned when it was accepted.
    private struct Arrival: Sendable {
        let channel: any Channel
        let number: Int
        let effect: TestServer.ConnectionEffect
        let speech: Speech
    }

    private enum Speech: Sendable {
        /// Bytes without TLS, for an effect that replaces the handshake.
        case plain(ChannelStream)
        case secure(EventLoopFuture<NIONegotiatedHTTPVersion<ChannelStream, Streams>>)
    }

    private typealias Streams = NIOHTTP2Handler.AsyncStreamMultiplexer<ChannelStream>

    /// Returns the context for the handshakes.
    static func context(_ tls: TestServer.TLS) throws(TestServerError) -> NIOSSLContext {
        do {
            let chain = try NIOSSLCertificate.fromPEMBytes(Array(tls.certificateChain.utf8))
            let key = try NIOSSLPrivateKey(bytes: Array(tls.privateKey.utf8), format: .pem)
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) },
                privateKey: .privateKey(key)
            )
            configuration.applicationProtocols = tls.protocols.map(\.rawValue)
            // A client that has disconnected does not confirm the end of TLS.
            configuration.shutdownTimeout = .milliseconds(100)
            if let authority = tls.clientAuthority {
                configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(authority.utf8)))
                configuration.certificateVerification = .noHostnameVerification
            }
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw .unusableCertificate("\(error)")
        }
    }

    /// Listens on a port, or on a free one if the port is zero.
    init(port: Int, context: NIOSSLContext, switchboard: Switchboard) async throws {
        var bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.socketOption(.so_reuseaddr), value: 1)
        // Closed connections block their port for some time unless both sides have this option. A free port is chosen
        // without it, so that the port is unused. Its connections still get the option, for a restart.
        if port != 0 {
            bootstrap = bootstrap.serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        }
        do {
            channel = try await bootstrap.bind(host: "127.0.0.1", port: port) { channel in
                let (number, effect) = switchboard.addConnection()
                return Self.speech(of: channel, effect, context)
                    .map { Arrival(channel: channel, number: number, effect: effect, speech: $0) }
            }
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            throw TestServerError.portTaken(port)
        } catch let error as IOError where error.errnoCode == EACCES {
            throw TestServerError.portForbidden(port)
        }
        self.port = channel.channel.localAddress?.port ?? port
    }

    private static func speech(
        of channel: any Channel,
        _ effect: TestServer.ConnectionEffect,
        _ context: NIOSSLContext
    ) -> EventLoopFuture<Speech> {
        guard effect == .serve else { return ChannelStream.add(to: channel).map { .plain($0) } }
        return channel.eventLoop
            .makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
            }
            .flatMap {
                channel.configureHTTP2AsyncSecureUpgrade(
                    http1ConnectionInitializer: { ChannelStream.add(to: $0) },
                    http2ConnectionInitializer: { addStreams(to: $0) }
                )
            }
            .map { .secure($0) }
    }

    private static func addStreams(to channel: any Channel) -> EventLoopFuture<Streams> {
        // The HTTP/2 handlers do not close the connection when the client closes its side, so the channel has to.
        channel.setOption(.allowRemoteHalfClosure, value: false)
            .flatMap {
                channel.configureAsyncHTTP2Pipeline(mode: .server) { stream in
                    stream.eventLoop
                        .makeCompletedFuture {
                            try stream.pipeline.syncOperations.addHandlers([
                                HTTP2FramePayloadToHTTP1ServerCodec(), StreamFraming(),
                            ])
                        }
                        .flatMap { ChannelStream.add(to: stream, isMultiplexed: true) }
                }
            }
    }

    func serve(_ switchboard: Switchboard) async {
        // Ends when the task is cancelled.
        try? await channel.executeThenClose { arrivals in
            try await withThrowingDiscardingTaskGroup { connections in
                for try await arrival in arrivals {
                    connections.addTask { await Self.serve(arrival, switchboard) }
                }
                connections.cancelAll()
            }
        }
        switchboard.close()
    }

    private static func serve(_ arrival: Arrival, _ switchboard: Switchboard) async {
        let number = arrival.number
        switch arrival.speech {
        case .plain(let stream):
            await Connection(socket: stream, number: number, switchboard: switchboard).serve(arrival.effect)
        case .secure(let handshake):
            let version = try? await withTaskCancellationHandler {
                try await handshake.get()
            } onCancel: {
                arrival.channel.close(promise: nil)
            }
            switch version {
            case .http1_1(let stream):
                await Connection(socket: stream, number: number, switchboard: switchboard).serve()
            case .http2(let streams): await serve(streams, number, switchboard)
            // The handshake failed.
            case nil: break
            }
            try? await arrival.channel.close()
        }
        switchboard.removeConnection(number)
    }

    private static func serve(_ streams: Streams, _ number: Int, _ switchboard: Switchboard) async {
        try? await withThrowingDiscardingTaskGroup { group in
            var count = 0
            for try await stream in streams.inbound {
                let connection = Connection(
                    socket: stream,
                    number: number,
                    switchboard: switchboard,
                    httpVersion: "HTTP/2",
                    earlierRequests: count
                )
                count += 1
                group.addTask { await connection.serve() }
            }
            group.cancelAll()
        }
    }
}
#endif
