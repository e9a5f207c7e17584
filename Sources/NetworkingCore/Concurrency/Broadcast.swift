import Synchronization

/// Passes values to any number of readers, each through a separate stream.
package final class Broadcast<Element: Sendable>: Sendable {
    private let state: Mutex<State>
    private let buffering: AsyncStream<Element>.Continuation.BufferingPolicy
    private let repeatsLatest: Bool

    /// Creates a broadcast.
    ///
    /// - Parameters:
    ///   - latest: The latest element before the first one is published.
    ///   - repeatsLatest: Whether the latest element is kept, and a new reader first receives it.
    ///   - buffering: The elements that are kept for a reader that falls behind.
    package init(
        latest: Element? = nil,
        repeatsLatest: Bool = false,
        buffering: AsyncStream<Element>.Continuation.BufferingPolicy = .unbounded
    ) {
        state = Mutex(State(latest: latest))
        self.repeatsLatest = repeatsLatest
        self.buffering = buffering
    }

    /// The element that was published last; `nil` if the latest element is not kept.
    package var latest: Element? {
        state.withLock { $0.latest }
    }

    /// The number of readers.
    package var readers: Int {
        state.withLock { state in state.readers.count { !$0.hasEnded.isSet } }
    }

    /// Passes an element to all readers.
    ///
    /// - Parameters:
    ///   - element: The element.
    ///   - condition: Returns whether to publish it after ``latest``. It runs under the lock.
    package func publish(_ element: Element, if condition: (_ latest: Element?) -> Bool = { _ in true }) {
        let ended = state.withLock { state -> [Reader] in
            guard !state.isOver, condition(state.latest) else { return [] }
            if repeatsLatest { state.latest = element }
            // Under the lock, which keeps the elements in order.
            for reader in state.readers {
                reader.continuation.yield(element)
            }
            return state.removeEnded()
        }
        // Not under the lock, because a stream may own objects of the app.
        withExtendedLifetime(ended) {}
    }

    /// Ends the streams of all readers, and those of later readers after the latest element.
    package func finish() {
        let readers = state.withLock { state in
            state.isOver = true
            defer { state.readers = [] }
            return state.readers
        }
        for reader in readers {
            reader.continuation.finish()
        }
    }

    /// Returns a stream of the elements from now on.
    ///
    /// - Parameter owner: An object that the stream retains until its reader ends.
    /// - Returns: The stream, for one reader.
    package func elements(retaining owner: (any AnyObject & Sendable)? = nil) -> AsyncStream<Element> {
        AsyncStream(bufferingPolicy: buffering) { continuation in
            let reader = Reader(continuation: continuation)
            // It takes no lock: the cancellation of a task runs it while it holds the task, for which an element waits
            // that is yielded under the lock.
            continuation.onTermination = { [hasEnded = reader.hasEnded] _ in
                hasEnded.set()
                withExtendedLifetime(owner) {}
            }
            let (isOver, ended) = state.withLock { state in
                if let latest = state.latest {
                    continuation.yield(latest)
                }
                guard !state.isOver else { return (true, [Reader]()) }
                defer { state.readers.append(reader) }
                return (false, state.removeEnded())
            }
            withExtendedLifetime(ended) {}
            if isOver {
                continuation.finish()
            }
        }
    }

    private struct Reader: Sendable {
        let continuation: AsyncStream<Element>.Continuation
        let hasEnded = Flag()
    }

    private struct State {
        var latest: Element?
        var isOver = false
        /// The readers in the order of their arrival; those that have ended are removed at the next change.
        var readers: [Reader] = []

        /// Removes the readers that have ended, and returns them.
        mutating func removeEnded() -> [Reader] {
            var ended: [Reader] = []
            readers.removeAll { reader in
                guard reader.hasEnded.isSet else { return false }
                ended.append(reader)
                return true
            }
            return ended
        }
    }
}
