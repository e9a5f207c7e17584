public import NetworkingCore

/// An event of a resumable upload, for the listeners of the request itself.
@nonexhaustive
public enum UploadEvent: NetworkEvent {
    /// The upload continues at an offset, after an interruption or from a state file.
    case resumed(offset: Int64, length: Int64)
    /// The server no longer has the upload, which restarts from its first byte.
    case restarted

    /// The record, without a mark, because metrics measure the requests of the upload.
    public var record: EventRecord {
        switch self {
        case .resumed(let offset, let length):
            EventRecord("uploadResumed", "offset: \(offset), length: \(length)", mark: nil) { _ in
                "upload continues at byte \(offset) of \(length)"
            }
        case .restarted:
            EventRecord("uploadRestarted", mark: nil) { _ in "upload restarts, because the server no longer has it" }
        }
    }
}

extension Wait {
    /// The wait of a resumable upload before it tries again.
    ///
    /// The wait takes place between two calls, so only the request's own observers are notified.
    public static let uploadRetry = Wait("uploadRetry", isTimed: true)
}
