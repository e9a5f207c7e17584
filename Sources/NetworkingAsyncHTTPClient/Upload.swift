#if AsyncHTTPClient
import NetworkingCore
import NIOCore
import Synchronization

/// A request body that AsyncHTTPClient reads chunk by chunk as it can send more.
///
/// AsyncHTTPClient reads it in its own task, which cannot be cancelled and outlives the exchange. Therefore the
/// exchange reads the body in a second task, which passes the chunks on.
final class Upload: AsyncSequence, Sendable {
    typealias Element = ByteBuffer
    typealias Failure = any Error

    private let chunks = Handoff<ByteBuffer>()
    private let connected = Suspension<Void>()
    /// Ends when AsyncHTTPClient reads no more.
    private let taken = Suspension<Void>()
    /// Ends with the exchange.
    private let over = Suspension<Void>()
    private let progress: ExchangeProgress
    private let eventLoops: [any EventLoop]
    private let reading: OwnedTask<Void>
    private let reader: AbandonedReaders.Reader?
    private let failureBox: FailureBox

    /// Starts to read a body, after earlier exchanges have stopped reading it.
    ///
    /// A body that can be read only once is not read before there is a connection, so that a failed connection does not
    /// consume it.
    init(of body: RequestBody, over eventLoops: any EventLoopGroup, _ progress: ExchangeProgress) {
        self.eventLoops = Array(eventLoops.makeIterator())
        let failureBox = FailureBox()
        self.failureBox = failureBox
        self.progress = progress
        let reader = body.abandonedReaders.map { AbandonedReaders.Reader(of: $0) }
        self.reader = reader
        reading = .immediate { [chunks, connected] in
            defer { reader?.end() }
            do {
                // A request that is sent again must not read its body twice at the same time.
                try await body.abandonedReaders?.waitUntilAllEnd()
                if !body.isReplayable {
                    try await connected.value(until: nil)
                }
                for try await chunk in body.chunks {
                    // A body in memory is a single chunk. If it were passed on whole, it would count as sent at once,
                    // and no limit would detect a stall.
                    var rest = chunk[...]
                    while !rest.isEmpty {
                        try await chunks.give(ByteBuffer(bytes: rest.prefix(UploadStride.shortest)))
                        rest = rest.dropFirst(UploadStride.shortest)
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

    /// The error that kept the body from being read to its end, if there is one.
    var failure: (any Error)? {
        failureBox.failure.withLock { $0 }
    }

    /// Whether AsyncHTTPClient has started to read.
    var hasBegun: Bool {
        !connected.isPending
    }

    /// Waits until the whole body has been passed on, or no more of it will be read.
    ///
    /// - Throws: The error that kept the body from being read to its end, and `CancellationError` if the caller is
    ///   cancelled.
    func waitUntilTaken() async throws {
        try await taken.value(until: nil)
        if let failure { throw failure }
    }

    /// Stops reading, because the body is no longer sent.
    func end() {
        chunks.abandon()
        reading.cancel()
        // The source of the body is code of the app, which may ignore the cancellation.
        reader?.abandon()
        over.resume()
    }

    /// Waits for the event loops, on which AsyncHTTPClient learns that the connection accepts no more; until then it
    /// would keep reading and buffer everything in memory.
    ///
    /// It waits for every event loop, because AsyncHTTPClient does not expose the event loop of a request's connection.
    private func letEventLoopsCatchUp() async throws {
        let turns = eventLoops.map { eventLoop in
            let turn = Suspension<Void>()
            eventLoop.execute { turn.resume() }
            return turn
        }
        for turn in turns {
            try await turn.value(until: nil)
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(upload: self)
    }

    /// One pass over the body; when the iterator is released, the body is no longer sent.
    final class Iterator: AsyncIteratorProtocol {
        private let upload: Upload
        // Not the clock of the stack: this is the rate of a real connection.
        private var stride = UploadStride(at: .now)

        init(upload: Upload) {
            self.upload = upload
        }

        deinit {
            upload.taken.resume()
            upload.end()
        }

        func next() async throws -> ByteBuffer? {
            if upload.connected.resume(with: .success(())) {
                upload.progress.connect()
            }
            if stride.isComplete {
                try await upload.letEventLoopsCatchUp()
                stride.begin(at: .now)
            }
            guard let chunk = try await upload.chunks.take() else {
                upload.taken.resume()
                return nil
            }
            if let head = upload.progress.head, head.status.code >= 300 {
                // The server needs no more of the body. AsyncHTTPClient would wait forever for permission to send it.
                try await upload.over.value(until: nil)
                throw CancellationError()
            }
            stride.add(chunk.readableBytes)
            upload.progress.send(chunk.readableBytes)
            return chunk
        }
    }

    private final class FailureBox: Sendable {
        let failure = Mutex<(any Error)?>(nil)
    }
}
#endif
