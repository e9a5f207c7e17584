/// The start and the end of a call, which `observed` reports at its place in the stack.
@nonexhaustive
public enum CallEvent: NetworkEvent {
    /// The request reached the listener's place in the stack.
    case started
    /// The request has its response.
    indirect case ended(HTTPResponseData)
    /// The request failed, or its caller was cancelled.
    case failed(any Error)

    /// No mark, because metrics cover the call themselves.
    public var mark: EventMark? {
        nil
    }

    /// Returns no message, because a log has lines for the start and the end of a request.
    public func logMessage(redactedBy redaction: Redaction) -> String? {
        nil
    }

    /// The event without secrets: `callStarted`.
    public var description: String {
        switch self {
        case .started: "callStarted"
        case .ended(let response): "callEnded(\(response))"
        case .failed(let error): "callFailed(\(type(of: error)))"
        }
    }
}
