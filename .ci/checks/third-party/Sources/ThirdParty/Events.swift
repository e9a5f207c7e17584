import HTTPTypes
public import Networking

/// An event of `checksumVerified`.
public enum ChecksumEvent: NetworkEvent {
    /// The checksum of a response's body is known.
    case computed(Checksum32)

    /// The mark for metrics, without the checksum itself: there are too many of them to count each.
    public var mark: EventMark? {
        EventMark(.checksum)
    }

    /// Returns the checksum, for logs.
    public func logMessage(redactedBy redaction: Redaction) -> String? {
        switch self {
        case .computed(let checksum): "checksum \(checksum)"
        }
    }

    /// The event as a sentence.
    public var description: String {
        switch self {
        case .computed(let checksum): "The body has the checksum \(checksum)."
        }
    }
}

extension EventMark.Kind {
    /// The checksum of a response's body is known.
    public static let checksum = EventMark.Kind("checksum")
}

extension HTTPRequestData {
    /// Reports the head of a response.
    func reportHead(_ head: HTTPResponse) {
        emit(ExchangeEvent.headReceived(head))
    }

    /// Reports the checksum of a response's body.
    func reportChecksum(_ checksum: Checksum32) {
        emit(ChecksumEvent.computed(checksum))
    }
}
