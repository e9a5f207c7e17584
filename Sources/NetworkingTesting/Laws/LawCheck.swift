import NetworkingCore
import Synchronization

/// Checks the laws of a stack around a transport.
struct LawCheck {
    /// The maximum time for a prompt operation on a busy machine; only a broken law uses all of it.
    ///
    /// The documentation of `checkLaws` and of ``Law/cancellation`` states this value.
    @TaskLocal static var patience = Duration.seconds(2)

    let request: HTTPRequestData
    let wrap: @Sendable (AnyNetworkingComponent) -> AnyNetworkingComponent

    func check(_ law: Law) async throws {
        switch law {
        case .oneSend: try await sendsOnce()
        case .ownResponse: try await returnsOwnResponse()
        case .pureResolve: try resolvesPurely()
        case .oneResolve: try await resolvesUpstreamOnce()
        case .questions: try answersAsUpstream()
        case .principal: try await showsPrincipal()
        case .oneUser: try await sendsForOneUser()
        case .errors: try await passesOnErrors()
        case .cancellation: try await cancelsUpstream()
        case .cancelledBefore: try await sendsNothingWhenCancelled()
        case .sinks: try await fillsSinks()
        case .failedSinks: try await notifiesSinksOfFailures()
        case .retention: try await releasesRequests()
        case .nextRequest: try await handlesNextRequest()
        case .concurrency: try await separatesCallers()
        }
    }

    func stack(around transport: some NetworkingComponent) -> some NetworkingComponent {
        wrap(AnyNetworkingComponent(transport)).environment(\.clock, .immediate())
    }

    /// Sends a request through the stack around a transport.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - transport: The innermost component of the stack.
    /// - Returns: The result of the request.
    /// - Throws: ``BrokenLaw`` if the request never ends.
    func result(
        of request: HTTPRequestData,
        around transport: some NetworkingComponent
    ) async throws -> Result<HTTPResponseData, any Error> {
        try await LawCall(request, over: stack(around: transport)).finished()
    }
}

/// A minimal component that counts requests.
struct Probe: NetworkingComponent {
    private let counter = Counter()
    private let respond: @Sendable (HTTPRequestData) async throws -> HTTPResponseData
    private let principal: Principal?

    init(
        principal: Principal? = nil,
        respond: @escaping @Sendable (HTTPRequestData) async throws -> HTTPResponseData
    ) {
        self.principal = principal
        self.respond = respond
    }

    var count: Int {
        counter.value
    }

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        counter.increase()
        return try await respond(request)
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

/// A call in its own task, so that it can be cancelled, and abandoned if it never ends.
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

    /// Whether the call has ended.
    var isOver: Bool {
        end.value > 0
    }

    /// Waits until the call ends; if the waiting task is cancelled, the call is cancelled, too.
    ///
    /// - Parameters:
    ///   - patience: The maximum time, instead of the default of the check.
    ///   - isEnough: An alternative condition that ends the wait.
    /// - Returns: Whether the call has ended or the alternative condition is met.
    func ends(within patience: Duration? = nil, or isEnough: () -> Bool = { false }) async -> Bool {
        await withTaskCancellationHandler {
            await eventually(within: patience) { isOver || isEnough() }
        } onCancel: {
            cancel()
        }
    }

    /// Waits for the result of the call.
    ///
    /// - Parameter patience: The maximum time, instead of the default of the check.
    /// - Returns: The result.
    /// - Throws: ``BrokenLaw`` if the call never ends; it is then cancelled.
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

/// Waits for a condition that is normally met within a few turns of the executor.
///
/// - Parameters:
///   - patience: The maximum time on a busy machine, instead of ``LawCheck/patience``.
///   - condition: The condition.
/// - Returns: Whether the condition was met; a cancelled caller immediately gets its current state.
func eventually(within patience: Duration? = nil, _ condition: () -> Bool) async -> Bool {
    for _ in 0..<25 where !Task.isCancelled {
        if condition() { return true }
        await Task.yield()
    }
    // The number of turns alone does not suffice, because a suspended thread may delay the other tasks. Time alone does
    // not suffice either, because a turn takes long while thousands of tests wait for theirs. A condition that is not
    // met by now is delayed or will never be met, so polling occasionally leaves the processor to other tasks.
    let limit = ContinuousClock.now + (patience ?? LawCheck.patience)
    while !condition() {
        guard ContinuousClock.now < limit, !Task.isCancelled else { return condition() }
        try? await Task.sleep(for: .milliseconds(1))
    }
    return true
}

/// An error for use in a sentence: its type, with its reason if that contains no secrets.
func summary(of error: any Error) -> String {
    guard let error = error as? NetworkingError else { return "\(type(of: error))" }
    return "NetworkingError (\(error.kind): \(error.reason))"
}
