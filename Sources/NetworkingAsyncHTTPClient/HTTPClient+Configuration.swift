#if AsyncHTTPClient
public import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOHTTP2

extension HTTPClient.Configuration {
    /// A configuration for a client at the end of a stack, without the features that the stack provides.
    ///
    /// It does not follow redirects, decode bodies or trace. It reports a failed connection at once, so that `retry`
    /// can decide. A connection attempt may take 60 seconds, so that the limits of the stack's `timeout` apply first.
    ///
    /// It sets the debug initializers of the client to install handlers in each connection. They detect a reused
    /// connection that was closed, reject responses that would crash the process, and close a connection on which bytes
    /// arrive that belong to no response.
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
    func leavingToStack() -> HTTPClient.Configuration {
        var configuration = self
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
        }
        configuration.http2StreamChannelDebugInitializer = Self.adding(
            StatusGuard.self,
            before: http2StreamChannelDebugInitializer
        ) { pipeline in
            try pipeline.addHandler(StatusGuard(), position: .first)
            let codec = try pipeline.handler(type: HTTP2FramePayloadToHTTP1ClientCodec.self)
            try pipeline.addHandler(EndGuard(), position: .after(codec))
        }
        return configuration
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
