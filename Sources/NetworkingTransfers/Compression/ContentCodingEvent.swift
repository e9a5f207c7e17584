public import NetworkingCore

/// An event of `compressedBodies()`.
@nonexhaustive
public enum ContentCodingEvent: NetworkEvent {
    /// A body in memory was compressed, with its lengths in bytes before and after.
    case compressed(coding: String, from: Int, to: Int)
    /// The server has refused the coding, so the body is sent again in another one or as it is.
    case refused(coding: String)

    /// The record: `bodyCompressed(gzip, from: 4096, to: 512)`.
    public var record: EventRecord {
        switch self {
        case .compressed(let coding, let before, let after):
            EventRecord("bodyCompressed", "\(coding), from: \(before), to: \(after)")
        case .refused(let coding): EventRecord("codingRefused", coding)
        }
    }
}
