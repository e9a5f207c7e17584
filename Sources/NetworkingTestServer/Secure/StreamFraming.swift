#if SecureTestServer
import NIOCore
import NIOEmbedded
import NIOHTTP1

/// Translates between the messages of an HTTP/2 stream and the HTTP/1.1 bytes that the server reads and writes.
///
/// An embedded channel with the HTTP/1.1 handlers of a client encodes the requests and decodes the responses, on the
/// event loop of the stream.
final class StreamFraming: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = HTTPServerResponsePart

    private var wire: EmbeddedChannel?

    func handlerAdded(context: ChannelHandlerContext) {
        let decoder = HTTPResponseDecoder(leftOverBytesStrategy: .dropBytes, informationalResponseStrategy: .forward)
        wire = EmbeddedChannel(handlers: [HTTPRequestEncoder(), ByteToMessageHandler(decoder)])
        try? wire?.connect(to: SocketAddress(unixDomainSocketPath: "/")).wait()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        do {
            switch unwrapInboundIn(data) {
            case .head(var head):
                head.version = .http1_1
                try wire?.writeOutbound(HTTPClientRequestPart.head(head))
            case .body(let bytes):
                try wire?.writeOutbound(HTTPClientRequestPart.body(.byteBuffer(bytes)))
            case .end(let trailers):
                try wire?.writeOutbound(HTTPClientRequestPart.end(trailers))
            }
            while let bytes = try wire?.readOutbound(as: ByteBuffer.self) {
                context.fireChannelRead(wrapInboundOut(bytes))
            }
        } catch {
            context.fireErrorCaught(error)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        do {
            try wire?.writeInbound(unwrapOutboundIn(data))
            try passOn(context, promise)
        } catch {
            promise?.fail(error)
            context.close(promise: nil)
        }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        // A body without a length ends here. If a body is shorter than its length, its stream is reset.
        if (try? wire?.finish(acceptAlreadyClosed: true)) != nil, (try? passOn(context)) != nil {
            context.flush()
        }
        wire = nil
        context.close(mode: mode, promise: promise)
    }

    /// Writes the decoded parts of the response, the last one with the promise.
    private func passOn(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>? = nil) throws {
        var next = try wire?.readInbound(as: HTTPClientResponsePart.self)
        guard next != nil else {
            promise?.succeed()
            return
        }
        while let part = next {
            next = try wire?.readInbound(as: HTTPClientResponsePart.self)
            context.write(wrapOutboundOut(HTTPServerResponsePart(part)), promise: next == nil ? promise : nil)
        }
    }
}

extension HTTPServerResponsePart {
    fileprivate init(_ part: HTTPClientResponsePart) {
        self =
            switch part {
            case .head(let head): .head(head)
            case .body(let bytes): .body(.byteBuffer(bytes))
            case .end(let trailers): .end(trailers)
            }
    }
}
#endif
