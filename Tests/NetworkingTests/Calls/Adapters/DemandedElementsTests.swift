import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCalls

/// The part of `publisher()` that does not need Combine.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct DemandedElementsTests {
    private struct Broken: Error {}

    /// The elements that the receiver got, and the end.
    private struct Log {
        var elements: [Int] = []
        var ends: [(any Error)?] = []
    }

    private let log = Locked(Log())

    /// Returns a reading whose receiver demands some more elements after each one.
    private func reading(demandingAfterEach demand: Int? = 0) -> DemandedElements<Int> {
        DemandedElements { [log] element in
            log.withLock { $0.elements.append(element) }
            return demand
        } complete: { [log] error in
            log.withLock { $0.ends.append(error) }
        }
    }

    /// Returns a stream that stays open, its source, and whether its iteration has ended.
    private func openStream() -> (
        stream: AsyncThrowingStream<Int, any Error>,
        source: AsyncThrowingStream<Int, any Error>.Continuation,
        isTerminated: Locked<Bool>
    ) {
        let (stream, source) = AsyncThrowingStream.makeStream(of: Int.self)
        let isTerminated = Locked(false)
        source.onTermination = { _ in isTerminated.withLock { $0 = true } }
        return (stream, source, isTerminated)
    }

    private func numbers(_ count: Int) -> AsyncThrowingStream<Int, any Error> {
        AsyncThrowingStream { stream in
            for number in 0..<count {
                stream.yield(number)
            }
            stream.finish()
        }
    }

    @Test func passesOnlyAsManyElementsAsAreDemanded() async throws {
        let reading = reading()
        reading.start(numbers(5))
        #expect(log.value.elements.isEmpty)
        reading.demand(2)
        try await eventually("two elements are passed") { log.value.elements.count >= 2 }
        reading.demand(0)
        #expect(log.value.elements == [0, 1])
        reading.demand(1)
        try await eventually("a third element is passed") { log.value.elements.count >= 3 }
        #expect(log.value.elements == [0, 1, 2])
        #expect(log.value.ends.isEmpty)
        reading.demand(nil)
        try await eventually("the end is passed") { log.value.ends.count == 1 }
        #expect(log.value.elements == [0, 1, 2, 3, 4])
        #expect(log.value.ends.first.flatMap(\.self) == nil)
    }

    @Test func demandOfTheReceiverCounts() async throws {
        let reading = reading(demandingAfterEach: 1)
        reading.start(numbers(5))
        reading.demand(1)
        try await eventually("the end is passed") { log.value.ends.count == 1 }
        #expect(log.value.elements == [0, 1, 2, 3, 4])
    }

    @Test func demandBeforeTheStartCounts() async throws {
        let reading = reading()
        reading.demand(.max)
        reading.demand(.max)
        reading.start(numbers(3))
        try await eventually("the end is passed") { log.value.ends.count == 1 }
        #expect(log.value.elements == [0, 1, 2])
    }

    @Test func emptySequenceEndsWithoutDemand() async throws {
        let reading = reading()
        reading.start(numbers(0))
        try await eventually("the end is passed") { log.value.ends.count == 1 }
    }

    @Test func failureIsPassedAfterTheElements() async throws {
        let (stream, source) = AsyncThrowingStream.makeStream(of: Int.self)
        let reading = reading()
        reading.start(stream)
        reading.demand(nil)
        source.yield(7)
        source.finish(throwing: Broken())
        try await eventually("the end is passed") { log.value.ends.count == 1 }
        #expect(log.value.elements == [7])
        #expect(log.value.ends.first.flatMap(\.self) is Broken)
    }

    @Test func cancelEndsTheIterationWithoutAnEnd() async throws {
        let (stream, source, isTerminated) = openStream()
        let reading = reading()
        reading.start(stream)
        reading.demand(nil)
        source.yield(7)
        try await eventually("the element is passed") { log.value.elements == [7] }
        reading.cancel()
        try await eventually("the iteration has ended") { isTerminated.value }
        source.yield(8)
        #expect(log.value.elements == [7])
        #expect(log.value.ends.isEmpty)
    }

    @Test func cancelWhileNoElementIsDemandedEndsTheIteration() async throws {
        let (stream, source, isTerminated) = openStream()
        let reading = reading()
        reading.start(stream)
        source.yield(7)
        reading.cancel()
        try await eventually("the iteration has ended") { isTerminated.value }
        #expect(log.value.elements.isEmpty)
        #expect(log.value.ends.isEmpty)
    }

    @Test func readingThatIsCancelledBeforeItsStartPassesNothing() async throws {
        let (stream, source, isTerminated) = openStream()
        let reading = reading()
        reading.demand(nil)
        reading.cancel()
        source.yield(7)
        reading.start(stream)
        try await eventually("the iteration has ended") { isTerminated.value }
        #expect(log.value.elements.isEmpty)
        #expect(log.value.ends.isEmpty)
    }
}
