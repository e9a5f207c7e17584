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
        state.withLock { $0.readers.count }
    }

    /// Passes an element to all readers.
    ///
    /// - Parameters:
    ///   - element: The element.
    ///   - condition: Returns whether to publish it after ``latest``. It runs under the lock.
    package func publish(_ element: Element, if condition: (_ latest: Element?) -> Bool = { _ in true }) {
        state.withLock { state in
            guard !state.isOver, condition(state.latest) else { return }
            if repeatsLatest { state.latest = element }
            // Under the lock, which keeps the elements in order. Yielding only adds the element to a buffer.
            for (_, reader) in state.readers.sorted(by: { $0.key < $1.key }) {
                reader.yield(element)
            }
        }
    }

    /// Ends the streams of all readers, and those of later readers after the latest element.
    package func finish() {
        let readers = state.withLock { state in
            state.isOver = true
            defer { state.readers = [:] }
            return state.readers
        }
        for (_, reader) in readers.sorted(by: { $0.key < $1.key }) {
            reader.finish()
        }
    }

    /// Returns a stream of the elements from now on.
    ///
    /// - Parameter owner: An object that the stream retains until its reader ends.
    /// - Returns: The stream, for one reader.
    package func elements(retaining owner: (any AnyObject & Sendable)? = nil) -> AsyncStream<Element> {
        AsyncStream(bufferingPolicy: buffering) { continuation in
            let isOver = state.withLock { state in
                if let latest = state.latest {
                    continuation.yield(latest)
                }
                guard !state.isOver else { return true }
                state.lastReader += 1
                let reader = state.lastReader
                state.readers[reader] = continuation
                continuation.onTermination = { [weak self] _ in
                    _ = self?.state.withLock { $0.readers.removeValue(forKey: reader) }
                    withExtendedLifetime(owner) {}
                }
                return false
            }
            if isOver {
                continuation.finish()
            }
        }
    }

    private struct State {
        var latest: Element?
        var isOver = false
        var readers: [Int: AsyncStream<Element>.Continuation] = [:]
        var lastReader = 0
    }
}
