#if canImport(Combine)
public import Combine

extension AsyncSequence where Self: Sendable, Element: Sendable, AsyncIterator: SendableMetatype {
    /// Returns a Combine publisher that passes an element on when its subscriber demands one.
    ///
    /// Each subscription iterates once and publishes off the main thread. Cancelling it ends the iteration. The
    /// publisher fails with the error that the sequence throws.
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
        reading.elements.start(elements)
    }
}

/// A subscription that forwards demand and cancellation to the reading.
private final class Reading<Output: Sendable>: Subscription {
    // Combine does not mark subscribers as Sendable. One task at a time calls this one, as Combine requires.
    private struct Receiver: @unchecked Sendable {
        let subscriber: AnySubscriber<Output, any Error>
    }

    let elements: DemandedElements<Output>

    init(for subscriber: AnySubscriber<Output, any Error>) {
        let receiver = Receiver(subscriber: subscriber)
        elements = DemandedElements { element in
            receiver.subscriber.receive(element).max
        } complete: { error in
            receiver.subscriber.receive(completion: error.map { .failure($0) } ?? .finished)
        }
    }

    func request(_ demand: Subscribers.Demand) {
        elements.demand(demand.max)
    }

    func cancel() {
        elements.cancel()
    }
}
#endif
