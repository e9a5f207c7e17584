import NetworkingCore

/// A limit on the requests of one key that changes with their responses.
///
/// It is a value without a clock and without a lock: each function receives the time. ``GatedLines`` adds the queue.
protocol RequestGate: Sendable {
    /// A request that has passed and has not ended.
    associatedtype Ticket: Sendable
    /// The facts of a response that change the limit.
    associatedtype Report: Sendable

    init()

    /// Whether the gate knows nothing and no request has passed without ending, so that it need not be stored.
    var isEmpty: Bool { get }

    /// Whether no request has passed without ending, so that forgetting the gate only lets a few requests pass early.
    var isUnused: Bool { get }

    /// The number of limits in memory.
    var count: Int { get }

    /// Whether a request passes although others wait.
    func overtakes(_ request: HTTPRequestData.ID) -> Bool

    /// Lets a request pass, or returns `nil` if it has to wait.
    mutating func pass(_ request: HTTPRequestData.ID, at now: Duration) -> Ticket?

    /// Returns the time until a request may pass that comes after others; `nil` if another request has to end first.
    func wait(behind others: Int, at now: Duration) -> Duration?

    /// Ends a request that was not sent.
    mutating func refund(_ ticket: Ticket)

    /// Ends a request that was sent; without a report if no response arrived, or one that does not count.
    mutating func end(_ ticket: Ticket, with report: Report?, at now: Duration)
}
