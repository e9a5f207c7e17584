import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// The order of progress reports to their handlers.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct TransferReportsTests {
    private func received(_ count: Int64) -> TransferProgress {
        TransferProgress(received: BytesReceived(count: count, expected: nil))
    }

    @Test func handlerMayCauseAnotherReport() async throws {
        let audience = Audience()
        let handler = Mutex<(@Sendable (TransferProgress) -> Void)?>(nil)
        let receivedCounts = Mutex<[Int64]>([])
        let request = HTTPRequestData.lawful.with { [self] in
            $0.progressHandler = { [self] progress in
                receivedCounts.withLock { $0.append(progress.received.count) }
                if progress.received.count == 1 {
                    // The report is not delivered within this call, because the handler would then run twice at once.
                    handler.withLock { $0 }?(received(2))
                    #expect(receivedCounts.withLock { $0 } == [1])
                }
            }
        }
        let listener = audience.add(request)
        let report = try #require(audience.observing(request).progressHandler)
        handler.withLock { $0 = report }
        report(received(1))
        await listener.settle()
        #expect(receivedCounts.withLock { $0 } == [1, 2])
        audience.remove(listener)
        report(received(3))
        await listener.settle()
        #expect(receivedCounts.withLock { $0 } == [1, 2])
    }

    /// Joins and leaves an audience in each call.
    private final class JoiningObserver: NetworkEventObserver {
        let audience: Audience
        let calls = Atomic(0)

        init(_ audience: Audience) {
            self.audience = audience
        }

        private func call() {
            audience.remove(audience.add(.lawful))
            calls.add(1, ordering: .relaxed)
        }

        func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
            call()
        }

        func headerFields(forAttempt request: HTTPRequestData) -> HTTPFields {
            call()
            return [:]
        }
    }

    /// Notes the requests of the events, and has a field for each attempt.
    private final class NotingObserver: NetworkEventObserver {
        private let name: String
        private let journal: Journal

        init(_ name: String, in journal: Journal) {
            self.name = name
            self.journal = journal
        }

        func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
            journal.note("\(name): \(request.headerFields[.accept] ?? "nothing")")
        }

        func headerFields(forAttempt request: HTTPRequestData) -> HTTPFields {
            [.accept: name]
        }
    }

    @Test func callersAreNotifiedInTheOrderInWhichTheyJoined() {
        let audience = Audience()
        let journal = Journal()
        let names = (10...29).map(String.init)
        let listeners = names.map { name in
            audience.add(HTTPRequestData.lawful.with { $0.addObserver(NotingObserver(name, in: journal)) })
        }
        // Each caller receives the report with the fields of the shared exchange.
        audience.observe(ExchangeEvent.connected, of: .lawful.with { $0.headerFields[.accept] = "text/plain" })
        #expect(journal.entries == names.map { "\($0): text/plain" })
        #expect(audience.headerFields(forAttempt: .lawful) == [.accept: "10"])
        audience.remove(listeners[0])
        #expect(audience.headerFields(forAttempt: .lawful) == [.accept: "11"])
    }

    @Test func callerThatJoinsReceivesTheProgressSoFar() async {
        let audience = Audience()
        audience.observing(.lawful).progressHandler?(received(3))
        let receivedCounts = Mutex<[Int64]>([])
        let request = HTTPRequestData.lawful.with { request in
            request.progressHandler = { progress in receivedCounts.withLock { $0.append(progress.received.count) } }
        }
        await audience.add(request).settle()
        #expect(receivedCounts.withLock { $0 } == [3])
    }

    @Test func observersMayJoinAndLeaveASharedExchange() {
        let audience = Audience()
        let observer = JoiningObserver(audience)
        let listener = audience.add(HTTPRequestData.lawful.with { $0.addObserver(observer) })
        audience.observe(ExchangeEvent.connected, of: .lawful)
        #expect(observer.calls.load(ordering: .relaxed) == 1)
        #expect(audience.headerFields(forAttempt: .lawful).isEmpty)
        #expect(observer.calls.load(ordering: .relaxed) == 2)
        audience.remove(listener)
    }

    @Test func reportsFromManyThreadsAreSerialAndInOrder() async {
        let receivedCounts = Mutex<[Int64]>([])
        let running = Mutex(0)
        let reports = OrderedReports { progress in
            #expect(
                running.withLock {
                    $0 += 1
                    return $0
                } == 1
            )
            receivedCounts.withLock { $0.append(progress.received.count) }
            running.withLock { $0 -= 1 }
        }
        await withTaskGroup { group in
            for number in 1...1_000 {
                group.addTask { [self] in reports.report(received(Int64(number)), number) }
            }
        }
        let counts = receivedCounts.withLock { $0 }
        #expect(counts == counts.sorted())
        #expect(counts.last == 1_000)
        reports.stop()
        reports.report(received(2_000), 2_000)
        #expect(receivedCounts.withLock { $0.last } == 1_000)
    }
}
