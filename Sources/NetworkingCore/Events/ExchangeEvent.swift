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

    /// No mark, because metrics measure the parts of an exchange.
    public var mark: EventMark? {
        nil
    }

    /// Returns a message for ``readingBody``; `nil` for other events.
    public func logMessage(redactedBy redaction: Redaction) -> String? {
        switch self {
        case .readingBody: "reading the body before connecting"
        default: nil
        }
    }

    /// The event without secrets: `headReceived(200 OK)`.
    public var description: String {
        switch self {
        case .started: "exchangeStarted"
        case .readingBody: "readingBody"
        case .bodyRead: "bodyRead"
        case .connecting: "connecting"
        case .connected: "connected"
        case .headReceived(let head): "headReceived(\(head.status))"
        case .connectionMeasured(let metrics): "connectionMeasured(\(metrics))"
        case .responseReceived(let response): "responseReceived(\(response))"
        case .ended(let sent, let received): "exchangeEnded(sent: \(sent), received: \(received))"
        case .failed(let error): "exchangeFailed(\(type(of: error)))"
        }
    }
}
