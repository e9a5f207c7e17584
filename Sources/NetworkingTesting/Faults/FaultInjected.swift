import FoundationForNetworking
import HTTPTypes
public import NetworkingCore

extension NetworkingComponent {
    /// Injects faults here, to simulate an unreliable network or server.
    ///
    /// Place it next to the transport, so that the rest of the stack handles the faults as it would real ones, and each
    /// attempt of a `retry` may get a different fault.
    ///
    /// ```swift
    /// let faults = FaultInjector(seed: 42, [.error(.connectionLost, rate: 0.1), .stalled(after: 100, rate: 0.02)])
    /// let network = MockTransport { _ in .ok(data) }
    ///     .faultInjected(by: faults)
    ///     .timeout(.seconds(10))
    ///     .retry()
    /// ```
    ///
    /// The order is fixed. Faults that replace the exchange (errors, statuses) come first; only the first of them in
    /// the list applies, without any latency. Otherwise all latencies are added up, and then the request is sent. The
    /// body of its response is corrupted, sliced, and ends or stalls at the earliest selected position. An error with
    /// `afterSending` comes last. If the request has a sink, the body is changed before it reaches the sink, and the
    /// sink is notified of its end.
    ///
    /// Delays use the environment's clock, and a caller that is cancelled during one gets `CancellationError`
    /// immediately. A fault that replaces the exchange appears in the stack's events as an attempt. A latency appears
    /// as a slow exchange and not as a wait.
    ///
    /// - Parameter injector: The injector that selects and records the faults.
    /// - Returns: A component that fails as the injector determines.
    public func faultInjected(by injector: FaultInjector) -> some NetworkingComponent {
        modified(FaultInjected(injector: injector))
    }
}

struct FaultInjected: NetworkingModifier, CustomStringConvertible {
    let injector: FaultInjector

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        // Check this before taking a number: a request that is not sent must not affect the others.
        try Task.checkCancellation()
        guard let plan = injector.next(for: request) else { return try await upstream.send(request) }
        if let outcome = plan.outcome {
            var request = request
            // A redirect that is followed over this transport would get the same response again.
            request.redirects = .never
            return try await FaultyTransport(outcome: outcome).send(request)
        }
        if plan.latency > .zero {
            try await NetworkEnvironment.current.clock.sleep(for: plan.latency)
        }
        let response = try await send(request, upstream: upstream, breaking: plan.body)
        if let failure = plan.lateFailure {
            throw failure.error(of: request, "The server responded, and the test's FaultInjector dropped the response.")
        }
        return response
    }

    var stackPart: StackPart { StackPart(options: [.allowsFaults]) }

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
            // A response that may be redirected is never offered to a sink.
            if response.http.isRedirect, request.redirects.limit != nil {
                return try await response.broken(by: faults, for: request)
            }
            try await response.deliver(to: faulty, for: broken)
        }
        switch response.body {
        case .delivered(byteCount: 1...): response.body = .delivered(byteCount: Int64(faulty.delivered))
        case .delivered: break
        // The sink requested a collected body, so the body has not passed through the faulty sink.
        case .collected: response = try await response.broken(by: faults, for: request)
        }
        return response
    }
}

/// A transport that returns or throws the fault instead of making an exchange.
private struct FaultyTransport: NetworkingTransport {
    let outcome: FaultPlan.Outcome

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        switch outcome {
        case .failure(let failure):
            throw failure.error(of: request, "The test's FaultInjector made the request fail before it was sent.")
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
    /// Returns the response with the faults applied to its collected body.
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
        case .stall: try await Suspension<Void>().value(until: nil)
        case .cut(nil): break
        case .cut(let kind?): throw request.brokenOff(as: kind, http, after: arrived.count)
        }
        return response
    }
}
