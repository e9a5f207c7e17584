import Synchronization

/// The readers of a body that an exchange has cancelled and that have not ended yet.
///
/// The source of a body is code of the app, which may ignore its cancellation. An exchange that has its response does
/// not wait for the reader. The next exchange with the same body does, because two readers at the same time may disturb
/// each other.
package final class AbandonedReaders: Sendable {
    private struct State {
        var count = 0
        var waiters: [Suspension<Void>] = []
    }

    private let state = Mutex(State())

    /// Waits until no cancelled reader is left.
    ///
    /// - Throws: `CancellationError` if the caller is cancelled.
    package func waitUntilAllEnd() async throws {
        let wait = state.withLock { state -> Suspension<Void>? in
            guard state.count > 0 else { return nil }
            let wait = Suspension<Void>()
            state.waiters.append(wait)
            return wait
        }
        try await wait?.value(until: nil)
    }

    private func add() {
        state.withLock { $0.count += 1 }
    }

    private func remove() {
        let waiters = state.withLock { state -> [Suspension<Void>] in
            state.count -= 1
            guard state.count == 0 else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters {
            waiter.resume()
        }
    }

    /// One reading of a body.
    package final class Reader: Sendable {
        private enum Stage {
            case running
            case abandoned
            case over
        }

        private let readers: AbandonedReaders
        private let stage = Mutex(Stage.running)

        package init(of readers: AbandonedReaders) {
            self.readers = readers
        }

        /// Records that the exchange no longer waits for the reader.
        package func abandon() {
            stage.withLock { stage in
                guard stage == .running else { return }
                stage = .abandoned
                readers.add()
            }
        }

        /// Records that the reader has ended.
        package func end() {
            let wasAbandoned = stage.withLock { stage in
                defer { stage = .over }
                return stage == .abandoned
            }
            if wasAbandoned {
                readers.remove()
            }
        }
    }
}
