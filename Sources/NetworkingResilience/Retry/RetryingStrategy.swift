public import FoundationForNetworking
public import NetworkingCore

/// A strategy that returns the delay before the next attempt, or `nil` to stop.
///
/// It has the same requirement as the strategies of danthorpe/swift-networking, so that a strategy written for that
/// library compiles unchanged. ``RetryPolicy/delayed(by:maximumRetries:calendar:)`` creates a policy from it. In new
/// code, implement ``RetryStrategy``, which can also leave a decision to the policy.
///
/// ```swift
/// struct WorkingHours: RetryingStrategy {
///     func retryDelay(
///         request: HTTPRequestData,
///         after attempts: [Result<HTTPResponseData, any Error>],
///         date: Date,
///         calendar: Calendar
///     ) async -> Duration? {
///         let hour = calendar.component(.hour, from: date)
///         return attempts.count <= 3 && (8..<18).contains(hour) ? .seconds(attempts.count) : nil
///     }
/// }
///
/// let network = URLSession.shared.retry(.delayed(by: WorkingHours()))
/// ```
public protocol RetryingStrategy: Sendable {
    /// Returns the delay before the next attempt.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - attempts: The results of the attempts so far, oldest first. If there are more than 100, they are the first
    ///     10 and the last ones.
    ///   - date: The current date, from the environment's clock.
    ///   - calendar: The calendar in which to interpret the date.
    /// - Returns: The delay; `nil` if the request is not sent again.
    func retryDelay(
        request: HTTPRequestData,
        after attempts: [Result<HTTPResponseData, any Error>],
        date: Date,
        calendar: Calendar
    ) async -> Duration?
}

extension RetryPolicy {
    /// Retries after the delays that a strategy returns.
    ///
    /// The strategy is asked after each attempt that failed with an error or with a status that is not a success. Its
    /// decision applies to requests of every method. The retry budget, the deadline and the check that the body and the
    /// sink can be reused still apply.
    ///
    /// ```swift
    /// request.retryPolicy = .delayed(by: WorkingHours())
    /// ```
    ///
    /// - Parameters:
    ///   - strategy: The strategy.
    ///   - maximumRetries: The maximum number of retries, for a strategy that never returns `nil`.
    ///   - calendar: The calendar that the strategy receives; the user's by default.
    /// - Returns: The policy.
    /// - Precondition: `maximumRetries` is not negative.
    public static func delayed(
        by strategy: some RetryingStrategy,
        maximumRetries: Int = 100,
        calendar: Calendar = .current
    ) -> RetryPolicy {
        immediate(maximumRetries: maximumRetries)
            .deciding(by: DelayStrategy(strategy: strategy, calendar: calendar))
    }
}

/// Asks a strategy for the delay before the next attempt.
private struct DelayStrategy<Strategy: RetryingStrategy>: RetryStrategy {
    let strategy: Strategy
    let calendar: Calendar

    func decide(about request: HTTPRequestData, after attempts: [Attempt]) async throws -> RetryDecision {
        let delay = await strategy.retryDelay(
            request: request,
            after: attempts.map(\.result),
            date: NetworkEnvironment.current.clock.date,
            calendar: calendar
        )
        return delay.map { .retry(after: $0) } ?? .giveUp
    }
}
