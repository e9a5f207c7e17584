#if AsyncHTTPClient
import NIOCore
import NIOHPACK
import NIOHTTP2

/// Rejects the head of a request that does not fit into one frame of HTTP/2.
///
/// NIO does not split a head into several frames (RFC 9113 section 6.10). It reports that only to the promise of the
/// write, and AsyncHTTPClient passes none, so the request would wait until its time limit. NIO has then already added
/// the fields to the compression table of the connection, from which the server would decode later requests wrongly.
/// Therefore such a head must not reach NIO.
///
/// AsyncHTTPClient counts the streams of a connection by NIO's events, and NIO has none for a stream that ends before
/// its head is written. This handler supplies these events. Otherwise the stream would count as open as long as the
/// connection exists.
final class HeadSizeGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    /// The size of a frame that each server accepts, in bytes (RFC 9113 section 6.5.2).
    private static let minimumFrameSize = 16_384

    private var hasWritten = false
    /// The error of the request, if its head was rejected.
    private var rejection: OversizedHead?

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if !hasWritten, rejection == nil, case .headers(let frame) = unwrapOutboundIn(data) {
            check(frame.headers, context)
        }
        if let rejection {
            promise?.fail(rejection)
        } else {
            hasWritten = true
            context.write(data, promise: promise)
        }
    }

    private func check(_ fields: HPACKHeaders, _ context: ChannelHandlerContext) {
        guard let size = fields.encodedSize(above: Self.minimumFrameSize) else { return }
        let limit = Self.frameSize(of: context.channel.parent)
        guard size > limit else { return }
        let error = OversizedHead(byteCount: size, limit: limit)
        rejection = error
        // After the current event, because AsyncHTTPClient is still writing.
        context.eventLoop.assumeIsolated()
            .execute {
                context.fireErrorCaught(error)
                context.close(promise: nil)
            }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if !hasWritten, let connection = context.channel.parent {
            context.eventLoop.assumeIsolated().execute { Self.countUnusedStream(of: connection) }
        }
        context.fireChannelInactive()
    }

    private static func countUnusedStream(of connection: any Channel) {
        guard let source = try? connection.pipeline.syncOperations.context(handlerType: NIOHTTP2Handler.self) else {
            return
        }
        // No stream of a client reaches this number in practice, so the events concern no other stream.
        let stream = HTTP2StreamID.maxID
        source.fireUserInboundEventTriggered(
            NIOHTTP2StreamCreatedEvent(streamID: stream, localInitialWindowSize: nil, remoteInitialWindowSize: nil)
        )
        source.fireUserInboundEventTriggered(StreamClosedEvent(streamID: stream, reason: nil))
    }

    /// Returns the maximum size of a frame that the server has announced, which only reflection can read.
    private static func frameSize(of connection: (any Channel)?) -> Int {
        let handler = try? connection?.pipeline.syncOperations.handler(type: NIOHTTP2Handler.self)
        let size = handler.flatMap { Mirror(reflecting: $0).descendant("frameEncoder", "some", "maxFrameSize") }
        return (size as? UInt32).map { Int($0) } ?? minimumFrameSize
    }
}

/// The head of a request is larger than a frame of HTTP/2.
struct OversizedHead: Error {
    let byteCount: Int
    let limit: Int
}

extension HPACKHeaders {
    /// The maximum size of the updates of the compression table that may precede the fields, in bytes.
    private static let updates = 16

    /// Returns the size of the encoded fields if it exceeds a limit; otherwise `nil`.
    ///
    /// The size is that without a compression table, because the table does not have the fields of a first request.
    fileprivate func encodedSize(above limit: Int) -> Int? {
        // No character has a code of more than 30 bits.
        let maximum = reduce(0) { $0 + 4 * ($1.name.utf8.count + $1.value.utf8.count) + 12 }
        guard maximum > limit - Self.updates else { return nil }
        var encoder = HPACKEncoder(allocator: ByteBufferAllocator(), maxDynamicTableSize: 0)
        var bytes = ByteBuffer()
        guard (try? encoder.encode(headers: self, to: &bytes)) != nil else { return nil }
        let size = bytes.readableBytes + Self.updates
        return size > limit ? size : nil
    }
}
#endif
