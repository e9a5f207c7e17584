import Networking
import Synchronization

/// Looks at the laws of what wraps a transport.
package struct LawCheck {
    /// How long what is prompt may take on a busy machine; only a law that is broken is ever given so much.
    @TaskLocal package static var patience = Duration.seconds(2)

    let request: HTTPRequestData
    let wrap: @Sendable (AnyNetworkingComponent) -> AnyNetworkingComponent

    func check(_ law: Law) async throws {
        switch law {
        case .oneSend: try await sendsOnce()
        case .ownResponse: try await answersItsCaller()
        case .pureResolve: try resolvesPurely()
        case .oneResolve: try await resolvesUpstreamOnce()
        case .principal: try showsPrincipal()
        case .errors: try await passesErrorsOn()
        case .cancellation: try await cancelsUpstream()
        case .cancelledBefore: try await sendsNothingWhenCancelled()
        case .sinks: try await fillsSinks()
        case .failedSinks: try await tellsSinksOfFailures()
        case .retention: try await letsGo()
        case .nextRequest: try await goesOn()
        case .concurrency: try await keepsCallersApart()
        }
    }

    func stack(around transport: some NetworkingComponent) -> some NetworkingComponent {
        wrap(AnyNetworkingComponent(transport)).environment(\.clock, .immediate())
    }
}

/// A bare component that counts what arrives.
struct Probe: NetworkingComponent {
    private let counter = Counter()
    private let answer: @Sendable (HTTPRequestData) async throws -> HTTPResponseData
    private let principal: Principal?

    init(
        principal: Principal? = nil,
        answer: @escaping @Sendable (HTTPRequestData) async throws -> HTTPResponseData
    ) {
        self.principal = principal
        self.answer = answer
    }

    var count: Int {
        counter.value
    }

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        counter.increase()
        return try await answer(request)
    }

    func principal(for request: HTTPRequestData) -> Principal? {
        principal
    }
}

final class Counter: Sendable {
    private let count = Atomic(0)

    var value: Int {
        count.load(ordering: .relaxed)
    }

    func increase() {
        count.add(1, ordering: .relaxed)
    }
}

/// A send that can be cancelled, and given up when it never ends: hence a task of its own.
struct LawCall: Sendable {
    private let task: Task<HTTPResponseData, any Error>
    private let end = Counter()

    init(_ request: HTTPRequestData, over stack: some NetworkingComponent) {
        let end = end
        task = Task {
            defer { end.increase() }
            return try await stack.send(request)
        }
    }

    /// Whether it ends, if nothing holds it up.
    func ends() async -> Bool {
        await eventually { end.value > 0 }
    }

    var result: Result<HTTPResponseData, any Error> {
        get async { await task.result }
    }

    func cancel() {
        task.cancel()
    }
}

/// Waits until something is so which takes no more than a few turns of the executor where nothing holds it up.
///
/// - Returns: Whether it came to be.
func eventually(_ condition: () -> Bool) async -> Bool {
    var turns = 0
    var limit: ContinuousClock.Instant?
    while !condition() {
        turns += 1
        await Task.yield()
        // A thread that the system has put aside may hold up the rest, so turns alone do not tell; nor does time alone, since
        // a turn takes long where thousands of tests wait for theirs.
        guard turns >= 50 else { continue }
        let now = ContinuousClock.now
        guard now < limit ?? .now + LawCheck.patience else { return condition() }
        limit = limit ?? now + LawCheck.patience
    }
    return true
}
