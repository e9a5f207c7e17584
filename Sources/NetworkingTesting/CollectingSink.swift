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
public final class CollectingSink: ResponseSink {
    private let state = Mutex(State())
    private let answer: (@Sendable (HTTPResponse) -> SinkAnswer)?

    /// Creates an empty sink.
    ///
    /// - Parameter answer: What it answers to a head; nil for what sinks answer by default.
    public init(answer: (@Sendable (HTTPResponse) -> SinkAnswer)? = nil) {
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
        return answer?(head) ?? (head.status.isSuccess ? .take : .collect(upTo: 1 << 20))
    }

    /// Keeps the bytes.
    public func receive(_ chunk: Data) async throws {
        state.withLock { $0.chunks.append(chunk) }
    }

    /// Notes that the body is complete.
    public func finish() async throws {
        state.withLock { $0.finished += 1 }
    }

    /// Notes the error.
    public func fail(_ error: any Error) {
        state.withLock { $0.failures.append(error) }
    }

    private struct State {
        var chunks: [Data] = []
        var heads: [HTTPResponse] = []
        var finished = 0
        var failures: [any Error] = []
    }
}
