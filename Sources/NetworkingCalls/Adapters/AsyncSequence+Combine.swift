#if canImport(Combine)
public import Combine
import NetworkingCore
import Synchronization

extension AsyncSequence where Self: Sendable, Element: Sendable, AsyncIterator: SendableMetatype {
    /// Returns a Combine publisher that passes an element on when its subscriber demands one.
    ///
    /// Each subscription iterates once and publishes off the main thread. Cancelling it ends the iteration.
    ///
    /// - Returns: The publisher.
    public func publisher() -> AnyPublisher<Element, any Error> {
        ElementPublisher(elements: self).eraseToAnyPublisher()
    }
}

private struct ElementPublisher<Elements: AsyncSequence & Sendable>: Publisher
where Elements.Element: Sendable, Elements.AsyncIterator: SendableMetatype {
    typealias Output = Elements.Element
    typealias Failure = any Error

    let elements: Elements

    func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
        let reading = Reading(for: AnySubscriber(subscriber))
        subscriber.receive(subscription: reading)
        let elements = elements
        reading.start { reading in
            for try await element in elements {
                try await reading.publish(element)
            }
        }
    }
}

// Combine does not mark subscribers as Sendable. One task at a time calls this one, as Combine requires.
private final class Reading<Output: Sendable>: Subscription, @unchecked Sendable {
    private struct State {
        var demand = Subscribers.Demand.none
        var wait: Suspension<Void>?
        var task: OwnedTask<Void>?
        var isCancelled = false
    }

    private let subscriber: AnySubscriber<Output, any Error>
    private let state = Mutex(State())

    init(for subscriber: AnySubscriber<Output, any Error>) {
        self.subscriber = subscriber
    }

    func start(_ read: @escaping @Sendable (Reading) async throws -> Void) {
        let task: OwnedTask<Void> = .detached { [self] in
            do {
                try await read(self)
                end(.finished)
            } catch {
                end(.failure(error))
            }
        }
        let isCancelled = state.withLock { state in
            state.task = task
            return state.isCancelled
        }
        if isCancelled {
            task.cancel()
        }
    }

    /// Passes an element on as soon as the subscriber demands one.
    func publish(_ element: Output) async throws {
        while !takeDemand() {
            let wait = Suspension<Void>()
            let hasDemand = state.withLock { state in
                state.wait = wait
                return state.demand > .none
            }
            if !hasDemand {
                try await wait.value()
            }
        }
        // A sequence may return elements that it has buffered after its task was cancelled.
        guard state.withLock({ !$0.isCancelled }) else { throw CancellationError() }
        request(subscriber.receive(element))
    }

    private func takeDemand() -> Bool {
        state.withLock { state in
            guard state.demand > .none else { return false }
            state.demand -= 1
            return true
        }
    }

    func request(_ demand: Subscribers.Demand) {
        let wait = state.withLock { state -> Suspension<Void>? in
            state.demand += demand
            return state.demand > .none ? state.wait : nil
        }
        wait?.resume()
    }

    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }

    private func end(_ completion: Subscribers.Completion<any Error>) {
        if state.withLock({ !$0.isCancelled }) {
            subscriber.receive(completion: completion)
        }
    }
}
#endif
