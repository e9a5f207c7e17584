public import NetworkingCore
import NetworkingResilience

extension NetworkingComponent {
    /// Admits calls until a shutdown starts, and lets the shutdown wait for the calls in flight.
    ///
    /// It belongs outside `retry` and `deadline`, so that a call in flight keeps its attempts and waits.
    ///
    /// ```swift
    /// let shutdown = StackShutdown()
    /// let network = transport.retry().cached().drained(by: shutdown)
    /// // … at the end of the program:
    /// try await shutdown.drain()
    /// ```
    ///
    /// A call is in flight until its body has arrived, so an open stream or a download counts. Requests that the stack
    /// sends in the background, such as the revalidation of a stale response, pass this place only if it is further in.
    /// To wait for them too, add the same shutdown a second time next to the transport, with
    /// ``StackShutdown/Work/background``.
    ///
    /// Each call runs in a task, which the shutdown can cancel. A request that holds a place further out passes.
    ///
    /// - Parameters:
    ///   - shutdown: The shutdown. It also shuts down the ``NetworkingComponent/closableTransports`` of this component.
    ///   - work: The requests that are counted here.
    /// - Returns: A component that throws a ``NetworkingError`` of kind ``NetworkingError/Kind/rejected`` for calls
    ///   after the start of the shutdown, without sending them, and one of kind
    ///   ``NetworkingError/Kind/connectionLost`` for calls that the shutdown cancels.
    public func drained(
        by shutdown: StackShutdown,
        counting work: StackShutdown.Work = .calls
    ) -> some NetworkingComponent {
        shutdown.add(closableTransports)
        return modified(Drained(shutdown: shutdown, work: work))
    }
}

extension StackRole {
    /// Refuses calls after the start of a shutdown.
    public static let draining = StackRole("draining")
}

struct Drained: UpstreamLimited, CustomStringConvertible {
    let shutdown: StackShutdown
    let work: StackShutdown.Work

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        guard !request.holdsPermit(of: shutdown.held) else { return try await upstream.send(request) }
        // The task below is not aware of a cancellation that came before it.
        try Task.checkCancellation()
        guard let place = shutdown.admit(work) else {
            request.emit(ShutdownEvent.refused)
            throw refusal(of: request)
        }
        let counted = request.holdingPermit(of: shutdown.held)
        let task = OwnedTask.immediate { try await upstream.send(counted) }
        shutdown.start(task, at: place)
        do {
            let response = try await task.value
            _ = shutdown.end(place)
            return response
        } catch {
            guard shutdown.end(place), !Task.isCancelled else { throw error }
            request.emit(ShutdownEvent.cancelled)
            throw cancellation(of: request, error)
        }
    }

    private func refusal(of request: HTTPRequestData) -> NetworkingError {
        NetworkingError(
            .rejected,
            request: request,
            underlying: RefusedUse(textOf: .unimplemented),
            reason:
                "The stack is shut down, so nothing was sent. Stop the callers before drain(), or send the request "
                + "from another instance."
        )
    }

    private func cancellation(of request: HTTPRequestData, _ error: any Error) -> NetworkingError {
        NetworkingError(
            .connectionLost,
            request: request,
            underlying: error is CancellationError ? nil : error,
            reason:
                "The shutdown of the stack cancelled the call before it was complete. Start the shutdown earlier, or "
                + "raise its limit of \(shutdown.limit.roundedText)."
        )
    }

    var stackPart: StackPart {
        StackPart(
            roles: [.draining],
            rules: [
                work == .calls
                    ? .notInside(.retry, "is inside retry, so a call in flight loses its next attempt. Put it outside.")
                    : .notOutside(.caching, "is outside cached, so it counts no revalidation. Put it inside.")
            ]
        )
    }

    var description: String {
        "drained(counting: \(work))"
    }
}

/// An event of `drained`.
@nonexhaustive
public enum ShutdownEvent: NetworkEvent {
    /// The request came after the start of the shutdown, and was not sent.
    case refused
    /// The shutdown cancelled the request, which had not ended in time.
    case cancelled

    /// The record: `shutdownRefused` or `shutdownCancelled`.
    public var record: EventRecord {
        switch self {
        case .refused: .rejection("shutdownRefused", reason: "shutdown")
        case .cancelled: EventRecord("shutdownCancelled", attributes: [:])
        }
    }
}
