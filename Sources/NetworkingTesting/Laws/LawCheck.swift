import Networking
import Synchronization

/// Looks at the laws of what wraps a transport.
package struct LawCheck {
    /// How long what is prompt may take on a busy machine; only a law that is broken is ever given so much.
    ///
    /// The documentation of `checkLaws` and of ``Law/cancellation`` names it.
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

    /// Sends a request through the stack around a transport.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - transport: What the stack is made around.
    /// - Returns: What the request comes to.
    /// - Throws: ``BrokenLaw`` when it never ends.
    func result(
        of request: HTTPRequestData,
        around transport: some NetworkingComponent
    ) async throws -> Result<HTTPResponseData, any Error> {
        try await LawCall(request, over: stack(around: transport)).finished()
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

    /// Whether it is over.
    var isOver: Bool {
        end.value > 0
    }

    /// Waits until it ends, as it does if nothing holds it up; it is cancelled with who waits.
    ///
    /// - Parameters:
    ///   - patience: How long that may take, instead of what the check gives.
    ///   - isEnough: What may come to be instead.
    /// - Returns: Whether it is over, or something else is enough.
    func ends(within patience: Duration? = nil, or isEnough: () -> Bool = { false }) async -> Bool {
        await withTaskCancellationHandler {
            await eventually(within: patience) { isOver || isEnough() }
        } onCancel: {
            cancel()
        }
    }

    /// Waits for what it comes to.
    ///
    /// - Parameter patience: How long that may take, instead of what the check gives.
    /// - Returns: What it comes to.
    /// - Throws: ``BrokenLaw`` when it never ends; it is cancelled then.
    func finished(within patience: Duration? = nil) async throws -> Result<HTTPResponseData, any Error> {
        guard await ends(within: patience) else {
            cancel()
            throw BrokenLaw.neverEnds
        }
        return await task.result
    }

    func cancel() {
        task.cancel()
    }
}

/// Waits until something is so which takes no more than a few turns of the executor where nothing holds it up.
///
/// - Parameters:
///   - patience: How long it may take on a busy machine, instead of ``LawCheck/patience``.
///   - condition: What is to be so.
/// - Returns: Whether it came to be; a caller that is cancelled hears at once whether it is so by now.
func eventually(within patience: Duration? = nil, _ condition: () -> Bool) async -> Bool {
    for _ in 0..<25 where !Task.isCancelled {
        if condition() { return true }
        await Task.yield()
    }
    // A thread that the system has put aside may hold up the rest, so turns alone do not tell; nor does time alone,
    // since a turn takes long where thousands of tests wait for theirs. What has not come by now is held up, or never
    // comes: looking now and then leaves the processor to those who have work.
    let limit = ContinuousClock.now + (patience ?? LawCheck.patience)
    while !condition() {
        guard ContinuousClock.now < limit, !Task.isCancelled else { return condition() }
        try? await Task.sleep(for: .milliseconds(1))
    }
    return true
}

/// An error as a sentence has it: by its type, and what it says where that is without secrets.
func said(_ error: any Error) -> String {
    guard let error = error as? NetworkingError else { return "\(type(of: error))" }
    return "NetworkingError (\(error.kind): \(error.reason))"
}
