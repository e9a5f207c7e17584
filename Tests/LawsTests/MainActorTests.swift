import Foundation
import Networking
import NetworkingTesting
import Synchronization
import Testing

/// A call that comes from an actor stays there: a hop off and back costs more than the rest of a stack.
@Suite(.timeLimit(.minutes(5)))
struct MainActorTests {
    @MainActor
    @Test(arguments: LawfulModifier.onTheCallersActor)
    func callFromTheMainActorReachesTheTransportThere(modifier: LawfulModifier) async throws {
        let probe = IsolationProbe()
        let network = modifier.wrap(AnyNetworkingComponent(probe)).environment(\.clock, .immediate())

        let thread = currentThread()

        try await network.data(HTTPRequestData(authority: "api.example.com"))

        // The main actor need not run on the main thread (on Linux it does not), but without a hop on one thread only.
        #expect(currentThread() == thread)
        let seen = try #require(probe.seen)
        #expect(seen.actor === MainActor.shared)
        #expect(seen.thread == thread)
    }

    @MainActor
    @Test func callThroughAMockTransportReachesItsAnswerThere() async throws {
        let journal = Journal()
        let network = MockTransport { _ in
            journal.note("\(currentThread())")
            return .ok()
        }

        try await network.logged(using: .silent).data(HTTPRequestData(authority: "api.example.com"))

        #expect(journal.entries == ["\(currentThread())"])
    }

    /// An actor whose executor counts would see the way back of any hop as one more job.
    @Test(arguments: LawfulModifier.onTheCallersActor)
    func callHopsNowhere(modifier: LawfulModifier) async throws {
        let network = modifier.wrap(AnyNetworkingComponent(IsolationProbe())).environment(\.clock, .immediate())

        #expect(try await CountingActor().jobs(during: network) == 0)
    }

    @Test func wholeStackHopsNowhere() async throws {
        let stack = LawfulModifier.onTheCallersActor.reduce(AnyNetworkingComponent(MockTransport { _ in .ok() })) {
            $1.wrap($0)
        }

        #expect(try await CountingActor().jobs(during: stack.environment(\.clock, .immediate())) == 0)
    }
}

// MARK: - Parts

private func currentThread() -> ObjectIdentifier {
    ObjectIdentifier(Thread.current)
}

/// A transport that notes where it runs.
private final class IsolationProbe: NetworkingComponent {
    struct Sighting {
        let actor: (any Actor)?
        let thread: ObjectIdentifier
    }

    private let state = Mutex<Sighting?>(nil)

    var seen: Sighting? {
        state.withLock { $0 }
    }

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        note(#isolation)
        return HTTPResponseData(request: request)
    }

    private func note(_ actor: (any Actor)?) {
        state.withLock { $0 = Sighting(actor: actor, thread: currentThread()) }
    }
}
