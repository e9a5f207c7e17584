import Foundation
import Networking
import NetworkingTesting
import Synchronization
import Testing

/// Calls from an actor run on that actor, because a hop to another executor and back costs more than the rest of a
/// stack.
@Suite(.timeLimit(.minutes(20)))
struct MainActorTests {
    @MainActor
    @Test(arguments: LawfulModifier.onTheCallersActor)
    func callFromTheMainActorReachesTheTransportOnTheMainActor(modifier: LawfulModifier) async throws {
        let probe = IsolationProbe()
        let network = modifier.wrap(AnyNetworkingComponent(probe)).environment(\.clock, .immediate())

        let thread = currentThread()

        try await network.data(HTTPRequestData(authority: "api.example.com"))

        // The main actor does not always run on the main thread (on Linux it does not), but without a hop it stays on
        // one thread.
        #expect(currentThread() == thread)
        let observation = try #require(probe.observation)
        #expect(observation.actor === MainActor.shared)
        #expect(observation.thread == thread)
    }

    @MainActor
    @Test func mockTransportCreatesItsResponseOnTheCallersActor() async throws {
        let journal = Journal()
        let network = MockTransport { _ in
            journal.note("\(currentThread())")
            return .ok()
        }

        try await network.logged(using: .silent).data(HTTPRequestData(authority: "api.example.com"))

        #expect(journal.entries == ["\(currentThread())"])
    }

    /// A counting executor shows the return of each hop as an additional job.
    @Test(arguments: LawfulModifier.onTheCallersActor)
    func callDoesNotLeaveTheCallersActor(modifier: LawfulModifier) async throws {
        let network = modifier.wrap(AnyNetworkingComponent(IsolationProbe())).environment(\.clock, .immediate())

        #expect(try await CountingActor().jobs(during: network) == 0)
    }

    @Test func callThroughTheWholeStackDoesNotLeaveTheCallersActor() async throws {
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

/// A transport that records where it runs.
private final class IsolationProbe: NetworkingComponent {
    struct Observation {
        let actor: (any Actor)?
        let thread: ObjectIdentifier
    }

    private let state = Mutex<Observation?>(nil)

    var observation: Observation? {
        state.withLock { $0 }
    }

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        note(#isolation)
        return HTTPResponseData(request: request)
    }

    private func note(_ actor: (any Actor)?) {
        state.withLock { $0 = Observation(actor: actor, thread: currentThread()) }
    }
}
