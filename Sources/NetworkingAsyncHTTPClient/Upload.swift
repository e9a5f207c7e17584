#if AsyncHTTPClient
import Networking
import NIOCore
import Synchronization

/// A body as AsyncHTTPClient reads it, chunk by chunk, when it can send the next.
///
/// AsyncHTTPClient reads in a task of its own that nobody can cancel, and goes on when the exchange is over. So the
/// body is read in a task that belongs to the exchange, and handed over.
final class Upload: AsyncSequence, Sendable {
    typealias Element = ByteBuffer
    typealias Failure = any Error

    /// So much is handed over before the event loops get to deal with it.
    private static let maximumStride = 64 << 10

    private let chunks = Handoff<ByteBuffer>()
    private let connected = Suspension<Void>()
    /// Ends when AsyncHTTPClient asks for no more.
    private let taken = Suspension<Void>()
    /// Ends with the exchange.
    private let over = Suspension<Void>()
    private let watch: TransferWatch
    private let eventLoops: [any EventLoop]
    private let reading: OwnedTask<Void>
    /// Ends with the task that reads the body.
    private let readerEnd = Suspension<Void>()
    private let failureBox: FailureBox

    /// Begins to read a body: one that can be read once only when there is a connection, so that a failure to connect
    /// does not use it up.
    init(of body: RequestBody, over eventLoops: any EventLoopGroup, _ watch: TransferWatch) {
        self.eventLoops = Array(eventLoops.makeIterator())
        let failureBox = FailureBox()
        self.failureBox = failureBox
        self.watch = watch
        reading = .immediate { [chunks, connected, readerEnd] in
            defer { readerEnd.resume() }
            do {
                if !body.isReplayable {
                    try await connected.value()
                }
                for try await chunk in body.chunks {
                    // A body in memory is one chunk. As such it would count as sent at once, and no limit would see it
                    // stall.
                    var rest = chunk[...]
                    while !rest.isEmpty {
                        try await chunks.give(ByteBuffer(bytes: rest.prefix(Self.maximumStride)))
                        rest = rest.dropFirst(Self.maximumStride)
                    }
                }
                chunks.finish()
            } catch {
                if !(error is CancellationError) {
                    failureBox.failure.withLock { $0 = error }
                }
                chunks.finish(throwing: error)
            }
        }
    }

    /// Why the body could not be read to its end, if so.
    var failure: (any Error)? {
        failureBox.failure.withLock { $0 }
    }

    /// Whether any of it has been asked for.
    var hasBegun: Bool {
        !connected.isPending
    }

    /// Waits until all of it is on its way, or will not be.
    ///
    /// - Throws: What kept it from being read to its end, and `CancellationError` when the caller is cancelled.
    func waitUntilTaken() async throws {
        try await taken.value()
        if let failure { throw failure }
    }

    /// Stops reading: nobody sends it any more.
    func end() {
        chunks.abandon()
        reading.cancel()
        over.resume()
    }

    /// Waits until the body is not being read any more, after ``end()``.
    ///
    /// - Throws: `CancellationError` if the caller is cancelled.
    func waitUntilReaderEnds() async throws {
        try await readerEnd.value()
    }

    /// AsyncHTTPClient learns on the connection's event loop that the connection takes no more; until then it would go
    /// on and keep everything in memory.
    ///
    /// Waits for every event loop, because AsyncHTTPClient does not say which of them runs the connection of a request.
    private func letEventLoopsCatchUp() async throws {
        let turns = eventLoops.map { eventLoop in
            let turn = Suspension<Void>()
            eventLoop.execute { turn.resume() }
            return turn
        }
        for turn in turns {
            try await turn.value()
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(upload: self)
    }

    /// One reading of it; when it goes, nobody sends any more.
    final class Iterator: AsyncIteratorProtocol {
        private let upload: Upload
        private var stride = 0

        init(upload: Upload) {
            self.upload = upload
        }

        deinit {
            upload.taken.resume()
            upload.end()
        }

        func next() async throws -> ByteBuffer? {
            if upload.connected.resume(with: .success(())) {
                upload.watch.connect()
            }
            if stride >= Upload.maximumStride {
                try await upload.letEventLoopsCatchUp()
                stride = 0
            }
            guard let chunk = try await upload.chunks.take() else {
                upload.taken.resume()
                return nil
            }
            if let head = upload.watch.head, head.status.code >= 300 {
                // The server wants no more. AsyncHTTPClient would wait without end for leave to send it.
                try await upload.over.value()
                throw CancellationError()
            }
            stride += chunk.readableBytes
            upload.watch.send(chunk.readableBytes)
            return chunk
        }
    }

    private final class FailureBox: Sendable {
        let failure = Mutex<(any Error)?>(nil)
    }
}
#endif
