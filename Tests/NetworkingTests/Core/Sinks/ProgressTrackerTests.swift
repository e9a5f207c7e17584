import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingCore
@testable import NetworkingTransfers

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct ProgressTrackerTests {
    private func received(_ count: Int64, of expected: Int64?) -> TransferProgress {
        TransferProgress(received: BytesReceived(count: count, expected: expected))
    }

    @Test func addsUpTheProgressOfItsRequests() {
        let tracker = ProgressTracker()
        #expect(tracker.overall.fractionCompleted == nil)
        let (one, other) = (HTTPRequestData().id, HTTPRequestData().id)
        tracker.update(received(10, of: 100), for: one)
        #expect(tracker.overall.fractionCompleted == 0.1)
        tracker.update(received(160, of: 300), for: other)
        #expect(tracker.overall == BytesReceived(count: 170, expected: 400))
        tracker.update(received(100, of: 100), for: one)
        #expect(tracker.overall.fractionCompleted == 0.65)
        tracker.remove(other)
        #expect(tracker.overall.fractionCompleted == 1)
        tracker.remove(one)
        #expect(tracker.overall.fractionCompleted == nil)
    }

    @Test func totalIsUnknownWhileOneLengthIsUnknown() {
        let tracker = ProgressTracker()
        tracker.update(received(10, of: 100), for: HTTPRequestData().id)
        tracker.update(received(10, of: nil), for: HTTPRequestData().id)
        #expect(tracker.overall == BytesReceived(count: 20, expected: nil))
        #expect(tracker.overall.fractionCompleted == nil)
    }

    @Test func separatesSentAndReceivedBytes() {
        let tracker = ProgressTracker()
        tracker.update(
            TransferProgress(sent: BytesSent(count: 1, expected: 2), received: BytesReceived(count: 3, expected: 4)),
            for: HTTPRequestData().id
        )
        #expect(tracker.progress.sent == BytesSent(count: 1, expected: 2))
        #expect(tracker.overall == BytesReceived(count: 3, expected: 4))
    }

    /// The server chooses the announced length of a body.
    @Test func overflowingLengthsDoNotCrash() {
        let tracker = ProgressTracker()
        for _ in 0..<3 {
            tracker.update(received(1, of: .max), for: HTTPRequestData().id)
        }
        #expect(tracker.overall == BytesReceived(count: 3, expected: .max))
    }

    /// A body may be refused by its sink, be answered early, or be reported without its last bytes.
    @Test(
        arguments: [
            TransferProgress(sent: BytesSent(count: 3, expected: 10), received: BytesReceived(count: 5, expected: 100)),
            TransferProgress(sent: BytesSent(count: 0, expected: 10), received: BytesReceived(count: 0, expected: nil)),
            TransferProgress(sent: BytesSent(count: 7), received: BytesReceived(count: 9, expected: 9)),
        ]
    )
    func successfulCallIsComplete(last: TransferProgress) async throws {
        let tracker = ProgressTracker()
        let network = MockTransport { request in
            request.progressHandler?(last)
            return .ok()
        }
        try await network.data(.lawful, trackedBy: tracker)
        let id = HTTPRequestData().id
        tracker.update(last, for: id)
        tracker.finish(id)
        #expect(tracker.progress.sent.fractionCompleted == 1)
        #expect(tracker.progress.received.fractionCompleted == 1)
        #expect(tracker.progress.fraction == 1)
    }

    @Test func trackedCallReportsToItsOwnHandlerToo() async throws {
        let tracker = ProgressTracker()
        let reported = Mutex(0)
        let network = MockTransport { _ in .text("Hello") }
        try await network.data(.lawful, trackedBy: tracker) { progress in
            reported.withLock { $0 = Int(progress.received.count) }
        }
        #expect(reported.withLock { $0 } == 5)
        #expect(tracker.progress.received.count == 5)
    }

    @Test func lateReportDoesNotRestoreAFinishedCall() async throws {
        struct Broken: Error {}
        let tracker = ProgressTracker()
        let late = Mutex<(@Sendable (TransferProgress) -> Void)?>(nil)
        let network = MockTransport { request in
            late.withLock { $0 = request.progressHandler }
            throw Broken()
        }
        await #expect(throws: Broken.self) {
            try await network.data(HTTPRequestData(authority: "example.com"), trackedBy: tracker)
        }
        late.withLock { $0 }?(received(5, of: 10))
        #expect(tracker.progress == TransferProgress())
    }

    @Test func tracksCalls() async throws {
        let tracker = ProgressTracker()
        let transport = MockTransport { _ in .text("12345").inSteps(5) }
        let receivedCounts = Mutex<[Int64]>([])
        var first = HTTPRequestData(method: .post, authority: "example.com", body: .data(Data([1, 2])))
        first.progressHandler = { progress in receivedCounts.withLock { $0.append(progress.received.count) } }
        try await transport.data(first, trackedBy: tracker)
        #expect(tracker.overall == BytesReceived(count: 5, expected: 5))
        #expect(tracker.progress.sent == BytesSent(count: 2, expected: 2))
        // The handler of the request is called too.
        #expect(receivedCounts.withLock { $0 } == [0, 0, 1, 2, 3, 4, 5])
        try await transport.data(HTTPRequestData(authority: "example.com"), trackedBy: tracker)
        #expect(tracker.overall == BytesReceived(count: 10, expected: 10))
        #expect(tracker.overall.fractionCompleted == 1)
    }

    @Test func countsACallFromItsStart() async throws {
        let tracker = ProgressTracker()
        let seen = Mutex<BytesReceived?>(nil)
        let transport = MockTransport { _ in
            seen.withLock { $0 = tracker.overall }
            return .ok()
        }
        try await transport.data(HTTPRequestData(authority: "example.com"), trackedBy: tracker)
        #expect(seen.withLock { $0 } == BytesReceived(count: 0, expected: nil))
    }

    @Test func forgetsACallThatFails() async {
        let tracker = ProgressTracker()
        tracker.update(received(1, of: 2), for: HTTPRequestData().id)
        let transport = MockTransport([.failure(URLError(.timedOut))])
        await #expect(throws: URLError.self) {
            try await transport.data(HTTPRequestData(authority: "example.com"), trackedBy: tracker)
        }
        #expect(tracker.overall == BytesReceived(count: 1, expected: 2))
    }

    @Test func countsTwoCallsOfOneRequestTwice() async throws {
        let tracker = ProgressTracker()
        let request = HTTPRequestData(authority: "example.com")
        let transport = MockTransport { _ in .text("12345") }
        try await transport.data(request, trackedBy: tracker)
        try await transport.data(request, trackedBy: tracker)
        #expect(tracker.overall == BytesReceived(count: 10, expected: 10))
    }

    @Test func keepsOnlyTheBytesOfAFinishedCall() async throws {
        let tracker = ProgressTracker()
        let transport = MockTransport { _ in .text("12345") }
        for _ in 0..<1_000 {
            try await transport.data(HTTPRequestData(authority: "example.com"), trackedBy: tracker)
        }
        #expect(tracker.count == 0)
        #expect(tracker.overall == BytesReceived(count: 5_000, expected: 5_000))
        tracker.update(received(1, of: 100), for: HTTPRequestData().id)
        #expect(tracker.count == 1)
        #expect(tracker.overall == BytesReceived(count: 5_001, expected: 5_100))
    }

    @Test func longLivedGroupReleasesFinishedTransfers() async throws {
        let group = TransferGroup()
        let transport = MockTransport { _ in .text("12345") }
        for _ in 0..<100 {
            let request = HTTPRequestData(authority: "example.com")
            _ = try await transport.transfer(uploading: .data(Data("123".utf8)), to: request, in: group).value
        }
        try await eventually("group.count == 0") { group.count == 0 }
        #expect(group.tracker.count == 0)
        #expect(group.progress.sent.count == 300)
        #expect(group.progress.received.fractionCompleted == 1)
    }

    @Test func finishedRequestCountsItsTransferredBytes() {
        let tracker = ProgressTracker()
        let id = HTTPRequestData().id
        tracker.update(received(10, of: nil), for: id)
        #expect(tracker.overall.expected == nil)
        tracker.finish(id)
        tracker.finish(id)
        tracker.remove(id)
        #expect(tracker.count == 0)
        #expect(tracker.overall == BytesReceived(count: 10, expected: 10))
    }
}
