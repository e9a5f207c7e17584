#if canImport(Combine)
import Combine
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// `publisher()`; the state machine behind it is tested on every platform by `DemandedElementsTests`.
@Suite(.timeLimit(.minutes(20)))
struct CombineTests {
    private struct Broken: Error {}

    private func numbers(_ count: Int, failure: (any Error)? = nil) -> AsyncThrowingStream<Int, any Error> {
        AsyncThrowingStream { stream in
            for number in 0..<count {
                stream.yield(number)
            }
            stream.finish(throwing: failure)
        }
    }

    @Test func passesAllElementsAndTheEnd() async throws {
        let reader = Reader(first: .unlimited)
        numbers(3).publisher().receive(subscriber: reader)
        try await eventually("the end is passed") { reader.ends == ["finished"] }
        #expect(reader.elements == [0, 1, 2])
    }

    @Test func passesOnlyAsManyElementsAsAreDemanded() async throws {
        let reader = Reader(first: .max(1))
        numbers(3).publisher().receive(subscriber: reader)
        try await eventually("one element is passed") { reader.elements == [0] }
        #expect(reader.ends.isEmpty)
        reader.demand(.max(2))
        try await eventually("the end is passed") { reader.ends == ["finished"] }
        #expect(reader.elements == [0, 1, 2])
    }

    @Test func passesTheFailureOfTheSequence() async throws {
        let reader = Reader(first: .unlimited)
        numbers(1, failure: Broken()).publisher().receive(subscriber: reader)
        try await eventually("the failure is passed") { reader.ends == ["Broken()"] }
        #expect(reader.elements == [0])
    }

    @Test func cancelEndsTheIterationWithoutAnEnd() async throws {
        let (stream, source) = AsyncThrowingStream.makeStream(of: Int.self, throwing: (any Error).self)
        let isTerminated = Locked(false)
        source.onTermination = { _ in isTerminated.withLock { $0 = true } }
        let reader = Reader(first: .unlimited)
        stream.publisher().receive(subscriber: reader)
        source.yield(7)
        try await eventually("the element is passed") { reader.elements == [7] }
        reader.cancel()
        try await eventually("the iteration has ended") { isTerminated.value }
        #expect(reader.ends.isEmpty)
    }
}

/// A subscriber that records what it receives.
private final class Reader: Subscriber, @unchecked Sendable {
    typealias Input = Int
    typealias Failure = any Error

    private let first: Subscribers.Demand
    private let log = Locked<(elements: [Int], ends: [String])>((elements: [], ends: []))
    private let held = Locked<Held?>(nil)

    // Combine does not mark subscriptions as Sendable. They may be used on any thread.
    private struct Held: @unchecked Sendable {
        let subscription: any Subscription
    }

    init(first: Subscribers.Demand) {
        self.first = first
    }

    var elements: [Int] {
        log.withLock { $0.elements }
    }

    var ends: [String] {
        log.withLock { $0.ends }
    }

    func demand(_ demand: Subscribers.Demand) {
        held.value?.subscription.request(demand)
    }

    func cancel() {
        held.value?.subscription.cancel()
    }

    func receive(subscription: any Subscription) {
        held.withLock { $0 = Held(subscription: subscription) }
        subscription.request(first)
    }

    func receive(_ input: Int) -> Subscribers.Demand {
        log.withLock { $0.elements.append(input) }
        return .none
    }

    func receive(completion: Subscribers.Completion<any Error>) {
        switch completion {
        case .finished: log.withLock { $0.ends.append("finished") }
        case .failure(let error): log.withLock { $0.ends.append("\(error)") }
        }
    }
}
#endif
