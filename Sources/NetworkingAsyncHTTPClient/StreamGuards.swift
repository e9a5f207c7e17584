#if AsyncHTTPClient
import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2

/// Rejects statuses on an HTTP/2 stream that would trap NIO or AsyncHTTPClient: statuses without three digits or below
/// 100, and 101, which HTTP/2 does not have (RFC 9113 section 8.6).
final class StatusGuard: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload

    private var isBroken = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isBroken else { return }
        if case .headers(let frame) = unwrapInboundIn(data), let status = frame.headers.first(name: ":status"),
            !Self.isValid(status)
        {
            isBroken = true
            context.fireErrorCaught(HTTPParserError.invalidStatus)
            context.close(promise: nil)
        } else {
            context.fireChannelRead(data)
        }
    }

    private static func isValid(_ status: String) -> Bool {
        status.utf8.count == 3 && status.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
            && status.utf8.first != UInt8(ascii: "0") && status != "101"
    }
}

/// Delays the end of a response until its request has ended, on a stream of HTTP/2.
///
/// AsyncHTTPClient releases the request at the end of its response, and traps on any event of the stream while the
/// request's body is still being sent. A server may cause such an event: a reset that stops the body is legal (RFC 9113
/// section 8.1).
///
/// An ``ExactTarget`` is written as it is, and a ``FailedWrite`` ends the exchange.
///
/// After a status of 300 or more the request never ends, so the end of such a response is reported as an
/// ``EarlyResponse``.
///
/// Some servers end a complete response with a reset that reports no error: Node 20 sometimes does so for the first
/// responses of a connection. The length of the body shows that the response is complete.
final class EndGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    private var isRequestOver = false
    private var end: NIOAny?
    private var isOver = false
    /// The number of bytes of the body that have not arrived; `nil` if it is unknown.
    private var missing: Int?
    /// The response to a request that AsyncHTTPClient has stopped sending.
    private var refusal: UnforwardedBytes?

    func read(context: ChannelHandlerContext) {
        refusal?.read()
        context.read()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        refusal?.completeRead()
        context.fireChannelReadComplete()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var data = data
        switch unwrapOutboundIn(data) {
        case .head(var head):
            if ExactTarget.restore(in: &head) {
                data = wrapOutboundOut(.head(head))
            }
        case .body:
            break
        case .end:
            isRequestOver = true
        }
        context.write(data, promise: promise) { self.errorCaught(context: context, error: $0) }
        if isRequestOver {
            passEnd(context)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            refusal = !isRequestOver && head.status.code >= 300 ? UnforwardedBytes() : nil
            missing = head.headers.first(name: "content-length").flatMap { Int($0) }
        case .body(let bytes):
            refusal?.receive(bytes)
            missing? -= bytes.readableBytes
        case .end where !isRequestOver:
            if refusal == nil {
                end = data
            } else {
                refuse(context)
            }
            return
        case .end:
            missing = nil
        }
        context.fireChannelRead(data)
    }

    /// Reports the end of a complete response, after which no more of the request is sent.
    private func refuse(_ context: ChannelHandlerContext) {
        isOver = true
        channelReadComplete(context: context)
        if let error = refusal?.earlyResponse {
            context.fireErrorCaught(error)
        }
        refusal = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if isRequestOver, missing == 0, (error as? NIOHTTP2Errors.StreamClosed)?.errorCode == .noError {
            end = wrapInboundOut(.end(nil))
        }
        endEarly(context)
        if !isOver {
            context.fireErrorCaught(error)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        endEarly(context)
        if !isOver {
            context.fireChannelInactive()
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if !isOver {
            context.fireChannelWritabilityChanged()
        }
    }

    /// Passes on the end of a complete response, whatever happens to the rest of the request.
    private func endEarly(_ context: ChannelHandlerContext) {
        guard end != nil else { return }
        passEnd(context)
        isOver = true
    }

    private func passEnd(_ context: ChannelHandlerContext) {
        guard let end else { return }
        self.end = nil
        context.fireChannelRead(end)
        context.fireChannelReadComplete()
    }
}
#endif
