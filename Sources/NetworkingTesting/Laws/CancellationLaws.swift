import NetworkingCore
import Synchronization

extension LawCheck {
    func cancelsUpstream() async throws {
        let held = HeldProbe()
        let call = LawCall(request, over: stack(around: held))
        defer { held.release(with: request) }
        guard try await held.holds(call) else { return try await passesOnForeignCancellation() }
        call.cancel()
        if await !call.ends() {
            held.release(with: request)
            try require(await call.ends(), "A cancelled caller does not return, although the upstream has returned.")
            throw BrokenLaw("A cancelled caller does not cancel the upstream.")
        }
        guard case .failure(let error) = try await call.finished() else {
            throw BrokenLaw("A cancelled caller gets a response.")
        }
        try require(
            error is CancellationError,
            "A cancelled caller gets \(type(of: error)), not CancellationError itself."
        )
        try require(held.count <= 1, "Requests are sent after the caller was cancelled: \(held.count).")
        try require(
            await eventually { held.cancellations == held.count },
            "A cancelled caller does not cancel the upstream."
        )
        try await passesOnForeignCancellation()
    }

    /// An inner component may cancel itself: its caller then gets the cancellation, and not a failure.
    private func passesOnForeignCancellation() async throws {
        let probe = Probe { _ in throw CancellationError() }
        switch try await result(of: request, around: probe) {
        case .failure(is CancellationError): break
        case _ where probe.count == 0: break
        case .failure(let error):
            throw BrokenLaw("A CancellationError of the upstream becomes \(type(of: error)).")
        case .success: throw BrokenLaw("A CancellationError of the upstream is swallowed.")
        }
    }

    func sendsNothingWhenCancelled() async throws {
        let sent = Counter()
        let probe = Probe { request in
            // Every transport does this. A request that passes the check runs in a task that was not cancelled with its
            // caller.
            try Task.checkCancellation()
            sent.increase()
            return HTTPResponseData(request: request)
        }
        let result = try await LawCall(request, over: stack(around: probe).modified(Cancelling())).finished()
        try require(sent.value == 0, "A caller that was cancelled before it started still sends a request.")
        guard case .failure(let error) = result, error is CancellationError else {
            throw BrokenLaw("A caller that was cancelled before it started does not get CancellationError.")
        }
    }
}

/// Cancels its caller after the outermost component has already checked for cancellation.
struct Cancelling: NetworkingModifier {
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        withUnsafeCurrentTask { $0?.cancel() }
        return try await upstream.send(request)
    }
}

/// Holds requests until they are cancelled or released.
final class HeldProbe: NetworkingComponent {
    private let cancelled = Counter()
    private let held = Mutex<[Suspension<HTTPResponseData>]>([])

    /// The number of requests that have arrived.
    var count: Int {
        held.withLock { $0.count }
    }

    /// The number of requests that were cancelled.
    var cancellations: Int {
        cancelled.value
    }

    /// Waits until a call is held here; false if it ends by itself, so that it cannot be cancelled.
    ///
    /// - Throws: ``BrokenLaw`` if neither happens; the call is then cancelled.
    func holds(_ call: LawCall) async throws -> Bool {
        guard await call.ends(or: { count > 0 }) else {
            call.cancel()
            throw BrokenLaw.neverEnds
        }
        return !call.isOver
    }

    func release(with request: HTTPRequestData) {
        for wait in held.withLock({ $0 }) {
            wait.resume(with: .success(HTTPResponseData(request: request)))
        }
    }

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        let wait = Suspension<HTTPResponseData>()
        held.withLock { $0.append(wait) }
        return try await wait.value(until: nil) { self.cancelled.increase() }
    }
}
