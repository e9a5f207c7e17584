/// A rule that every modifier and component must follow, as `checkLaws` verifies.
@nonexhaustive
public enum Law: String, Sendable, Hashable, CaseIterable {
    /// A request is sent upstream once, and its response is returned.
    case oneSend
    /// The request of a response is the caller's own request.
    case ownResponse
    /// `resolve` returns the same result for the same request, also through erased components and next to absent
    /// modifiers.
    case pureResolve
    /// The upstream chain rewrites a request once per send.
    case oneResolve
    /// A question about a stack gets the answer of the upstream, too: its modifiers, the options that it reads, the
    /// diagnostics of its transport, and its shortage of connections.
    case questions
    /// The principal of the upstream is visible, and a modifier that adds a credential when it sends a request names a
    /// principal.
    case principal
    /// A request is sent only with the credentials of the user who was signed in when its call began.
    ///
    /// For a modifier, the check signs in another user while the request passes the modifier and before it is sent
    /// again.
    case oneUser
    /// Errors of other components are passed on unchanged, and those of the library are wrapped only once.
    case errors
    /// A cancelled caller gets `CancellationError` itself immediately, the upstream is cancelled, and nothing is sent
    /// afterwards.
    ///
    /// For a component, the check cancels callers early and a little later. They must return within 2 seconds, with
    /// `CancellationError` or with the response if that was faster. A component that ignores cancellation is therefore
    /// detected only if a response takes longer than that, as from a server that a test holds back.
    case cancellation
    /// A caller that was cancelled before it began sends nothing, and gets `CancellationError` itself.
    case cancelledBefore
    /// A sink receives the body once, unless it refuses it.
    case sinks
    /// A sink is notified if a body is truncated, and the caller gets the error of a failing sink.
    case failedSinks
    /// When a request is over, its sink and its progress handler are released; when a stack is released, so is its
    /// upstream.
    case retention
    /// After a request that failed or was cancelled, the next one gets a response.
    case nextRequest
    /// Concurrent callers get the responses to their own requests, which differ in a query item `caller`.
    case concurrency

    /// How to fix a violation of the law.
    var remedy: String {
        switch self {
        case .oneSend:
            "Call upstream.send once and return its response. "
                + "If the modifier resends requests on purpose, pass except: [.oneSend: …]."
        case .ownResponse:
            "Return the upstream's response, changed as needed, or create one with the received request."
        case .pureResolve:
            "Let resolve depend only on the request and on constants; counters and random values belong in send."
        case .oneResolve:
            "Pass on the received request, changed as needed, instead of a new one; a component forwards resolve."
        case .questions:
            "Name the component that requests are sent through in a property upstream, or conform to "
                + "ForwardingComponent."
        case .principal:
            "Forward principal(for:) to the upstream, or do not implement it. "
                + "A modifier that adds a credential implements it, and returns the user or service of the credential."
        case .oneUser:
            "Pass on the received request, changed as needed, also when it is sent again; a new one is sent for the "
                + "user who is signed in by then."
        case .errors:
            "Rethrow an error that you do not handle, unchanged."
        case .cancellation:
            "Wait only for operations that end when they are cancelled, start no tasks, and rethrow CancellationError."
        case .cancelledBefore:
            "Call try Task.checkCancellation() before work that does not check for cancellation."
        case .sinks:
            "Leave the request's sink to the upstream, or wrap it in a WatchedSink."
        case .failedSinks:
            "In a sink that wraps another one, forward fail and rethrow the errors of the other one."
        case .retention:
            "Store only the values of a request that you need, not the request and not the upstream."
        case .nextRequest:
            "Release permits, locks and queue entries in a defer, so that they are released however send ends."
        case .concurrency:
            "Store the state of one request in a local variable, and shared state under a key of the request."
        }
    }
}
