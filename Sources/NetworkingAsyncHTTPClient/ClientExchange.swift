#if AsyncHTTPClient
import AsyncHTTPClient
import HTTPTypes
import Networking
import NIOCore
import NIOHTTP1
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One exchange whose request can be handed over at once: what AsyncHTTPClient tells on its event loop, and who waits for it.
///
/// It is AsyncHTTPClient's delegate, which hears more than an awaited response tells (when there is a connection), costs no
/// task, and can hold a server back.
final class ClientExchange: HTTPClientResponseDelegate {
    typealias Response = Void

    /// How much may wait for a sink before the server is held back.
    private static let mostAhead = 256 << 10

    private let request: HTTPRequestData
    /// Resumed with the end: the whole body, or nothing when a sink has it.
    private let end = Suspension<HTTPResponseData>()
    /// Resumed with the head, when a sink has to be asked about it.
    private let head: Suspension<HTTPResponse>?
    private let isReported: Bool
    private let state: Mutex<State>

    init(of request: HTTPRequestData) {
        self.request = request
        head = request.sink == nil ? nil : Suspension()
        isReported = request.progressHandler != nil
        state = Mutex(
            State(limit: request.sink == nil ? request.maximumResponseBytes : nil, sent: request.bytesToSend)
        )
    }

    /// Sends the request, and brings the response and its body to where the request wants it.
    func respond(over client: HTTPClient, to outgoing: OutgoingRequest) async throws -> HTTPResponseData {
        let short = try outgoing.request()
        request.emit(.connecting)
        reportProgress()
        let task = client.execute(request: short, delegate: self)
        task.futureResult.whenFailure { [self] error in fail(with: error) }
        guard let sink = request.sink else {
            return try await end.value { [self] in leave(task) }
        }
        return try await withTaskCancellationHandler {
            do {
                return try await deliver(to: sink, task)
            } catch {
                leave(task)
                throw error
            }
        } onCancel: {
            leave(task)
        }
    }

    /// Gives up: nothing more is reported, and the connection is closed.
    private func leave(_ task: HTTPClient.Task<Void>) {
        let demand = state.withLock { $0.leave() }
        task.cancel()
        demand?.succeed()
    }

    // MARK: Delivering to a sink

    private func deliver(to sink: any ResponseSink, _ task: HTTPClient.Task<Void>) async throws -> HTTPResponseData {
        guard let head = try await head?.value() else { throw CancellationError() }
        let body: ResponseBody
        switch try await request.bodyDestination(for: head) {
        case .nowhere:
            leave(task)
            body = .delivered(byteCount: 0)
        case .memory(let limit):
            try state.withLock { try $0.collect(upTo: limit, of: request) }?.succeed()
            body = try await end.value().body
        case .sink(let sink):
            do {
                body = .delivered(byteCount: try await deliverBody(to: sink))
            } catch {
                sink.fail(error)
                throw error
            }
        }
        var response = HTTPResponseData(request: request, http: head, body: body)
        response.wasOfferedToSink = true
        return response
    }

    private func deliverBody(to sink: any ResponseSink) async throws -> Int64 {
        var count: Int64 = 0
        while let chunk = try await nextChunk() {
            try await sink.receive(chunk)
            count += Int64(chunk.count)
        }
        try await sink.finish()
        return count
    }

    /// What has come since the last call; nil at the end.
    private func nextChunk() async throws -> Data? {
        try Task.checkCancellation()
        while true {
            let wait = Suspension<Void>()
            let (chunk, demand) = try state.withLock { try $0.take(orWait: wait) }
            demand?.succeed()
            switch chunk {
            case .bytes(let bytes): return Data(bytes)
            case .end: return nil
            case .none: try await wait.value()
            }
        }
    }

    // MARK: What AsyncHTTPClient tells, on the event loop

    func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) {
        state.withLock { $0.connect() }
        request.emit(.connected)
        let patience = request.transportPatience
        watch(task, for: patience, in: patience)
    }

    func didSendRequestPart(task: HTTPClient.Task<Void>, _ part: IOData) {
        state.withLock { $0.send(part.readableBytes) }
        reportProgress()
    }

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        guard let http = HTTPResponse(status: head.status, headers: head.headers) else {
            return task.eventLoop.makeFailedFuture(request.invalidAnswer)
        }
        do {
            // A sink is asked first: nothing of the body is asked for until it has answered.
            let demand = self.head == nil ? nil : task.eventLoop.makePromise(of: Void.self)
            let received = try state.withLock { try $0.receive(http, of: request, demand) }
            request.emit(.headReceived(http))
            reportProgress()
            self.head?.resume(with: .success(received))
            return demand?.futureResult ?? task.eventLoop.makeSucceededVoidFuture()
        } catch {
            return task.eventLoop.makeFailedFuture(error)
        }
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        do {
            let (waiter, isFull) = try state.withLock { state in
                try state.receive(buffer, of: request)
                return (state.takeWaiter(), self.head != nil && state.ahead > Self.mostAhead)
            }
            reportProgress()
            waiter?.resume()
            guard isFull else { return task.eventLoop.makeSucceededVoidFuture() }
            let demand = task.eventLoop.makePromise(of: Void.self)
            let isHeld = state.withLock { $0.hold(demand, above: Self.mostAhead) }
            if !isHeld {
                demand.succeed()
            }
            return demand.futureResult
        } catch {
            return task.eventLoop.makeFailedFuture(error)
        }
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) throws {
        let (response, waiter, watch) = try state.withLock { try $0.finish(of: request) }
        watch?.cancel()
        reportProgress()
        waiter?.resume()
        end.resume(with: .success(response))
    }

    private func fail(with error: any Error) {
        let (failure, waiter, demand, watch) = state.withLock { $0.fail(with: error, of: request) }
        watch?.cancel()
        demand?.succeed()
        waiter?.resume()
        head?.resume(with: .failure(failure))
        end.resume(with: .failure(failure))
    }

    // MARK: Silence

    /// Ends the exchange when nothing has moved for too long; time in which the sink is busy does not count.
    private func watch(_ task: HTTPClient.Task<Void>, for patience: Duration, in delay: Duration) {
        let alarm = task.eventLoop.scheduleTask(in: .upToADay(delay)) { [weak self] in
            guard let self, let silence = state.withLock({ $0.silence }) else { return }
            if silence >= patience {
                task.fail(reason: Silence(limit: patience))
            } else {
                watch(task, for: patience, in: patience - silence)
            }
        }
        state.withLock { $0.watch = alarm }
    }

    private func reportProgress() {
        guard isReported, let handler = request.progressHandler else { return }
        if let progress = state.withLock({ $0.takeProgress() }) {
            handler(progress)
        }
    }
}

extension ClientExchange {
    private enum Chunk {
        case none
        case bytes([ByteBuffer])
        case end
    }

    private struct State {
        var watch: Scheduled<Void>?
        /// The most bytes to collect; nil where they go to a sink.
        private var limit: Int64?
        private var body: ReceivedBody?
        /// What has come and nobody has taken; all of it where nobody takes.
        private var waiting: [ByteBuffer] = []
        private(set) var ahead = 0
        /// Completed to let AsyncHTTPClient read on.
        private var demand: EventLoopPromise<Void>?
        private var waiter: Suspension<Void>?
        private var outcome: Result<Void, any Error>?
        private var isSent = false
        private var hasLeft = false
        private var lastMove = NIODeadline.now()
        private var progress: TransferProgress
        private var reported: TransferProgress?

        init(limit: Int64?, sent: BytesSent) {
            self.limit = limit
            progress = TransferProgress(sent: sent)
        }

        // MARK: What comes

        mutating func connect() {
            isSent = true
            lastMove = .now()
        }

        mutating func send(_ count: Int) {
            lastMove = .now()
            progress.sent.count += Int64(count)
        }

        /// Takes the head; answers it as the caller gets it.
        mutating func receive(
            _ head: HTTPResponse,
            of request: HTTPRequestData,
            _ demand: EventLoopPromise<Void>?
        ) throws -> HTTPResponse {
            lastMove = .now()
            let body = try ReceivedBody(after: head, of: request)
            progress.received.expected = body.expected
            self.body = body
            try checkLimit(of: request)
            if hasLeft {
                demand?.succeed()
            } else {
                self.demand = demand
            }
            return body.head
        }

        mutating func receive(_ bytes: ByteBuffer, of request: HTTPRequestData) throws {
            lastMove = .now()
            guard !hasLeft else { return }
            try body?
                .receive(bytes) { piece in
                    waiting.append(piece)
                    ahead += piece.readableBytes
                }
            progress.received.count = body?.count ?? 0
            try checkLimit(of: request)
        }

        private func checkLimit(of request: HTTPRequestData) throws {
            guard let body, let limit, max(body.count, body.expected ?? 0) > limit else { return }
            throw NetworkingError.tooLarge(request, head: body.head, limit: limit)
        }

        mutating func finish(
            of request: HTTPRequestData
        ) throws -> (HTTPResponseData, Suspension<Void>?, Scheduled<Void>?) {
            try body?.finish()
            outcome = .success(())
            progress.received.expected = progress.received.count
            let head = body?.head ?? HTTPResponse(status: .ok)
            let bytes = limit == nil ? Data() : Data(waiting)
            return (
                HTTPResponseData(request: request, http: head, body: .collected(bytes)), takeWaiter(), takeWatch()
            )
        }

        mutating func fail(
            with error: any Error,
            of request: HTTPRequestData
        ) -> (any Error, Suspension<Void>?, EventLoopPromise<Void>?, Scheduled<Void>?) {
            let failure: any Error =
                if hasLeft {
                    CancellationError()
                } else {
                    body?.failure(error) ?? request.unanswered(error, isSent: isSent)
                }
            outcome = outcome ?? .failure(failure)
            return (failure, takeWaiter(), takeDemand(), takeWatch())
        }

        // MARK: Who waits

        mutating func collect(upTo limit: Int64, of request: HTTPRequestData) throws -> EventLoopPromise<Void>? {
            self.limit = limit
            try checkLimit(of: request)
            return takeDemand()
        }

        /// Takes what is there, or leaves word to be told when something is.
        mutating func take(orWait waiter: Suspension<Void>) throws -> (Chunk, EventLoopPromise<Void>?) {
            if hasLeft { throw CancellationError() }
            if !waiting.isEmpty {
                let bytes = waiting
                waiting.removeAll(keepingCapacity: true)
                ahead = 0
                // The time before was the sink's.
                lastMove = .now()
                return (.bytes(bytes), takeDemand())
            }
            if let outcome {
                try outcome.get()
                return (.end, nil)
            }
            self.waiter = waiter
            lastMove = .now()
            return (.none, takeDemand())
        }

        /// Keeps a promise until there is room again; answers false when there is already.
        mutating func hold(_ demand: EventLoopPromise<Void>, above limit: Int) -> Bool {
            guard ahead > limit, !hasLeft, outcome == nil else { return false }
            self.demand = demand
            return true
        }

        mutating func takeWaiter() -> Suspension<Void>? {
            defer { waiter = nil }
            return waiter
        }

        private mutating func takeDemand() -> EventLoopPromise<Void>? {
            defer { demand = nil }
            return demand
        }

        private mutating func takeWatch() -> Scheduled<Void>? {
            defer { watch = nil }
            return watch
        }

        mutating func leave() -> EventLoopPromise<Void>? {
            hasLeft = true
            waiting = []
            return takeDemand()
        }

        // MARK: Time and progress

        /// How long nothing has moved; nil when that is over.
        var silence: Duration? {
            guard outcome == nil, !hasLeft else { return nil }
            // It is the sink that is waited for.
            if demand != nil { return .zero }
            return Duration(NIODeadline.now() - lastMove)
        }

        mutating func takeProgress() -> TransferProgress? {
            guard !hasLeft, progress != reported else { return nil }
            reported = progress
            return progress
        }
    }
}
#endif
