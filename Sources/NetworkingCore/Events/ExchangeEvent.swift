public import HTTPTypes

/// The progress of one exchange, which a transport reports.
///
/// The library reports the start and the end of an exchange for every ``NetworkingTransport``. A transport reports the
/// other events that it supports.
@nonexhaustive
public enum ExchangeEvent: NetworkEvent {
    /// A transport starts an exchange.
    case started
    /// The transport reads the body to its end before it connects, because it cannot send a body that is still being
    /// produced.
    case readingBody
    /// The transport has read the body.
    case bodyRead
    /// The transport starts to connect. A transport reports both this and ``ExchangeEvent/connected``, or neither.
    case connecting
    /// The transport has a connection and sends the request.
    case connected
    /// The head of a response arrived.
    indirect case headReceived(HTTPResponse)
    /// The measurements of the exchange's connection.
    indirect case connectionMeasured(ConnectionMetrics)
    /// The transport has the whole response, just before the exchange ends.
    indirect case responseReceived(HTTPResponseData)
    /// The exchange ended, with this many bytes of body in each direction.
    case ended(sent: Int64, received: Int64)
    /// The exchange failed, or its caller was cancelled.
    case failed(any Error)

    /// The record, without secrets.
    ///
    /// It has no mark, because metrics measure the parts of an exchange.
    public var record: EventRecord {
        switch self {
        case .started: .unmarked("exchangeStarted")
        case .readingBody: EventRecord("readingBody", mark: nil) { _ in "reading the body before connecting" }
        case .bodyRead: .unmarked("bodyRead")
        case .connecting: .unmarked("connecting")
        case .connected: .unmarked("connected")
        case .headReceived(let head): .unmarked("headReceived", "\(head.status)")
        case .connectionMeasured(let metrics): .unmarked("connectionMeasured", "\(metrics)")
        case .responseReceived(let response): .unmarked("responseReceived", "\(response)")
        case .ended(let sent, let received): .unmarked("exchangeEnded", "sent: \(sent), received: \(received)")
        case .failed(let error): .unmarked("exchangeFailed", "\(type(of: error))")
        }
    }
}
