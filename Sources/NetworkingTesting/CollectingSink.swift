public import FoundationForNetworking
public import NetworkingCore
import Synchronization

/// A sink that collects the body, so that a test can inspect it.
///
/// ```swift
/// let sink = CollectingSink()
/// request.sink = sink
/// try await network.data(request)
/// #expect(sink.chunks.count > 1)
/// ```
///
/// A failing sink shows how a stack handles, for example, a full disk:
///
/// ```swift
/// request.sink = CollectingSink(failingAt: .receive)
/// await #expect(throws: CollectingSink.Failure.self) { try await network.data(request) }
/// ```
public final class CollectingSink: ResponseSink {
    /// The steps that a sink performs, in order.
    public enum Step: Sendable, Equatable {
        /// Inspecting the head and deciding how to receive the body.
        case offer
        /// Receiving a chunk of the body.
        case receive
        /// Finishing after the complete body.
        case finish
    }

    /// The error that a sink throws at the configured step.
    public struct Failure: Error, Equatable {
        /// The step at which it failed.
        public let step: Step

        /// Creates a failure at a step.
        ///
        /// - Parameter step: The step.
        public init(step: Step) {
            self.step = step
        }
    }

    private let state = Mutex(State())
    private let decision: (@Sendable (HTTPResponse) -> SinkDecision)?
    private let failing: Step?

    /// Creates an empty sink.
    ///
    /// - Parameters:
    ///   - failing: The step at which it always throws a ``Failure``; nil to never fail.
    ///   - decision: Returns the decision for a response head; nil to take the body of a success (200 to 299) and let
    ///     the transport collect any other body, up to 1 MiB.
    public init(failingAt failing: Step? = nil, decision: (@Sendable (HTTPResponse) -> SinkDecision)? = nil) {
        self.failing = failing
        self.decision = decision
    }

    /// The chunks it received, in order.
    public var chunks: [Data] {
        state.withLock { $0.chunks }
    }

    /// All the bytes it received.
    public var data: Data {
        state.withLock { $0.chunks.reduce(into: Data()) { $0.append($1) } }
    }

    /// The heads that it was offered.
    public var heads: [HTTPResponse] {
        state.withLock { $0.heads }
    }

    /// The number of complete bodies.
    public var finished: Int {
        state.withLock { $0.finished }
    }

    /// The errors that were reported to it.
    public var failures: [any Error] {
        state.withLock { $0.failures }
    }

    /// Records the head and returns the configured decision.
    public func offer(_ head: HTTPResponse) async throws -> SinkDecision {
        state.withLock { $0.heads.append(head) }
        try failIfAsked(at: .offer)
        return decision?(head) ?? (head.status.isSuccess ? .take : .collect(upTo: 1 << 20))
    }

    /// Stores the chunk.
    public func receive(_ chunk: Data) async throws {
        try failIfAsked(at: .receive)
        state.withLock { $0.chunks.append(chunk) }
    }

    /// Records that the body is complete.
    public func finish() async throws {
        try failIfAsked(at: .finish)
        state.withLock { $0.finished += 1 }
    }

    /// Records the error.
    public func fail(_ error: any Error) {
        state.withLock { $0.failures.append(error) }
    }

    private func failIfAsked(at step: Step) throws {
        if step == failing { throw Failure(step: step) }
    }

    private struct State {
        var chunks: [Data] = []
        var heads: [HTTPResponse] = []
        var finished = 0
        var failures: [any Error] = []
    }
}
