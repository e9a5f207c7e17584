#if AsyncHTTPClient
import AsyncHTTPClient
import HTTPTypes
import Networking
import NIOCore
import NIOHTTP1

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One exchange through AsyncHTTPClient.
///
/// Its task waits for the head, reads the body as it arrives and delivers it. Cancelling that task closes the
/// connection.
struct ClientExchange {
    private let request: HTTPRequestData
    private let client: HTTPClient
    private let streams: OpenStreams?
    private let watch: TransferWatch

    init(of request: HTTPRequestData, over client: HTTPClient, counting streams: OpenStreams?) {
        self.streams = streams
        self.request = request
        self.client = client
        watch = TransferWatch(of: request, on: client.eventLoopGroup.any())
    }

    /// Sends the request, and delivers the response and its body.
    func respond() async throws -> HTTPResponseData {
        let upload = request.bodyToRead.map { Upload(of: $0, over: client.eventLoopGroup, watch) }
        let result: Result<HTTPResponseData, any Error>
        do {
            result = .success(try await respond(sending: upload))
        } catch {
            result = .failure(error)
        }
        upload?.end()
        // The request may be sent again, and its body must not be read twice at the same time.
        if request.body?.isReplayable == true, !Task.isCancelled {
            try await upload?.waitUntilReaderEnds()
        }
        return try result.get()
    }

    private func respond(sending upload: Upload?) async throws -> HTTPResponseData {
        // A file that cannot be read needs no connection.
        if let failure = upload?.failure { throw failure }
        if upload != nil {
            // AsyncHTTPClient reads the body only once it is connected, which is the only sign of the connection.
            request.emit(ExchangeEvent.connecting)
        }
        watch.report()
        defer { watch.stop() }
        do {
            guard !request.isSilenceLimited else { return try await exchange(upload) }
            // A separate task, because silence cancels it but not the caller.
            let work = OwnedTask.immediate { try await exchange(upload) }
            watch.start { work.cancel() }
            return try await work.value
        } catch {
            try Task.checkCancellation()
            if let silence = watch.silence { throw request.error(for: silence, after: watch.head) }
            throw upload?.failure ?? error
        }
    }

    private func exchange(_ upload: Upload?) async throws -> HTTPResponseData {
        let part = streams?.begin(request)
        defer { part.map { streams?.end($0) } }
        let response: HTTPClientResponse
        do {
            let outgoing = try HTTPClientRequest(request, sending: upload)
            response = try await client.execute(outgoing, deadline: .distantFuture)
        } catch {
            try Task.checkCancellation()
            throw request.unanswered(error, sending: upload, after: watch.elapsed)
        }
        if let part, response.version.major > 1 {
            // Exchanges over HTTP/2 share a connection.
            streams?.end(part)
        }
        var body = try ReceivedBody(after: response.status, response.headers, of: request)
        request.emit(ExchangeEvent.headReceived(body.head))
        request.emit(ExchangeEvent.connectionMeasured(ConnectionMetrics(response.version)))
        watch.receive(body.head, expecting: body.expected)
        var bytes = ReceivedBytes(response.body)
        var isRefused = true
        // The sink may take its time to accept the response and to finish the body.
        setSinkBusy(true)
        let answer = try await request.deliver(body.head) { delivery in
            setSinkBusy(false)
            isRefused = false
            try await deliver(&body, from: &bytes, to: &delivery)
            setSinkBusy(true)
        }
        setSinkBusy(false)
        if let upload, body.head.status.code < 300, !isRefused {
            // The server may respond before it has read the whole request, and still expect the rest.
            try await upload.waitUntilTaken()
        }
        watch.end(received: body.count)
        return answer
    }

    /// Records whether the request's sink is busy, if there is one.
    private func setSinkBusy(_ isBusy: Bool) {
        if request.sink != nil {
            watch.isSinkBusy = isBusy
        }
    }

    private func deliver(
        _ body: inout ReceivedBody,
        from bytes: inout ReceivedBytes,
        to delivery: inout BodyDelivery
    ) async throws {
        guard delivery.limit == nil else { return try await collect(&body, from: &bytes, to: &delivery) }
        while let pieces = try await next(&body, from: &bytes) {
            guard !pieces.isEmpty else { continue }
            watch.isSinkBusy = true
            try await delivery.receive(Data(pieces))
            watch.isSinkBusy = false
        }
    }

    /// Copies the buffers once, after all of them have arrived.
    private func collect(
        _ body: inout ReceivedBody,
        from bytes: inout ReceivedBytes,
        to delivery: inout BodyDelivery
    ) async throws {
        var collected: [ByteBuffer] = []
        // Fails at once if the announced length exceeds the limit.
        try delivery.checkLength(body.expected ?? 0)
        while let pieces = try await next(&body, from: &bytes) {
            collected += pieces
            try delivery.checkLength(body.count)
        }
        try await delivery.receive(Data(collected))
    }

    /// Returns the next decoded chunks; `nil` at the end.
    private func next(
        _ body: inout ReceivedBody,
        from bytes: inout ReceivedBytes
    ) async throws -> [ByteBuffer]? {
        do {
            guard let buffer = try await bytes.next() else {
                // A cancelled reader also returns `nil`, although the body has not ended.
                try Task.checkCancellation()
                try body.finish()
                return nil
            }
            let pieces = try body.receive(buffer)
            watch.receive(body.count)
            return pieces
        } catch {
            try Task.checkCancellation()
            throw body.failure(error)
        }
    }
}

extension HTTPRequestData {
    /// The maximum size of a body that is passed in one piece.
    private static let maximumAtOnce = 32 << 10

    /// The body if it must be read while it is sent, because it is long or its progress is observed.
    fileprivate var bodyToRead: RequestBody? {
        // AsyncHTTPClient never reads an empty body.
        guard let body, body.length != 0 else { return nil }
        let isShort = body.data.map { $0.count <= Self.maximumAtOnce } ?? false
        return isShort && progressHandler == nil && !isObserved ? nil : body
    }
}

extension Data {
    /// Joins the bytes of buffers.
    fileprivate init(_ buffers: [ByteBuffer]) {
        self.init(capacity: buffers.reduce(0) { $0 + $1.readableBytes })
        for buffer in buffers {
            buffer.withUnsafeReadableBytes { append(contentsOf: $0) }
        }
    }
}

extension ConnectionMetrics {
    /// Creates metrics with the protocol version, which is all that AsyncHTTPClient reports of a connection.
    fileprivate init(_ version: HTTPVersion) {
        self.init()
        protocolVersion = version.major == 1 ? "1.\(version.minor)" : "\(version.major)"
    }
}
#endif
