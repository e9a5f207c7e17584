import HTTPTypes
public import Networking

/// An event of `checksumVerified`.
public enum ChecksumEvent: NetworkEvent {
    /// The checksum of a response's body is known.
    case computed(Checksum32)

    /// The sentence for logs.
    public var description: String {
        switch self {
        case .computed(let checksum): "The body has the checksum \(checksum)."
        }
    }
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
