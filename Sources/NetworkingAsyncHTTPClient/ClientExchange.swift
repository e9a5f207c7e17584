#if AsyncHTTPClient
import AsyncHTTPClient
import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import NIOCore
import NIOHTTP1

/// One exchange through AsyncHTTPClient.
///
/// Its task waits for the head, reads the body as it arrives and delivers it. Cancelling that task closes the
/// connection. An exchange with a time limit needs at most one other task: its own for an upload or on another clock
/// than the system's, and one for the body otherwise, because AsyncHTTPClient itself limits the time until the head.
///
/// It is a class because each step would otherwise copy the request.
final class ClientExchange: Sendable {
    /// Ten years: in effect no limit, and short enough to add to the current time without an overflow.
    private static let farthest = Duration.seconds(10 * 365 * 86_400)

    private let request: HTTPRequestData
    private let client: HTTPClient
    private let hasGuards: Bool
    private let connections: ClientConnections?
    private let progress: ExchangeProgress

    private init(
        of request: HTTPRequestData,
        over client: HTTPClient,
        hasGuards: Bool,
        _ connections: ClientConnections?,
        _ progress: ExchangeProgress
    ) {
        self.connections = connections
        self.hasGuards = hasGuards
        self.request = request
        self.client = client
        self.progress = progress
    }

    /// Sends a request, and delivers the response and its body.
    static func respond(
        to request: HTTPRequestData,
        over client: HTTPClient,
        hasGuards: Bool,
        _ connections: ClientConnections?
    ) async throws -> HTTPResponseData {
        guard !request.isSilenceLimited else {
            let progress = ExchangeProgress(of: request, silence: nil)
            return try await ClientExchange(of: request, over: client, hasGuards: hasGuards, connections, progress)
                .respond()
        }
        let limits = TimeLimits(idle: request.allowedSilence)
        let silence = PhaseWatch(limits: limits, clock: NetworkEnvironment.current.clock)
        let progress = ExchangeProgress(of: request, silence: silence)
        do {
            return try await silence.limiting(request) { limited in
                try await ClientExchange(of: limited, over: client, hasGuards: hasGuards, connections, progress)
                    .respond()
            }
        } catch is PhaseWatch.Expiry {
            throw request.error(for: Silence(limit: request.allowedSilence), after: progress.head)
        }
    }

    private func respond() async throws -> HTTPResponseData {
        let upload = request.bodyToRead.map { Upload(of: $0, over: client.eventLoopGroup, progress) }
        let result: Result<HTTPResponseData, any Error>
        do {
            result = .success(try await respond(sending: upload))
        } catch {
            result = .failure(error)
        }
        upload?.end()
        return try result.get()
    }

    private func respond(sending upload: Upload?) async throws -> HTTPResponseData {
        // A file that cannot be read needs no connection.
        if let failure = upload?.failure { throw failure }
        if upload != nil {
            // AsyncHTTPClient starts to read the body when it is connected, which is the only sign of the connection.
            request.emit(ExchangeEvent.connecting)
        }
        progress.report()
        defer { progress.stop() }
        let part = connections?.begin(request)
        defer { part.map { connections?.streams.end($0) } }
        do {
            guard let limit = request.exchangeLimit else {
                return try await receive(execute(upload, until: nil), upload, part)
            }
            // Only an upload moves bytes before the head, so without one AsyncHTTPClient's own deadline is enough.
            guard upload == nil, limit.isOnSystemClock else {
                return try await limit.run { [self] in
                    try await receive(execute(upload, until: nil), upload, part)
                }
            }
            let response = try await execute(nil, until: limit)
            // A short body has usually arrived with its head, so the task is over before any alarm has to be set.
            return try await limit.run(unless: progress.hasEnded) { [self] in try await receive(response, nil, part) }
        } catch {
            try Task.checkCancellation()
            throw upload?.failure ?? error
        }
    }

    /// Sends the request and waits for the head of the response, at most until a limit of AsyncHTTPClient's clock.
    private func execute(_ upload: Upload?, until limit: ExchangeLimit?) async throws -> HTTPClientResponse {
        let deadline = limit.map { .now() + TimeAmount(min($0.timeLeft, Self.farthest)) } ?? NIODeadline.distantFuture
        do {
            let outgoing = try HTTPClientRequest(request, sending: upload, hasGuards: hasGuards)
            return try await client.execute(outgoing, deadline: deadline)
        } catch {
            try Task.checkCancellation()
            if let limit, .now() >= deadline || error as? HTTPClientError == .deadlineExceeded {
                limit.reach()
                throw CancellationError()
            }
            throw request.withoutResponse(error, sending: upload, after: progress.elapsed)
        }
    }

    /// Reads and delivers a response.
    private func receive(
        _ response: HTTPClientResponse,
        _ upload: Upload?,
        _ part: OpenStreams.Part?
    ) async throws -> HTTPResponseData {
        let isMultiplexed = response.version.major > 1
        connections?.multiplexed.record(isMultiplexed: isMultiplexed, of: request)
        if let part, isMultiplexed {
            // Exchanges over HTTP/2 share a connection.
            connections?.streams.end(part)
        }
        var body = try ReceivedBody(after: response.status, response.headers, of: request)
        request.emit(ExchangeEvent.headReceived(body.head))
        request.emit(ExchangeEvent.connectionMeasured(ConnectionMetrics(response.version)))
        progress.receive(body.head, expecting: body.expected)
        var bytes = ReceivedBytes(response.body)
        var isRefused = true
        // The time that the sink needs to accept the response and to finish the body does not count as silence.
        setSinkBusy(true)
        let response = try await request.deliver(body.head) { delivery in
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
        progress.end(received: body.count)
        return response
    }

    /// Records whether the request's sink is busy, if there is one.
    private func setSinkBusy(_ isBusy: Bool) {
        if request.sink != nil {
            progress.sinkIs(busy: isBusy)
        }
    }

    private func deliver(
        _ body: inout ReceivedBody,
        from bytes: inout ReceivedBytes,
        to delivery: inout BodyDelivery
    ) async throws {
        guard delivery.limit == nil else { return try await collect(&body, from: &bytes, to: &delivery) }
        while let buffers = try await next(&body, from: &bytes) {
            guard !buffers.isEmpty else { continue }
            progress.sinkIs(busy: true)
            try await delivery.receive(Data(buffers))
            progress.sinkIs(busy: false)
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
        while let buffers = try await next(&body, from: &bytes) {
            collected += buffers
            try delivery.checkLength(body.count)
        }
        try await delivery.receive(Data(collected))
    }

    /// Returns the next decoded chunks; `nil` at the end.
    private func next(
        _ body: inout ReceivedBody,
        from bytes: inout ReceivedBytes
    ) async throws -> [ByteBuffer]? {
        guard !body.isFinished else { return nil }
        do {
            guard let buffer = try await bytes.next() else {
                // A cancelled reader also returns `nil`, although the body has not ended.
                try Task.checkCancellation()
                let rest = try body.finish()
                progress.receive(body.count)
                return rest.isEmpty ? nil : rest
            }
            let buffers = try body.receive(buffer)
            progress.receive(body.count)
            return buffers
        } catch {
            try Task.checkCancellation()
            throw body.failure(error)
        }
    }
}

extension HTTPRequestData {
    /// The maximum size of a body that is passed as a whole, in bytes.
    private static let maximumAtOnce = 32 << 10

    /// The body if it must be read while it is sent, because it is long or its progress is observed.
    var bodyToRead: RequestBody? {
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
