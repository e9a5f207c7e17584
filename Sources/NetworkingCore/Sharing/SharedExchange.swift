/// A shared exchange, for features in other modules.
///
/// The compiler specialises ``SharedOperation`` only in its own module. Unspecialised, an exchange with a single caller
/// takes twice as long.
package struct SharedExchange: Sendable {
    // The release of an object of a generic class is not specialized, and takes 1,400 instructions. That of this class
    // takes 300.
    private final class Operation: SharedOperation<HTTPResponseData>, @unchecked Sendable {}

    private let operation: Operation

    /// Creates a shared exchange, which its creator must start.
    ///
    /// The exchange has the latest deadline of its waiters.
    package init() {
        operation = Operation(hasCommonDeadline: true)
    }

    /// The number of waiters.
    package var waiters: Int {
        operation.waiters
    }

    /// Joins the exchange; returns `nil` if it has ended or was abandoned.
    package func join() -> SharedOperation<HTTPResponseData>.Waiter? {
        operation.join()
    }

    /// Starts the exchange.
    package func start(_ work: @escaping @Sendable () async throws -> HTTPResponseData) {
        operation.start(work)
    }

    /// Waits for the response, as the creator.
    package func valueForCreator(until limit: ExchangeLimit?) async throws -> HTTPResponseData {
        try await operation.valueForCreator(until: limit)
    }

    /// Waits for the response.
    package func value(
        for waiter: SharedOperation<HTTPResponseData>.Waiter,
        until limit: ExchangeLimit?
    ) async throws -> HTTPResponseData {
        try await operation.value(for: waiter, until: limit)
    }

    /// Whether two values are the same exchange.
    package static func === (lhs: SharedExchange, rhs: SharedExchange) -> Bool {
        lhs.operation === rhs.operation
    }
}
