#if AsyncHTTPClient
import NIOCore
import NIOHTTP2

/// Copies the content of the DATA frames of an HTTP/2 connection.
///
/// NIO passes on slices of the buffer in which it collects the bytes of a connection. While a stream holds a slice that
/// the caller has not read, the next bytes need a new buffer of the same size. So a body that arrives faster than it is
/// read took several times the memory of its bytes, and most of the time went into these buffers.
final class DataCopy: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias InboundOut = HTTP2Frame

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var frame = unwrapInboundIn(data)
        guard case .data(var content) = frame.payload, case .byteBuffer(let bytes) = content.data else {
            return context.fireChannelRead(data)
        }
        content.data = .byteBuffer(ByteBuffer(buffer: bytes))
        frame.payload = .data(content)
        context.fireChannelRead(wrapInboundOut(frame))
    }
}
#endif
