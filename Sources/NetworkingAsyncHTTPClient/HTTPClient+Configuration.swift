#if AsyncHTTPClient
public import AsyncHTTPClient
import NetworkingCore
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOSSL

extension HTTPClient.Configuration {
    /// A configuration for a client at the end of a stack, without the features that the stack provides.
    ///
    /// It requires TLS 1.2 or later. A `tlsConfiguration` of your own accepts TLS 1.0 unless you set its
    /// `minimumTLSVersion`; the stack's diagnostics report that.
    ///
    /// It does not follow redirects, decode bodies or trace. It reports a failed connection at once, so that `retry`
    /// can decide. A connection attempt may take 60 seconds, so that the limits of the stack's `timeout` apply first.
    ///
    /// It sets the debug initializers of the client to install handlers in each connection. They detect a reused
    /// connection that was closed, reject responses that would crash the process, close a connection on which bytes
    /// arrive that belong to no response, end an exchange whose request cannot be written, and copy the bytes that
    /// arrive over HTTP/2 and wait for their reader.
    ///
    /// A client with this configuration is meant for stacks. If an app uses it directly, one limitation applies to a
    /// response with a status of 300 or more that arrives before the request has been sent: its body ends with an error
    /// after its last byte.
    ///
    /// ```swift
    /// let client = HTTPClient(configuration: .networking)
    /// let network = client.logged()
    /// ```
    public static var networking: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration()
        configuration.timeout.connect = .seconds(60)
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration.leavingToStack()
    }

    /// Returns the same configuration without the features that the stack provides, and with guards in its connections.
    ///
    /// A configuration without settings for TLS requires version 1.2.
    func leavingToStack() -> HTTPClient.Configuration {
        var configuration = self
        if configuration.tlsConfiguration == nil {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.minimumTLSVersion = .tlsv12
            configuration.tlsConfiguration = tls
        }
        configuration.redirectConfiguration = .disallow
        configuration.decompression = .disabled
        configuration.tracing.tracer = nil
        configuration.http1_1ConnectionDebugInitializer = Self.adding(
            ConnectionGuard.self,
            before: http1_1ConnectionDebugInitializer
        ) { pipeline in
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
            let connection = ConnectionGuard()
            try pipeline.addHandler(connection, position: .after(decoder))
            try pipeline.addHandler(SurplusGuard(connection), position: .before(decoder))
            try pipeline.addHandler(HeadRepair(connection), position: .before(decoder))
        }
        configuration.http2ConnectionDebugInitializer = Self.adding(
            DataCopy.self,
            before: http2ConnectionDebugInitializer
        ) { pipeline in
            try pipeline.addHandler(DataCopy(), position: .after(pipeline.handler(type: NIOHTTP2Handler.self)))
        }
        configuration.http2StreamChannelDebugInitializer = Self.adding(
            StatusGuard.self,
            before: http2StreamChannelDebugInitializer
        ) { pipeline in
            try pipeline.addHandler(StatusGuard(), position: .first)
            try pipeline.addHandler(HeadSizeGuard(), position: .first)
            let codec = try pipeline.handler(type: HTTP2FramePayloadToHTTP1ClientCodec.self)
            try pipeline.addHandler(EndGuard(), position: .after(codec))
        }
        return configuration
    }

    /// The rule that a client accepts no version of TLS which is no longer secure (RFC 8996); empty if it keeps it.
    var rulesOfTLS: [StackRule] {
        let minimum = (tlsConfiguration ?? .makeClientConfiguration()).minimumTLSVersion
        guard minimum == .tlsv1 || minimum == .tlsv11 else { return [] }
        return [
            StackRule { _ in
                "The client accepts TLS 1.0 or 1.1, which are not secure. Set minimumTLSVersion of its "
                    + "tlsConfiguration to .tlsv12, or start from HTTPClient.Configuration.networking."
            }
        ]
    }

    /// Returns an initializer of channels that adds handlers, unless they are present, and then calls another
    /// initializer.
    ///
    /// On the channel's event loop it adds them synchronously, so that they see the first byte.
    private static func adding<Handler: ChannelHandler & SendableMetatype>(
        _ type: Handler.Type,
        before own: (@Sendable (any Channel) -> EventLoopFuture<Void>)?,
        _ add: @escaping @Sendable (ChannelPipeline.SynchronousOperations) throws -> Void
    ) -> @Sendable (any Channel) -> EventLoopFuture<Void> {
        { channel in
            let addOnce: @Sendable () throws -> Void = {
                let pipeline = channel.pipeline.syncOperations
                guard (try? pipeline.handler(type: type)) == nil else { return }
                try add(pipeline)
            }
            let eventLoop = channel.eventLoop
            return
                (eventLoop.inEventLoop
                ? eventLoop.makeCompletedFuture(withResultOf: addOnce) : eventLoop.submit(addOnce))
                .flatMap { own?(channel) ?? eventLoop.makeSucceededVoidFuture() }
        }
    }
}
#endif
