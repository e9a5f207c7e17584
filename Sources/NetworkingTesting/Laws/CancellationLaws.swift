import Networking
import Synchronization

extension LawCheck {
    func cancelsUpstream() async throws {
        let held = HeldProbe()
        let call = LawCall(request, over: stack(around: held))
        // A modifier that never sends would leave the check waiting: its own end counts as an arrival.
        let end = Task {
            _ = await call.result
            held.arrival.resume()
        }
        defer { end.cancel() }
        try await held.arrival.value()
        call.cancel()
        if await !call.ends() {
            held.letGo(with: request)
            try require(await call.ends(), "A cancelled caller does not come back, even though the upstream has.")
            throw BrokenLaw("A cancelled caller does not cancel the upstream.")
        }
        guard case .failure(let error) = await call.result else {
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
        do {
            _ = try await stack(around: Probe { _ in throw CancellationError() }).send(request)
            throw BrokenLaw("A CancellationError of the upstream is swallowed.")
        } catch let broken as BrokenLaw {
            throw broken
        } catch {
            try require(
                error is CancellationError,
                "A CancellationError of the upstream becomes \(type(of: error))."
            )
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
        let result = await LawCall(request, over: stack(around: probe).modified(Cancelling())).result
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
    /// Ends when the first has arrived.
    let arrival = Suspension<Void>()
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

    func letGo(with request: HTTPRequestData) {
        for wait in held.withLock({ $0 }) {
            wait.resume(with: .success(HTTPResponseData(request: request)))
        }
    }

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        let wait = Suspension<HTTPResponseData>()
        held.withLock { $0.append(wait) }
        arrival.resume()
        return try await wait.value { self.cancelled.increase() }
    }
}
