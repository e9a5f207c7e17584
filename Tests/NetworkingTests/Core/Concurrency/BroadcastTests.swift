import Foundation
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingCore

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct BroadcastTests {
    @Test func eachReaderReceivesEveryElementInOrder() async {
        let broadcast = Broadcast<Int>()
        let (first, second) = (broadcast.elements(), broadcast.elements())
        for element in 1...100 { broadcast.publish(element) }
        broadcast.finish()
        #expect(await first.collected == Array(1...100))
        #expect(await second.collected == Array(1...100))
        #expect(broadcast.readers == 0)
    }

    @Test func elementsOfConcurrentPublishersAreInTheSameOrderForAllReaders() async {
        let broadcast = Broadcast<Int>()
        let streams = (0..<4).map { _ in broadcast.elements() }
        await withTaskGroup { group in
            for publisher in 0..<8 {
                group.addTask {
                    for element in 0..<200 { broadcast.publish(publisher * 200 + element) }
                }
            }
        }
        broadcast.finish()
        let first = await streams[0].collected
        #expect(first.sorted() == Array(0..<1_600))
        for stream in streams.dropFirst() {
            #expect(await stream.collected == first)
        }
    }

    @Test func readersComeAndGoWhileElementsArePublished() async {
        let broadcast = Broadcast<Int>(repeatsLatest: true)
        await withTaskGroup { group in
            for publisher in 0..<4 {
                group.addTask {
                    for element in 0..<500 { broadcast.publish(publisher * 500 + element) }
                }
            }
            for reader in 0..<40 {
                group.addTask {
                    let reading = Task {
                        for await _ in broadcast.elements() where !reader.isMultiple(of: 3) { return }
                    }
                    if reader.isMultiple(of: 2) { reading.cancel() }
                    await reading.value
                }
            }
            await Task.yield()
            broadcast.finish()
        }
        #expect(broadcast.readers == 0)
    }

    /// The cancellation of a task holds the task while it runs its handlers, and an element that is published waits for
    /// the task of a reader.
    @Test func readerIsCancelledWhileAnElementIsPublished() async throws {
        for _ in 1...50 {
            let broadcast = Broadcast<Int>()
            let received = Locked(0)
            let reading = Task {
                for await _ in broadcast.elements() { received.withLock { $0 += 1 } }
            }
            try await eventually("the reader reads") { broadcast.readers == 1 }
            broadcast.publish(1)
            try await eventually("it has received an element") { received.withLock { $0 } == 1 }
            let isPublished = Locked(false)
            let isPublishing = Locked(false)
            Thread.detachNewThread {
                broadcast.publish(2) { _ in
                    isPublishing.withLock { $0 = true }
                    while !reading.isCancelled {}
                    return true
                }
                isPublished.withLock { $0 = true }
            }
            try await eventually("the element is being published") { isPublishing.withLock { $0 } }
            Thread.detachNewThread { reading.cancel() }
            try await eventually("it is published") { isPublished.withLock { $0 } }
            await reading.value
            #expect(broadcast.readers == 0)
        }
    }

    @Test func laterReaderReceivesOnlyLaterElements() async {
        let broadcast = Broadcast<Int>()
        broadcast.publish(1)
        let stream = broadcast.elements()
        broadcast.publish(2)
        broadcast.finish()
        #expect(await stream.collected == [2])
        #expect(broadcast.latest == nil)
    }

    @Test func laterReaderFirstReceivesTheLatestElementIfItIsKept() async {
        let broadcast = Broadcast<Int>(latest: 0, repeatsLatest: true)
        broadcast.publish(1)
        let stream = broadcast.elements()
        broadcast.publish(2)
        broadcast.finish()
        #expect(await stream.collected == [1, 2])
        #expect(await broadcast.elements().collected == [2])
    }

    @Test func conditionSeesTheLatestElement() async {
        let broadcast = Broadcast<Int>(repeatsLatest: true)
        let stream = broadcast.elements()
        for element in [1, 1, 2, 2, 1] {
            broadcast.publish(element) { $0 != element }
        }
        broadcast.finish()
        #expect(await stream.collected == [1, 2, 1])
    }

    @Test func nothingIsPublishedAfterTheEnd() async {
        let broadcast = Broadcast<Int>(repeatsLatest: true)
        broadcast.publish(1)
        broadcast.finish()
        broadcast.publish(2)
        #expect(broadcast.latest == 1)
    }

    @Test func streamRetainsItsOwnerUntilItsReaderEnds() async {
        final class Owner: Sendable {}
        let broadcast = Broadcast<Int>()
        weak var weakOwner: Owner?
        let reading: Task<Void, Never>
        do {
            let owner = Owner()
            weakOwner = owner
            let stream = broadcast.elements(retaining: owner)
            reading = Task { for await _ in stream {} }
        }
        #expect(weakOwner != nil)
        #expect(broadcast.readers == 1)
        reading.cancel()
        await reading.value
        #expect(weakOwner == nil)
        #expect(broadcast.readers == 0)
    }
}

extension AsyncStream {
    fileprivate var collected: [Element] {
        get async {
            var elements: [Element] = []
            for await element in self { elements.append(element) }
            return elements
        }
    }
}
