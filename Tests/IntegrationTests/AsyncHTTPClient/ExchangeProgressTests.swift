#if AsyncHTTPClient
import HTTPTypes
import Networking
@testable import NetworkingAsyncHTTPClient
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// The limit of silence of AsyncHTTPClient, with the watch of the core that `timeout` uses too.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct ExchangeProgressTests {
    private let clock = ManualClock()
    private let journal = Journal()

    /// Runs an exchange with a limit of ten seconds of silence, and returns whether it ended because of that.
    private func isSilent(during work: (ExchangeProgress) -> Void) async throws -> Bool {
        let silence = PhaseWatch(limits: TimeLimits(idle: .seconds(10)), clock: .manual(clock))
        do {
            _ = try await silence.limiting(HTTPRequestData(authority: "example.com")) { [journal] request in
                let limit = try #require(request.exchangeLimit)
                let progress = ExchangeProgress(of: request, silence: silence)
                let alarm = limit.alarm { journal.note("silent") }
                defer { alarm.cancel() }
                work(progress)
                guard !limit.isReached else { throw CancellationError() }
                return HTTPResponseData(request: request)
            }
            #expect(journal.entries.isEmpty)
            return false
        } catch let expiry as PhaseWatch.Expiry {
            #expect(expiry.underlying == nil)
            return true
        }
    }

    private func advance(_ seconds: Int) {
        clock.advance(by: .seconds(seconds))
    }

    @Test func reportsSilenceOnce() async throws {
        #expect(try await !isSilent { _ in advance(9) })
        #expect(
            try await isSilent { _ in
                advance(10)
                advance(100)
            }
        )
        #expect(journal.entries == ["silent"])
        #expect(clock.sleepers == 0)
    }

    @Test(arguments: ["connect", "send", "head", "body"])
    func progressRestartsTheSilenceLimit(what: String) async throws {
        func move(_ progress: ExchangeProgress) {
            advance(9)
            switch what {
            case "connect": progress.connect()
            case "send": progress.send(1)
            case "head": progress.receive(HTTPResponse(status: .ok), expecting: nil)
            default: progress.receive(1)
            }
            advance(9)
        }
        #expect(try await !isSilent { move($0) })
        #expect(
            try await isSilent {
                move($0)
                advance(1)
            }
        )
    }

    /// Time that the sink takes does not count as silence of the network.
    @Test func busySinkDoesNotCountAsSilence() async throws {
        func work(_ progress: ExchangeProgress) {
            progress.sinkIs(busy: true)
            advance(1_000)
            progress.sinkIs(busy: false)
            advance(9)
        }
        #expect(try await !isSilent { work($0) })
        #expect(
            try await isSilent {
                work($0)
                advance(10)
            }
        )
    }

    /// Reads the state of an exchange at each call.
    private final class ReadingObserver: NetworkEventObserver {
        let progress = Mutex<ExchangeProgress?>(nil)
        let calls = Atomic(0)

        func call() {
            if progress.withLock({ $0 })?.head == nil {
                calls.add(1, ordering: .relaxed)
            }
        }

        func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
            call()
        }
    }

    @Test func observersMayReadTheProgress() {
        let observer = ReadingObserver()
        var request = HTTPRequestData(authority: "example.com")
        request.addObserver(observer)
        request.progressHandler = { _ in observer.call() }
        let progress = ExchangeProgress(of: request, silence: nil)
        observer.progress.withLock { $0 = progress }
        progress.connect()
        #expect(observer.calls.load(ordering: .relaxed) == 1)
        progress.receive(1)
        #expect(observer.calls.load(ordering: .relaxed) == 2)
        observer.progress.withLock { $0 = nil }
    }
}
#endif
