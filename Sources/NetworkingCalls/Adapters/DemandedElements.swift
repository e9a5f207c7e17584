import NetworkingCore
import Synchronization

/// An iteration over a sequence that passes an element on when its receiver demands one.
///
/// `publisher()` uses it. It does not depend on Combine, so it can be tested on every platform.
final class DemandedElements<Element: Sendable>: Sendable {
    private struct State {
        /// The number of elements that the receiver still demands; `nil` for all.
        var demand: Int? = 0
        var wait: Suspension<Void>?
        var task: OwnedTask<Void>?
        var isCancelled = false

        var hasDemand: Bool {
            demand != 0
        }
    }

    /// Passes an element on, and returns how many more the receiver demands; `nil` for all.
    private let receive: @Sendable (Element) -> Int?
    /// Reports the end of the sequence; the error is `nil` if the sequence did not fail.
    private let complete: @Sendable ((any Error)?) -> Void
    private let state = Mutex(State())

    /// Creates an iteration, which ``start(_:)`` starts.
    ///
    /// The closures are called one at a time.
    init(
        receive: @escaping @Sendable (Element) -> Int?,
        complete: @escaping @Sendable ((any Error)?) -> Void
    ) {
        self.receive = receive
        self.complete = complete
    }

    /// Starts to iterate; may be called once.
    func start<Elements: AsyncSequence & Sendable>(
        _ elements: Elements
    ) where Elements.Element == Element, Elements.AsyncIterator: SendableMetatype {
        let task: OwnedTask<Void> = .detached { [self] in
            do {
                for try await element in elements {
                    try await pass(element)
                }
                end(with: nil)
            } catch {
                end(with: error)
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

    /// Demands more elements.
    ///
    /// - Parameter count: The number of elements; `nil` for all.
    func demand(_ count: Int?) {
        let wait = state.withLock { state -> Suspension<Void>? in
            state.demand = state.demand.flatMap { demand in
                guard let count else { return nil }
                let (sum, isTooLarge) = demand.addingReportingOverflow(count)
                return isTooLarge ? nil : sum
            }
            return state.hasDemand ? state.wait : nil
        }
        wait?.resume()
    }

    /// Ends the iteration; the receiver gets neither a further element nor the end.
    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }

    /// Passes an element on as soon as the receiver demands one.
    private func pass(_ element: Element) async throws {
        while !takeDemand() {
            let wait = Suspension<Void>()
            let hasDemand = state.withLock { state in
                state.wait = wait
                return state.hasDemand
            }
            if !hasDemand {
                try await wait.value(until: nil)
            }
        }
        // A sequence may return elements that it has buffered after its task was cancelled.
        guard state.withLock({ !$0.isCancelled }) else { throw CancellationError() }
        demand(receive(element))
    }

    private func takeDemand() -> Bool {
        state.withLock { state in
            guard state.hasDemand else { return false }
            state.demand = state.demand.map { $0 - 1 }
            return true
        }
    }

    private func end(with error: (any Error)?) {
        if state.withLock({ !$0.isCancelled }) {
            complete(error)
        }
    }
}
