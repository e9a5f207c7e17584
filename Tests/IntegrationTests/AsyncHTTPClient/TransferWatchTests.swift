#if AsyncHTTPClient
import HTTPTypes
import Networking
@testable import NetworkingAsyncHTTPClient
import NIOCore
import NIOEmbedded
import Synchronization
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(5)))
struct TransferWatchTests {
    private final class Silences: Sendable {
        let count = Atomic(0)
    }

    private let eventLoop = NIOAsyncTestingEventLoop()
    private let silences = Silences()

    private func watch() -> TransferWatch {
        var request = HTTPRequestData(authority: "example.com")
        request.allowedSilence = .seconds(10)
        return TransferWatch(of: request, on: eventLoop)
    }

    private var isSilent: Bool {
        silences.count.load(ordering: .relaxed) > 0
    }

    private func advance(_ seconds: Int64) async {
        await eventLoop.advanceTime(by: .seconds(seconds))
    }

    @Test func reportsSilenceOnce() async {
        let watch = watch()
        watch.start { [silences] in silences.count.add(1, ordering: .relaxed) }
        await advance(9)
        #expect(!isSilent)
        #expect(watch.silence == nil)
        await advance(1)
        #expect(isSilent)
        #expect(watch.silence?.limit == .seconds(10))
        await advance(100)
        #expect(silences.count.load(ordering: .relaxed) == 1)
    }

    @Test(arguments: ["connect", "send", "head", "body"])
    func progressRestartsTheSilenceLimit(what: String) async {
        let watch = watch()
        watch.start { [silences] in silences.count.add(1, ordering: .relaxed) }
        await advance(9)
        switch what {
        case "connect": watch.connect()
        case "send": watch.send(1)
        case "head": watch.receive(HTTPResponse(status: .ok), expecting: nil)
        default: watch.receive(1)
        }
        await advance(9)
        #expect(!isSilent)
        await advance(1)
        #expect(isSilent)
    }

    /// Time that the sink takes does not count as silence of the network.
    @Test func busySinkDoesNotCountAsSilence() async {
        let watch = watch()
        watch.start { [silences] in silences.count.add(1, ordering: .relaxed) }
        watch.isSinkBusy = true
        await advance(1_000)
        #expect(!isSilent)
        watch.isSinkBusy = false
        await advance(9)
        #expect(!isSilent)
        await advance(10)
        #expect(isSilent)
    }

    /// Reads the state of a watch at each call.
    private final class ReadingObserver: NetworkEventObserver {
        let watch = Mutex<TransferWatch?>(nil)
        let calls = Atomic(0)

        func call() {
            if watch.withLock({ $0 })?.head == nil {
                calls.add(1, ordering: .relaxed)
            }
        }

        func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
            call()
        }
    }

    @Test func observersMayReadTheWatch() {
        let observer = ReadingObserver()
        var request = HTTPRequestData(authority: "example.com")
        request.addObserver(observer)
        request.progressHandler = { _ in observer.call() }
        let watch = TransferWatch(of: request, on: eventLoop)
        observer.watch.withLock { $0 = watch }
        watch.connect()
        #expect(observer.calls.load(ordering: .relaxed) == 1)
        watch.receive(1)
        #expect(observer.calls.load(ordering: .relaxed) == 2)
        observer.watch.withLock { $0 = nil }
    }

    @Test func completedTransferReportsNoSilence() async {
        let watch = watch()
        watch.start { [silences] in silences.count.add(1, ordering: .relaxed) }
        watch.stop()
        await advance(100)
        #expect(!isSilent)
        #expect(watch.silence == nil)
    }
}
#endif
