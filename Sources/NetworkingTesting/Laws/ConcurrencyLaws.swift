import FoundationForNetworking
import NetworkingCore

extension LawCheck {
    func handlesNextRequest() async throws {
        struct Failed: Error {}
        let number = Counter()
        let held = HeldProbe()
        let stack = stack(
            around: Probe { request in
                number.increase()
                switch number.value {
                case 1: return try await held.send(request)
                case 2: throw Failed()
                default: return HTTPResponseData(request: request)
                }
            }
        )
        let cancelled = LawCall(request, over: stack)
        defer { held.release(with: request) }
        // A component that responds by itself holds no upstream resources that it would have to release.
        guard try await held.holds(cancelled) else { return }
        cancelled.cancel()
        if await !cancelled.ends() {
            // This breaks another law; this law is about the next request.
            held.release(with: request)
        }
        try await expectEnd(of: LawCall(request, over: stack), after: "was cancelled")
        let next = LawCall(request, over: stack)
        try await expectEnd(of: next, after: "failed")
        guard case .success = try await next.finished() else {
            throw BrokenLaw(
                "After a request that was cancelled and one that failed, the next one fails although the "
                    + "upstream returns a response."
            )
        }
    }

    private func expectEnd(of call: LawCall, after event: String) async throws {
        if await !call.ends() {
            call.cancel()
            throw BrokenLaw("After a request that \(event), the next one waits forever.")
        }
    }

    /// Sends two of each request: equal requests may share a response, but each belongs to its own caller.
    func separatesCallers() async throws {
        let probe = Probe { request in
            await Task.yield()
            return HTTPResponseData(request: request, data: Data((request.query.caller ?? "").utf8))
        }
        let stack = stack(around: probe)
        let calls = (0..<6)
            .map { index in
                var request = request
                request.query.caller = "\(index / 2)"
                // Requests are distinguished by their ids, and a copy has the same id.
                let own = index.isMultiple(of: 2) ? request : request.withNewID
                return (request: own, call: LawCall(own, over: stack))
            }
        defer {
            for (_, call) in calls {
                call.cancel()
            }
        }
        for (request, call) in calls {
            try require(await call.ends(), "One of several concurrent callers waits forever.")
            guard case .success(let response) = try await call.finished() else {
                throw BrokenLaw("One of several concurrent callers fails.")
            }
            try require(
                response.isResponse(to: request)
                    && (probe.count == 0 || response.data == Data((request.query.caller ?? "").utf8)),
                "One of several concurrent callers gets the response to the request of another caller."
            )
        }
        try await separatesResponses(calls.map(\.request), over: stack, probe)
    }

    /// Sends the same requests again, one after the other: a stored response must go to its own request only.
    private func separatesResponses(
        _ requests: [HTTPRequestData],
        over stack: some NetworkingComponent,
        _ probe: Probe
    ) async throws {
        // A component that responds by itself may return the same response to all callers.
        guard probe.count > 0 else { return }
        for request in requests {
            let request = request.withNewID
            let call = LawCall(request, over: stack)
            guard await call.ends(), case .success(let response) = try await call.finished() else {
                call.cancel()
                throw BrokenLaw("A request that is sent again after several concurrent callers gets no response.")
            }
            try require(
                response.data == Data((request.query.caller ?? "").utf8),
                "A request that is sent again gets the response to another request."
            )
        }
    }
}
