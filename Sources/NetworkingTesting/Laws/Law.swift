/// What everybody who writes or stacks modifiers may rely on; `checkLaws` looks at it.
@nonexhaustive
public enum Law: String, Sendable, Hashable, CaseIterable {
    /// A request is sent upstream once, and what comes back is passed on.
    case oneSend
    /// The request of a response is the caller's own.
    case ownResponse
    /// `resolve` gives the same for the same request, also through erased components and beside absent modifiers.
    case pureResolve
    /// The chain upstream rewrites a request once a send.
    case oneResolve
    /// The principal of the upstream shows.
    case principal
    /// Errors of other components pass as they are, and those of the library are wrapped once.
    case errors
    /// A cancelled caller gets `CancellationError` itself at once, what lies upstream is cancelled, and nothing is sent
    /// afterwards.
    ///
    /// Of a component it is seen whether callers that are cancelled early and a little later come back within 2
    /// seconds: with `CancellationError`, or with the response where that was quicker. So a component that does not
    /// hear of it shows only where an answer takes longer than that, as from a server that a test holds back.
    case cancellation
    /// A caller that was cancelled before it began sends nothing, and gets `CancellationError` itself.
    case cancelledBefore
    /// A sink gets the body, once, unless it does not want it.
    case sinks
    /// A sink hears that a body breaks off, and the caller gets the error of a sink that fails.
    case failedSinks
    /// After a request nothing keeps its sink or its progress handler, and after a stack nothing keeps its upstream.
    case retention
    /// After a request that failed or was cancelled the next one is answered.
    case nextRequest
    /// Callers at the same time get the responses to their own requests, which differ in a query item `caller`.
    case concurrency

    /// What to do where it is broken.
    var remedy: String {
        switch self {
        case .oneSend:
            "Call upstream.send once and return its response; if it is meant to be sent again, say so with except: [.oneSend: …]."
        case .ownResponse:
            "Return the upstream's response, changed as needed, or make one with the request that came in."
        case .pureResolve:
            "Let resolve depend on the request and on constants alone; what counts or draws chance belongs in send."
        case .oneResolve:
            "Pass on the request that came in, changed as needed, instead of a new one; a component forwards resolve."
        case .principal:
            "Forward principal(for:) to the upstream, or do not implement it."
        case .errors:
            "Rethrow what you do not handle, as it is."
        case .cancellation:
            "Wait with what ends at a cancellation, start no tasks of your own, and rethrow CancellationError."
        case .cancelledBefore:
            "Call try Task.checkCancellation() before work that does not notice a cancellation by itself."
        case .sinks:
            "Leave the request's sink to the upstream, or wrap it in a WatchedSink."
        case .failedSinks:
            "A sink that wraps another passes on fail, and the errors of the other."
        case .retention:
            "Keep the values that you need of a request instead of the whole, and no upstream."
        case .nextRequest:
            "Give back slots, locks and places in queues however a send ends: in a defer."
        case .concurrency:
            "Keep what belongs to one request in a local variable, and shared state under what tells requests apart."
        }
    }
}
