#if AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// Watches a connection of HTTP/1.1 between its parser and AsyncHTTPClient.
///
/// It tells when a connection that was kept is closed where the next answer was due, which nobody else can: then the request
/// may be sent again on another. And it keeps answers out that would trap AsyncHTTPClient, which takes statuses below 100 for
/// the interim kind and does not expect what follows.
final class ConnectionGuard: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    private var isKept = false
    private var isAnswering = false
    private var isBroken = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isBroken else { return }
        switch unwrapInboundIn(data) {
        case .head(let head) where head.status.code < 100:
            isBroken = true
            context.fireErrorCaught(HTTPParserError.invalidStatus)
            context.close(promise: nil)
            return
        case .head:
            isAnswering = true
        case .body:
            break
        case .end:
            isAnswering = false
            isKept = true
        }
        context.fireChannelRead(data)
    }

    func channelInactive(context: ChannelHandlerContext) {
        if isKept, !isAnswering {
            context.fireErrorCaught(KeptConnectionClosed(underlying: nil))
        }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.fireErrorCaught(
            isKept && !isAnswering && error is IOError ? KeptConnectionClosed(underlying: error) : error
        )
    }
}

/// A connection that had answered before was closed where the next answer was due, if one was.
struct KeptConnectionClosed: Error {
    let underlying: (any Error)?
}
#endif
