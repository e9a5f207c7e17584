import Networking
import Synchronization

extension LawCheck {
    func cancelsUpstream() async throws {
        let held = HeldProbe()
        let call = LawCall(request, over: stack(around: held))
        defer { held.letGo(with: request) }
        guard try await held.holds(call) else { return try await passesForeignCancellationOn() }
        call.cancel()
        if await !call.ends() {
            held.letGo(with: request)
            try require(await call.ends(), "A cancelled caller does not come back, even though the upstream has.")
            throw BrokenLaw("A cancelled caller does not cancel the upstream.")
        }
        guard case .failure(let error) = try await call.finished() else {
            throw BrokenLaw("A cancelled caller gets a response.")
        }
        try require(
            error is CancellationError,
            "A cancelled caller gets \(type(of: error)), not CancellationError itself."
        )
        try require(held.count <= 1, "Something is sent after the caller was cancelled: \(held.count) requests.")
        try require(
            await eventually { held.cancellations == held.count },
            "A cancelled caller does not cancel the upstream."
        )
        try await passesForeignCancellationOn()
    }

    /// A part further in may give up by itself: its caller hears that, and not of a failure.
    private func passesForeignCancellationOn() async throws {
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
            // As every transport does: what still gets here was kept from knowing of the cancellation.
            try Task.checkCancellation()
            sent.increase()
            return HTTPResponseData(request: request)
        }
        let result = try await LawCall(request, over: stack(around: probe).modified(Cancelling())).finished()
        try require(sent.value == 0, "A caller that was cancelled before it began still sends.")
        guard case .failure(let error) = result, error is CancellationError else {
            throw BrokenLaw("A caller that was cancelled before it began does not get CancellationError.")
        }
    }
}

/// Cancels its caller, past the outermost part's own look at it.
struct Cancelling: NetworkingModifier {
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        withUnsafeCurrentTask { $0?.cancel() }
        return try await upstream.send(request)
    }
}

/// Keeps requests until they are cancelled or let go.
final class HeldProbe: NetworkingComponent {
    private let cancelled = Counter()
    private let held = Mutex<[Suspension<HTTPResponseData>]>([])

    /// How many have arrived.
    var count: Int {
        held.withLock { $0.count }
    }

    /// How many were cancelled.
    var cancellations: Int {
        cancelled.value
    }

    /// Whether a call comes to wait here; false for one that ends by itself, which no cancellation can reach.
    ///
    /// - Throws: ``BrokenLaw`` when it does neither; it is cancelled then.
    func holds(_ call: LawCall) async throws -> Bool {
        guard await call.ends(or: { count > 0 }) else {
            call.cancel()
            throw BrokenLaw.neverEnds
        }
        return !call.isOver
    }

    func letGo(with request: HTTPRequestData) {
        for wait in held.withLock({ $0 }) {
            wait.resume(with: .success(HTTPResponseData(request: request)))
        }
    }

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        let wait = Suspension<HTTPResponseData>()
        held.withLock { $0.append(wait) }
        return try await wait.value { self.cancelled.increase() }
    }
}
