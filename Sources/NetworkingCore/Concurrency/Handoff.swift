import Synchronization

/// A buffer for one element between one producer and one consumer.
///
/// The producer waits until the buffer is empty, which is the back-pressure. The consumer waits until the buffer has an
/// element. If one side stops, the other is notified at once.
package final class Handoff<Element: Sendable>: Sendable {
    private let state = Mutex(State())

    package init() {}

    /// Stores an element as soon as the buffer is empty.
    ///
    /// - Throws: `CancellationError` if the consumer has stopped or the caller is cancelled while it waits.
    package func give(_ element: Element) async throws {
        while true {
            let step = try state.withLock { try $0.give(element) }
            switch step {
            case .taken(let taker):
                taker?.resume(with: .success(element))
                return
            case .wait(let turn):
                try await turn.cancellableValue { [self] in state.withLock { $0.giver = nil } }
            }
        }
    }

    /// Ends the sequence after the stored element.
    ///
    /// - Parameter error: The error that the consumer receives at the end; `nil` for a regular end.
    package func finish(throwing error: (any Error)? = nil) {
        let taker = state.withLock { state -> Suspension<Element?>? in
            // No consumer is left for the error, which may refer to the owner of the buffer.
            guard !state.isAbandoned else { return nil }
            state.end = error.map { .failure($0) } ?? .success(nil)
            defer { state.taker = nil }
            return state.taker
        }
        taker?.resume(with: error.map { .failure($0) } ?? .success(nil))
    }

    /// Takes the next element; returns `nil` after the last.
    ///
    /// If the caller is cancelled, the consumer stops as in ``abandon()``.
    ///
    /// - Throws: `CancellationError` if the caller is cancelled or the consumer has stopped, or the error of
    ///   ``finish(throwing:)``.
    package func take() async throws -> Element? {
        if Task.isCancelled {
            abandon()
        }
        try Task.checkCancellation()
        let wait = Suspension<Element?>()
        let step = state.withLock { $0.take(orWait: wait) }
        switch step {
        case .element(let element, let giver):
            giver?.resume()
            return element
        case .end(let result):
            return try result.get()
        case .wait:
            return try await wait.cancellableValue { [self] in abandon() }
        }
    }

    /// Stops consuming: discards the stored element and throws `CancellationError` in the waiting producer.
    ///
    /// Discards the error of the end, too. Does nothing if the sequence has ended without an error and every element
    /// has been taken.
    package func abandon() {
        // Released after unlocking, because releasing the element or the error may run code of their creator.
        let before = state.withLock { state -> State? in
            if case .success = state.end, state.element == nil { return nil }
            defer {
                state.isAbandoned = true
                (state.element, state.end, state.giver, state.taker) = (nil, nil, nil, nil)
            }
            return state
        }
        before?.giver?.resume(with: .failure(CancellationError()))
        before?.taker?.resume(with: .failure(CancellationError()))
    }

    /// Whether the consumer has stopped.
    package var isAbandoned: Bool {
        state.withLock { $0.isAbandoned }
    }

    private enum Giving {
        case taken(by: Suspension<Element?>?)
        case wait(Suspension<Void>)
    }

    private enum Taking {
        case element(Element, Suspension<Void>?)
        case end(Result<Element?, any Error>)
        case wait
    }

    private struct State {
        var element: Element?
        var giver: Suspension<Void>?
        var taker: Suspension<Element?>?
        var end: Result<Element?, any Error>?
        var isAbandoned = false

        mutating func give(_ element: Element) throws -> Giving {
            guard !isAbandoned else { throw CancellationError() }
            if let taker {
                self.taker = nil
                return .taken(by: taker)
            }
            guard self.element != nil else {
                self.element = element
                return .taken(by: nil)
            }
            let turn = Suspension<Void>()
            giver = turn
            return .wait(turn)
        }

        mutating func take(orWait wait: Suspension<Element?>) -> Taking {
            if let element {
                self.element = nil
                defer { giver = nil }
                return .element(element, giver)
            }
            if isAbandoned { return .end(.failure(CancellationError())) }
            if let end { return .end(end) }
            taker = wait
            return .wait
        }
    }
}
