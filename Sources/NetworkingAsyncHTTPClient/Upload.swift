#if AsyncHTTPClient
import Networking
import NIOCore
import Synchronization

/// A body as AsyncHTTPClient reads it, portion by portion, when it can send the next.
///
/// AsyncHTTPClient reads in a task of its own that nobody can cancel, and goes on when the exchange is over. So the body is
/// read in a task that belongs to the exchange, and handed over.
final class Upload: AsyncSequence, Sendable {
    typealias Element = ByteBuffer
    typealias Failure = any Error

    private let portions = Handoff<ByteBuffer>()
    private let connected = Suspension<Void>()
    private let watch: TransferWatch
    private let reading: OwnedTask<Void>
    private let failureBox: FailureBox

    /// Begins to read a body: one that can be read once only when there is a connection, so that a failure to connect does not
    /// use it up.
    init(of body: RequestBody, _ watch: TransferWatch) {
        let failureBox = FailureBox()
        self.failureBox = failureBox
        self.watch = watch
        reading = .immediate { [portions, connected] in
            do {
                if !body.isReplayable {
                    try await connected.value()
                }
                for try await chunk in body.chunks {
                    try await portions.give(ByteBuffer(bytes: chunk))
                }
                portions.finish()
            } catch {
                if !(error is CancellationError) {
                    failureBox.failure.withLock { $0 = error }
                }
                portions.finish(throwing: error)
            }
        }
    }

    /// Why the body could not be read to its end, if so.
    var failure: (any Error)? {
        failureBox.failure.withLock { $0 }
    }

    /// Waits until all of it has been read, or will not be.
    func isSent() async {
        _ = try? await reading.value
    }

    /// Stops reading: nobody sends it any more.
    func end() {
        portions.abandon()
        reading.cancel()
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(upload: self)
    }

    /// One reading of it; when it goes, nobody sends any more.
    final class Iterator: AsyncIteratorProtocol {
        private let upload: Upload

        init(upload: Upload) {
            self.upload = upload
        }

        deinit {
            upload.end()
        }

        func next() async throws -> ByteBuffer? {
            if upload.connected.resume(with: .success(())) {
                upload.watch.connect()
            }
            guard let portion = try await upload.portions.take() else { return nil }
            upload.watch.send(portion.readableBytes)
            return portion
        }
    }

    private final class FailureBox: Sendable {
        let failure = Mutex<(any Error)?>(nil)
    }
}
#endif
