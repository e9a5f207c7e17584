import HTTPTypes
public import Networking

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension NetworkingComponent {
    /// Has an injector make things go wrong here, as a bad network or server would.
    ///
    /// It belongs next to the transport: then everything else in the stack meets the faults as in reality, and each
    /// attempt of a `retry` may meet another.
    ///
    /// ```swift
    /// let faults = FaultInjector(seed: 42, [.error(.connectionLost, rate: 0.1), .stalled(after: 100, rate: 0.02)])
    /// let network = MockTransport { _ in .ok(data) }
    ///     .faultInjected(by: faults)
    ///     .timeout(.seconds(10))
    ///     .retry()
    /// ```
    ///
    /// The order is fixed. First come the faults that take the place of the exchange (errors, statuses), the first of
    /// the list: nothing waits for what will fail. Then latencies, which add up. Then the request is sent, and its
    /// response's body is corrupted, sliced, and ends or stalls at the earliest place that was decided for it. Last
    /// comes an error `afterSending`. Where the request has a sink, the body suffers on its way there; the sink hears
    /// how it ends.
    ///
    /// Waits are on the environment's clock, and a caller that is cancelled in one gets `CancellationError` at once.
    /// What takes the place of the exchange shows in the events of a stack as an attempt; a latency shows as slowness
    /// and not as a wait.
    ///
    /// - Parameter injector: Decides what goes wrong, and remembers it.
    /// - Returns: A component that fails as the injector says.
    public func faultInjected(by injector: FaultInjector) -> some NetworkingComponent {
        modified(FaultInjected(injector: injector))
    }
}

struct FaultInjected: NetworkingModifier, CustomStringConvertible {
    let injector: FaultInjector

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        // Before a number is taken: who is not sent changes nothing for the others.
        try Task.checkCancellation()
        guard let plan = injector.next(for: request) else { return try await upstream.send(request) }
        if let outcome = plan.outcome {
            var request = request
            // It would lead to the same answer again.
            request.redirects = .never
            return try await FaultyTransport(outcome: outcome).send(request)
        }
        if plan.latency > .zero {
            try await NetworkEnvironment.current.clock.sleep(for: plan.latency)
        }
        let response = try await send(request, upstream: upstream, breaking: plan.body)
        if let failure = plan.lateFailure {
            throw failure.error(of: request, "The server has answered, and the test's FaultInjector lost the answer.")
        }
        return response
    }

    var requestOptions: Set<RequestOptionKey> { [RequestOptionKey(AllowsFaults.self)] }

    var description: String {
        "faultInjected(\(injector.outlined))"
    }

    private func send(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent,
        breaking faults: BodyFaults
    ) async throws -> HTTPResponseData {
        guard !faults.isEmpty else { return try await upstream.send(request) }
        guard let sink = request.sink else {
            return try await upstream.send(request).broken(by: faults, for: request)
        }
        let faulty = FaultySink(sink, faults, of: request)
        var broken = request
        broken.sink = faulty
        var response = try await upstream.send(broken)
        if !response.wasOfferedToSink {
            // One that may be followed is never offered to a sink.
            if response.http.isRedirect, request.redirects.limit != nil {
                return try await response.broken(by: faults, for: request)
            }
            try await response.deliver(to: faulty, for: broken)
        }
        switch response.body {
        case .delivered(byteCount: 1...): response.body = .delivered(byteCount: Int64(faulty.delivered))
        case .delivered: break
        // The sink had it collected, so that it has not been on the faulty way.
        case .collected: response = try await response.broken(by: faults, for: request)
        }
        return response
    }
}

/// Answers in place of an exchange, with all that a transport does for its stack.
private struct FaultyTransport: NetworkingTransport {
    let outcome: FaultPlan.Outcome

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        switch outcome {
        case .failure(let failure):
            throw failure.error(of: request, "The test's FaultInjector made the request fail, which was not sent.")
        case .status(let head):
            request.emit(ExchangeEvent.headReceived(head))
            return HTTPResponseData(request: request, http: head, body: .collected(Data()))
        }
    }
}

extension FaultPlan.Failure {
    fileprivate func error(of request: HTTPRequestData, _ reason: String) -> any Error {
        switch self {
        case .error(let kind): NetworkingError(kind, request: request, reason: reason)
        case .foreign(let error): error
        }
    }
}

extension HTTPResponseData {
    /// The response with a collected body as it arrives.
    fileprivate func broken(by faults: BodyFaults, for request: HTTPRequestData) async throws -> HTTPResponseData {
        guard case .collected(let data) = body else { return self }
        var response = self
        let arrived = data.prefix(faults.end.count)
        if let slices = faults.slices {
            for _ in 0..<max(0, (arrived.count - 1) / slices.size) {
                try await NetworkEnvironment.current.clock.sleep(for: slices.pause)
            }
        }
        response.body = .collected(Data(arrived).corrupted(by: faults.corruption?.masks(in: data.count) ?? [:]))
        guard data.count > faults.end.count else { return response }
        switch faults.end.manner {
        case .stall: try await Suspension<Void>().value()
        case .cut(nil): break
        case .cut(let kind?): throw request.brokenOff(as: kind, http, after: arrived.count)
        }
        return response
    }
}
