public import Networking
import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A sink that keeps what it receives, and what it was told, for a test to look at.
///
/// ```swift
/// let sink = CollectingSink()
/// request.sink = sink
/// try await network.data(request)
/// #expect(sink.chunks.count > 1)
/// ```
///
/// One that fails shows what a full disk does to a stack:
///
/// ```swift
/// request.sink = CollectingSink(failingAt: .receive)
/// await #expect(throws: CollectingSink.Failure.self) { try await network.data(request) }
/// ```
public final class CollectingSink: ResponseSink {
    /// What a sink is asked to do, in this order.
    public enum Step: Sendable, Equatable {
        /// To look at the head and to say what it wants.
        case offer
        /// To take a chunk of the body.
        case receive
        /// To finish, now that the body is complete.
        case finish
    }

    /// What a sink throws that was made to fail.
    public struct Failure: Error, Equatable {
        /// The step at which it failed.
        public let step: Step

        /// Creates the failure of a step.
        ///
        /// - Parameter step: The step.
        public init(step: Step) {
            self.step = step
        }
    }

    private let state = Mutex(State())
    private let answer: (@Sendable (HTTPResponse) -> SinkAnswer)?
    private let failing: Step?

    /// Creates an empty sink.
    ///
    /// - Parameters:
    ///   - failing: The step at which it throws a ``Failure``, each time; nil if it never does.
    ///   - answer: What it answers to a head; nil for what sinks answer by default.
    public init(failingAt failing: Step? = nil, answer: (@Sendable (HTTPResponse) -> SinkAnswer)? = nil) {
        self.failing = failing
        self.answer = answer
    }

    /// What it received, as it came.
    public var chunks: [Data] {
        state.withLock { $0.chunks }
    }

    /// What it received, as one.
    public var data: Data {
        state.withLock { $0.chunks.reduce(into: Data()) { $0.append($1) } }
    }

    /// The heads it was offered.
    public var heads: [HTTPResponse] {
        state.withLock { $0.heads }
    }

    /// How often it was told that a body is complete.
    public var finished: Int {
        state.withLock { $0.finished }
    }

    /// The errors it was told of.
    public var failures: [any Error] {
        state.withLock { $0.failures }
    }

    /// Notes the head, and answers as it was made to.
    public func offer(_ head: HTTPResponse) async throws -> SinkAnswer {
        state.withLock { $0.heads.append(head) }
        try failIfAsked(at: .offer)
        return answer?(head) ?? (head.status.isSuccess ? .take : .collect(upTo: 1 << 20))
    }

    /// Keeps the bytes.
    public func receive(_ chunk: Data) async throws {
        try failIfAsked(at: .receive)
        state.withLock { $0.chunks.append(chunk) }
    }

    /// Notes that the body is complete.
    public func finish() async throws {
        try failIfAsked(at: .finish)
        state.withLock { $0.finished += 1 }
    }

    /// Notes the error.
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
