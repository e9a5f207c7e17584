import HTTPTypes
public import Networking

/// An event of `checksumVerified`.
public enum ChecksumEvent: NetworkEvent {
    /// The checksum of a response's body is known.
    case computed(Checksum32)

    /// The record.
    ///
    /// Its mark is without the checksum, because there are too many of them to count each.
    public var record: EventRecord {
        switch self {
        case .computed(let checksum):
            EventRecord("checksumComputed", "\(checksum)", mark: EventMark(.checksum)) { _ in "checksum \(checksum)" }
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
