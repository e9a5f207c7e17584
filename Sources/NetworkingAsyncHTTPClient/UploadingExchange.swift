#if AsyncHTTPClient
import AsyncHTTPClient
import HTTPTypes
import Networking
import NIOCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One exchange whose request has a body that is read while it is sent.
///
/// The response may come meanwhile. Not over a delegate: with one, a request whose server answers before it has the whole body does not end.
struct UploadingExchange {
    private let request: HTTPRequestData
    private let watch: TransferWatch

    init(of request: HTTPRequestData) {
        self.request = request
        watch = TransferWatch(of: request)
    }

    /// Sends the request, and brings the response and its body to where the request wants it.
    func respond(over client: HTTPClient, to outgoing: OutgoingRequest) async throws -> HTTPResponseData {
        guard let body = outgoing.body else { throw request.invalidAnswer }
        let upload = Upload(of: body, watch)
        // Whoever brings the body would otherwise be waited for when the exchange is over.
        defer { upload.end() }
        // A file that cannot be read needs no connection.
        if let failure = upload.failure { throw failure }
        request.emit(.connecting)
        watch.report()
        // A task of its own, since silence ends it and not its caller.
        let work = OwnedTask.immediate {
            try await exchange(over: client, outgoing.request(sending: upload), upload)
        }
        watch.start(on: client.eventLoopGroup.any()) { work.cancel() }
        defer { watch.stop() }
        do {
            return try await work.value
        } catch {
            try Task.checkCancellation()
            if let silence = watch.silence { throw request.error(for: silence, after: watch.head) }
            throw upload.failure ?? error
        }
    }

    private func exchange(
        over client: HTTPClient,
        _ outgoing: HTTPClientRequest,
        _ upload: Upload
    ) async throws -> HTTPResponseData {
        let response: HTTPClientResponse
        do {
            response = try await client.execute(outgoing, deadline: .distantFuture)
        } catch {
            try Task.checkCancellation()
            throw request.unanswered(error, isSent: upload.isBegun)
        }
        guard let http = HTTPResponse(status: response.status, headers: response.headers) else {
            throw request.invalidAnswer
        }
        var body = try ReceivedBody(after: http, of: request)
        request.emit(.headReceived(http))
        watch.receive(body.head, expecting: body.expected)
        let delivered = try await deliver(&body, from: response.body.makeAsyncIterator())
        if http.status.code < 300 {
            // The server may have answered before it has read everything, and wants the rest all the same.
            await upload.isSent()
        }
        watch.end(received: body.count)
        var answer = HTTPResponseData(request: request, http: body.head, body: delivered)
        answer.wasOfferedToSink = request.sink != nil
        return answer
    }

    private func deliver(
        _ body: inout ReceivedBody,
        from bytes: HTTPClientResponse.Body.AsyncIterator
    ) async throws -> ResponseBody {
        var bytes = bytes
        switch try await request.bodyDestination(for: body.head) {
        case .nowhere:
            return .delivered(byteCount: 0)
        case .memory(let limit):
            var collected: [ByteBuffer] = []
            while let pieces = try await next(&body, from: &bytes) {
                guard body.count <= limit else {
                    throw NetworkingError.tooLarge(request, head: body.head, limit: limit)
                }
                collected += pieces
            }
            return .collected(Data(collected))
        case .sink(let sink):
            do {
                while let pieces = try await next(&body, from: &bytes) {
                    guard !pieces.isEmpty else { continue }
                    watch.isSinkBusy = true
                    try await sink.receive(Data(pieces))
                    watch.isSinkBusy = false
                }
                try await sink.finish()
            } catch {
                sink.fail(error)
                throw error
            }
            return .delivered(byteCount: body.count)
        }
    }

    /// What comes next, decoded; nil at the end.
    private func next(
        _ body: inout ReceivedBody,
        from bytes: inout HTTPClientResponse.Body.AsyncIterator
    ) async throws -> [ByteBuffer]? {
        do {
            guard let buffer = try await bytes.next(isolation: #isolation) else {
                // A body that ends with its reader's cancellation has not ended.
                try Task.checkCancellation()
                try body.finish()
                return nil
            }
            var pieces: [ByteBuffer] = []
            try body.receive(buffer) { pieces.append($0) }
            watch.receive(body.count)
            return pieces
        } catch {
            try Task.checkCancellation()
            throw body.failure(error)
        }
    }
}

extension Data {
    /// The bytes of buffers, one behind the other.
    init(_ buffers: [ByteBuffer]) {
        self.init(capacity: buffers.reduce(0) { $0 + $1.readableBytes })
        for buffer in buffers {
            buffer.withUnsafeReadableBytes { append(contentsOf: $0) }
        }
    }
}
#endif
