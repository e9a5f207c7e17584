import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// Checks the laws of a component from outside.
struct ComponentCheck {
    static let laws: [Law] = [.ownResponse, .pureResolve, .cancellation, .cancelledBefore, .sinks, .nextRequest]

    let request: HTTPRequestData
    let component: AnyNetworkingComponent

    /// The maximum time for a response, longer because a network or a server may be involved.
    private var patience: Duration {
        LawCheck.patience * 5
    }

    func check(_ law: Law) async throws {
        switch law {
        case .pureResolve: try component.requirePureResolve(of: request)
        case .cancellation: try await throwsCancellationError()
        case .cancelledBefore: try await sendsNothingWhenCancelled()
        case .sinks: try await fillsSinks()
        case .nextRequest: try await handlesNextRequest()
        default: try await returnsOwnResponses()
        }
    }

    /// Sends requests for several callers at the same time, each with its own request.
    private func returnsOwnResponses() async throws {
        let calls = (0..<8)
            .map { _ in
                let own = request.withNewID
                return (request: own, call: LawCall(own, over: component))
            }
        defer {
            for (_, call) in calls {
                call.cancel()
            }
        }
        for (request, call) in calls {
            switch try await call.finished(within: patience) {
            case .failure(let error):
                throw BrokenLaw("The request fails with \(summary(of: error)); use a request that gets a response.")
            case .success(let response):
                try require(
                    response.isResponse(to: request),
                    "response.request is not the caller's own request."
                )
            }
        }
    }

    /// Cancels calls early and late: each must end immediately, with its response or with `CancellationError`.
    private func throwsCancellationError() async throws {
        for turns in 0..<12 {
            let call = LawCall(request, over: component)
            for _ in 0..<turns {
                await Task.yield()
            }
            call.cancel()
            try require(await call.ends(), "A cancelled caller does not return.")
            guard case .failure(let error) = try await call.finished() else { continue }
            try require(
                error is CancellationError,
                "A cancelled caller gets \(type(of: error)), not CancellationError itself."
            )
        }
    }

    private func sendsNothingWhenCancelled() async throws {
        let result = try await LawCall(request, over: component.modified(Cancelling())).finished(within: patience)
        guard case .failure(let error) = result, error is CancellationError else {
            throw BrokenLaw("A caller that was cancelled before it started does not get CancellationError.")
        }
    }

    private func fillsSinks() async throws {
        let plain: HTTPResponseData
        switch try await LawCall(request, over: component).finished(within: patience) {
        case .success(let success): plain = success
        case .failure(let error):
            throw BrokenLaw(
                "The law could not be checked: the request fails with \(summary(of: error)); use a request that gets a "
                    + "response."
            )
        }
        let sink = CollectingSink { _ in .take }
        let filling = LawCall(request.filling(sink), over: component)
        guard case .success(let response) = try await filling.finished(within: patience) else {
            throw BrokenLaw("A request with a sink fails, and one without does not.")
        }
        try require(
            sink.data == plain.data,
            "The sink gets \(sink.data.count) bytes of a body of \(plain.data.count), or different bytes."
        )
        try require(
            sink.finished == 1,
            "The sink is notified \(sink.finished) times, not once, that its body is complete."
        )
        try require(
            response.body == .delivered(byteCount: Int64(plain.data.count)),
            "A body that went to the sink is not reported as delivered."
        )
    }

    private func handlesNextRequest() async throws {
        let call = LawCall(request, over: component)
        call.cancel()
        // A call that does not return breaks another law; this law is about the next request.
        _ = await call.ends()
        let next = LawCall(request, over: component)
        guard await next.ends(within: patience) else {
            next.cancel()
            throw BrokenLaw("After a request that was cancelled, the next one waits forever.")
        }
        guard case .success = try await next.finished() else {
            throw BrokenLaw(
                "After a request that was cancelled, the next one fails although the upstream returns a response."
            )
        }
    }
}
