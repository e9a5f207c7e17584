#if AsyncHTTPClient
import NIOCore

extension ChannelHandlerContext {
    /// Writes a part of a request, and reports if that fails although the channel stays open.
    ///
    /// AsyncHTTPClient ignores the failure of a write and waits for the response. A channel that closes has reported
    /// that itself, after the bytes that had arrived.
    ///
    /// - Parameters:
    ///   - part: The part.
    ///   - promise: The promise of AsyncHTTPClient.
    ///   - report: Receives the error. Afterwards the channel is closed.
    func write(_ part: NIOAny, promise: EventLoopPromise<Void>?, onFailure report: @escaping (any Error) -> Void) {
        // The promise of AsyncHTTPClient may belong to another event loop.
        let written = eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated()
            .whenFailure { error in
                // The channel may be closing.
                self.eventLoop.assumeIsolated()
                    .execute {
                        guard self.channel.isActive else { return }
                        report(FailedWrite(underlying: error))
                        self.close(promise: nil)
                    }
            }
        if let promise {
            written.futureResult.cascade(to: promise)
        }
        write(part, promise: written)
    }
}

/// A part of a request could not be written to its connection.
struct FailedWrite: Error {
    let underlying: any Error
}
#endif
