import HTTPTypes
import NetworkingCore
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A sink that keeps a copy of what goes into another, for the cache: as much as an entry may have, and nothing past
/// that.
final class CacheTee: ForwardingSink {
    private struct State {
        /// What has been copied; nil when there is nothing to keep.
        var copy: Data?
        var isComplete = false
        var hasTaken = false
        var hasWithheld = false
    }

    let sink: any ResponseSink
    private let limit: Int
    /// Whether a response with this head may be kept.
    private let keeps: @Sendable (HTTPResponse) -> Bool
    /// Whether a response with this head is for the cache, which answers with another.
    private let withholds: @Sendable (HTTPResponse) -> Bool
    private let state = Mutex(State())

    init(
        _ sink: any ResponseSink,
        limit: Int,
        keeps: @escaping @Sendable (HTTPResponse) -> Bool,
        withholds: @escaping @Sendable (HTTPResponse) -> Bool
    ) {
        self.sink = sink
        self.limit = limit
        self.keeps = keeps
        self.withholds = withholds
    }

    /// The whole body that went past; nil when it did not, was cut off or is too long.
    var body: Data? {
        state.withLock { $0.isComplete ? $0.copy : nil }
    }

    /// Whether the last head was kept from the other sink.
    var hasWithheld: Bool {
        state.withLock { $0.hasWithheld }
    }

    /// Whether the other sink could take another body from the start.
    var canTakeAnother: Bool {
        sink.canRestart || state.withLock { !$0.hasTaken }
    }

    func offer(_ head: HTTPResponse) async throws -> SinkAnswer {
        state.withLock { state in
            state.copy = nil
            state.isComplete = false
        }
        // As much as any sink has collected of what it does not want.
        let isWithheld = withholds(head)
        state.withLock { $0.hasWithheld = isWithheld }
        if isWithheld { return .collect(upTo: 1 << 20) }
        let answer = try await sink.offer(head)
        if answer == .take {
            let isKept = keeps(head)
            state.withLock { state in
                state.hasTaken = true
                state.copy = isKept ? Data() : nil
            }
        }
        return answer
    }

    func receive(_ chunk: Data) async throws {
        state.withLock { state in
            let isWithinLimit = (state.copy?.count ?? 0) + chunk.count <= limit
            if isWithinLimit {
                state.copy?.append(chunk)
            } else {
                state.copy = nil
            }
        }
        try await sink.receive(chunk)
    }

    func finish() async throws {
        try await sink.finish()
        state.withLock { $0.isComplete = true }
    }

    func fail(_ error: any Error) {
        state.withLock { $0.copy = nil }
        sink.fail(error)
    }
}
