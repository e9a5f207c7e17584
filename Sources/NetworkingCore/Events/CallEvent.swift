/// The start and the end of a call, which `observed` reports at its place in the stack.
@nonexhaustive
public enum CallEvent: NetworkEvent {
    /// The request reached the listener's place in the stack.
    case started
    /// The request has its response.
    indirect case ended(HTTPResponseData)
    /// The request failed, or its caller was cancelled.
    case failed(any Error)

    /// The record, without secrets.
    ///
    /// It has no mark and no log line, because metrics and logs cover the call itself.
    public var record: EventRecord {
        switch self {
        case .started: .unmarked("callStarted")
        case .ended(let response): .unmarked("callEnded", "\(response)")
        case .failed(let error): .unmarked("callFailed", "\(type(of: error))")
        }
    }
}
