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

/// One request on its way through AsyncHTTPClient.
///
/// Its task waits for the head, reads the body as it comes and brings it to where the request wants it; whoever cancels
/// that task closes the connection.
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

    /// Sends the request, and brings the response and its body to where the request wants it.
    func respond() async throws -> HTTPResponseData {
        let upload = request.bodyToRead.map { Upload(of: $0, over: client.eventLoopGroup, watch) }
        let result: Result<HTTPResponseData, any Error>
        do {
            result = .success(try await respond(sending: upload))
        } catch {
            result = .failure(error)
        }
        upload?.end()
        // The request may be sent again, and two readers must not read its body at once.
        if request.body?.isReplayable == true, !Task.isCancelled {
            try await upload?.waitUntilReaderEnds()
        }
        return try result.get()
    }

    private func respond(sending upload: Upload?) async throws -> HTTPResponseData {
        // A file that cannot be read needs no connection.
        if let failure = upload?.failure { throw failure }
        if upload != nil {
            // Who asks for the body is connected; there is no other sign of it.
            request.emit(ExchangeEvent.connecting)
        }
        watch.report()
        defer { watch.stop() }
        do {
            guard !request.isSilenceLimited else { return try await exchange(upload) }
            // A task of its own, since silence ends it and not its caller.
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
            // Exchanges share a connection of HTTP/2.
            streams?.end(part)
        }
        var body = try ReceivedBody(after: response.status, response.headers, of: request)
        request.emit(ExchangeEvent.headReceived(body.head))
        request.emit(ExchangeEvent.connectionMeasured(ConnectionMetrics(response.version)))
        watch.receive(body.head, expecting: body.expected)
        var bytes = ReceivedBytes(response.body)
        var isRefused = true
        // The sink may take its time for its answer, and for the end of the body.
        setSinkBusy(true)
        let answer = try await request.deliver(body.head) { delivery in
            setSinkBusy(false)
            isRefused = false
            try await deliver(&body, from: &bytes, to: &delivery)
            setSinkBusy(true)
        }
        setSinkBusy(false)
        if let upload, body.head.status.code < 300, !isRefused {
            // The server may have answered before it has read everything, and wants the rest all the same.
            try await upload.waitUntilTaken()
        }
        watch.end(received: body.count)
        return answer
    }

    /// Notes whether the request's sink is busy, if there is one.
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

    /// Copies the buffers once, when all of them have arrived.
    private func collect(
        _ body: inout ReceivedBody,
        from bytes: inout ReceivedBytes,
        to delivery: inout BodyDelivery
    ) async throws {
        var collected: [ByteBuffer] = []
        // What is announced too long need not come.
        try delivery.checkLength(body.expected ?? 0)
        while let pieces = try await next(&body, from: &bytes) {
            collected += pieces
            try delivery.checkLength(body.count)
        }
        try await delivery.receive(Data(collected))
    }

    /// What comes next, decoded; nil at the end.
    private func next(
        _ body: inout ReceivedBody,
        from bytes: inout ReceivedBytes
    ) async throws -> [ByteBuffer]? {
        do {
            guard let buffer = try await bytes.next() else {
                // A body that ends with its reader's cancellation has not ended.
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
    /// The longest body that is handed over at once.
    private static let maximumAtOnce = 32 << 10

    /// The body, when it is to be read while it is sent: when it is long, or somebody wants to know how far it is.
    fileprivate var bodyToRead: RequestBody? {
        // Nobody asks for an empty one.
        guard let body, body.length != 0 else { return nil }
        let isShort = body.data.map { $0.count <= Self.maximumAtOnce } ?? false
        return isShort && progressHandler == nil && !isObserved ? nil : body
    }
}

extension Data {
    /// The bytes of buffers, one behind the other.
    fileprivate init(_ buffers: [ByteBuffer]) {
        self.init(capacity: buffers.reduce(0) { $0 + $1.readableBytes })
        for buffer in buffers {
            buffer.withUnsafeReadableBytes { append(contentsOf: $0) }
        }
    }
}

extension ConnectionMetrics {
    /// What AsyncHTTPClient tells of a connection: what is spoken over it.
    fileprivate init(_ version: HTTPVersion) {
        self.init()
        protocolVersion = version.major == 1 ? "1.\(version.minor)" : "\(version.major)"
    }
}
#endif
