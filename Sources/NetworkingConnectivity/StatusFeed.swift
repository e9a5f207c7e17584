import NetworkingCore
import Synchronization

/// The last status of a ``Connectivity``, and the readers of its changes.
final class StatusFeed: Sendable {
    private let state: Mutex<State>

    init(_ status: ConnectivityStatus? = nil) {
        state = Mutex(State(status: status))
    }

    var status: ConnectivityStatus? {
        state.withLock { $0.status }
    }

    /// Sets the status and passes it to the readers, unless it is the same as before.
    ///
    /// - Parameters:
    ///   - status: The new status.
    ///   - isFirst: Whether the status is only set if none is known yet.
    func publish(_ status: ConnectivityStatus, onlyIfFirst isFirst: Bool = false) {
        state.withLock { state in
            guard state.status != status, !isFirst || state.status == nil else { return }
            state.status = status
            // Under the lock, which keeps the changes in order. Yielding only adds the change to a buffer.
            for reader in state.readers.values {
                reader.yield(status)
            }
        }
    }

    /// Returns the current status and its changes, and retains the owner until the reader ends.
    func changes(of owner: some Connectivity) -> AsyncStream<ConnectivityStatus> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ConnectivityStatus.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        state.withLock { state in
            if let status = state.status {
                continuation.yield(status)
            }
            state.lastReader += 1
            state.readers[state.lastReader] = continuation
            let reader = state.lastReader
            continuation.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.readers.removeValue(forKey: reader) }
                withExtendedLifetime(owner) {}
            }
        }
        return stream
    }

    /// The number of readers.
    var readers: Int {
        state.withLock { $0.readers.count }
    }

    private struct State {
        var status: ConnectivityStatus?
        var readers: [Int: AsyncStream<ConnectivityStatus>.Continuation] = [:]
        var lastReader = 0
    }
}
