#if AsyncHTTPClient
import HTTPTypes
import Networking
@testable import NetworkingAsyncHTTPClient
import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5)))
struct TransferWatchTests {
    private final class Silences: Sendable {
        let count = Atomic(0)
    }

    private let eventLoop = NIOAsyncTestingEventLoop()
    private let silences = Silences()

    private func watch() -> TransferWatch {
        var request = HTTPRequestData(authority: "example.com")
        request.transportPatience = .seconds(10)
        return TransferWatch(of: request, on: eventLoop)
    }

    private var isSilent: Bool {
        silences.count.load(ordering: .relaxed) > 0
    }

    private func advance(_ seconds: Int64) async {
        await eventLoop.advanceTime(by: .seconds(seconds))
    }

    @Test func silenceIsToldOnce() async {
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
    func whatMovesIsNotSilent(what: String) async {
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

    /// What the sink takes its time for is not the network's.
    @Test func aBusySinkIsNotSilence() async {
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

    @Test func nothingIsToldOnceItIsOver() async {
        let watch = watch()
        watch.start { [silences] in silences.count.add(1, ordering: .relaxed) }
        watch.stop()
        await advance(100)
        #expect(!isSilent)
        #expect(watch.silence == nil)
    }
}
#endif
