#if AsyncHTTPClient
public import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOHTTP2

extension HTTPClient.Configuration {
    /// A configuration for a client that ends a stack: what the stack does is switched off.
    ///
    /// It follows no redirects, decodes nothing, traces nothing, and says at once that there is no connection, which
    /// `retry` is there for. It gives a connection 60 seconds, so that the limits of the stack's `timeout` count. Its
    /// debug initializers tell a kept connection that was closed from others, and keep out answers that would end the
    /// process. They close a connection on which bytes arrive that belong to no response, so that they do not reach the
    /// next one.
    ///
    /// A client of this configuration is meant for stacks. Where an app uses it directly, the body of a response with a
    /// status of 300 or more that comes before the request has been sent ends with an error, behind its last byte.
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

    /// The same, with everything switched off that the stack does, and with guards in its connections.
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

    /// Returns an initializer of channels that adds handlers, unless they are there, and then calls another
    /// initializer.
    ///
    /// On the channel's event loop it adds them at once, so that no byte arrives before.
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
