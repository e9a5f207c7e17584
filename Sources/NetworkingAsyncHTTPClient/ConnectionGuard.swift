#if AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// Monitors an HTTP/1.1 connection between its decoder and AsyncHTTPClient, together with a ``SurplusGuard`` before the
/// decoder.
///
/// - Bytes that belong to no response close the connection, and no later request is written to it (RFC 9112 section
///   6.3).
/// - A reused connection that is closed where the next response was due is reported as ``KeptConnectionClosed``, so
///   that the request can be sent again.
/// - A status below 100 is rejected. AsyncHTTPClient treats it as an interim status and traps at the next part.
/// - A response with a status of 300 or more that ends before its request is reported as ``EarlyResponse``.
/// - An ``ExactTarget`` is written as it is.
/// - A ``FailedWrite`` ends the exchange.
final class ConnectionGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    /// The end of the response within the bytes that arrive.
    var boundary = ResponseBoundary()

    /// Whether the connection is no longer read from or written to.
    private(set) var isBroken = false

    private var isKept = false
    private var isReceivingResponse = false
    private var isSending = false
    /// The response to a request that AsyncHTTPClient has stopped sending.
    private var refusal: UnforwardedBytes?

    /// Stops passing anything on.
    ///
    /// The caller closes the connection.
    func breakOff() {
        isBroken = true
    }

    // MARK: Requests

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var data = data
        let part = unwrapOutboundIn(data)
        guard !isBroken else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            if case .head = part {
                context.fireErrorCaught(UnusableConnection())
            }
            return
        }
        switch part {
        case .head(var head):
            if ExactTarget.restore(in: &head) {
                data = wrapOutboundOut(.head(head))
            }
            isSending = true
            boundary.expectResponse()
        case .body:
            break
        case .end:
            isSending = false
        }
        context.write(data, promise: promise) { self.errorCaught(context: context, error: $0) }
    }

    func read(context: ChannelHandlerContext) {
        refusal?.read()
        context.read()
    }

    // MARK: Responses

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isBroken else { return }
        switch unwrapInboundIn(data) {
        case .head(let head) where head.status.code < 100:
            isBroken = true
            context.fireErrorCaught(HTTPParserError.invalidStatus)
            context.close(promise: nil)
            return
        case .head(let head):
            isReceivingResponse = true
            boundary.receive(head)
            refusal = isSending && head.status.code >= 300 ? UnforwardedBytes() : nil
        case .body(let bytes):
            boundary.receive(bodyBytes: bytes.readableBytes)
            refusal?.receive(bytes)
        case .end:
            end(data, context)
            return
        }
        context.fireChannelRead(data)
    }

    private func end(_ data: NIOAny, _ context: ChannelHandlerContext) {
        isReceivingResponse = false
        isKept = true
        boundary.endResponse()
        if isSending, refusal != nil {
            isBroken = true
            channelReadComplete(context: context)
            if let error = refusal?.earlyResponse {
                context.fireErrorCaught(error)
            }
            refusal = nil
            return
        }
        if !boundary.isExact {
            isBroken = true
            // AsyncHTTPClient closes the connection if a response ends while it has not requested more bytes.
            context.fireChannelReadComplete()
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        refusal?.completeRead()
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        if isKept, !isReceivingResponse {
            context.fireErrorCaught(KeptConnectionClosed(underlying: nil))
        }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let isOtherProtocol = error is OtherProtocol
        let cause: any Error = isOtherProtocol ? HTTPParserError.invalidConstant : error
        context.fireErrorCaught(
            isKept && !isReceivingResponse && (error is IOError || isOtherProtocol)
                ? KeptConnectionClosed(underlying: cause) : cause
        )
    }
}

/// Passes the bytes of responses to the decoder of a connection, and closes the connection if other bytes arrive.
///
/// Bytes after a response, or while no request waits for a response, belong to no response. The decoder would treat
/// them as the start of the next one. If such bytes arrive after the next request was written, they look like its
/// response. If they do not start with `HTTP/`, the request fails as if the server had closed the reused connection.
final class SurplusGuard: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let connection: ConnectionGuard

    init(_ connection: ConnectionGuard) {
        self.connection = connection
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        while bytes.readableBytes > 0, !connection.isBroken {
            switch connection.boundary.nextSlice(of: bytes) {
            case .bytes(let count):
                guard let slice = bytes.readSlice(length: count) else { return }
                context.fireChannelRead(wrapInboundOut(slice))
                connection.boundary.endSlice()
            case .surplus:
                connection.breakOff()
            case .foreign:
                connection.breakOff()
                context.fireErrorCaught(OtherProtocol())
            }
        }
        if connection.isBroken {
            context.close(promise: nil)
        }
    }
}

/// A reused connection was closed before the first byte of a response arrived on it.
struct KeptConnectionClosed: Error {
    let underlying: (any Error)?
}

/// The request was not written, because its connection can no longer be used.
struct UnusableConnection: Error {}

/// A response does not start with `HTTP/`.
private struct OtherProtocol: Error {}
#endif
