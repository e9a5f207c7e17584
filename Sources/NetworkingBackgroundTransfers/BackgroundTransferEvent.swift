#if URLSession
public import FoundationForNetworking
public import NetworkingCore
import NetworkingTransfers
import NetworkingURLSession

/// An event of a background transfer.
///
/// `BackgroundTransfers`, which is available on Apple's platforms, delivers the events one by one. A transfer ends with
/// one event that states its outcome: ``finished(id:response:file:)``, ``failed(id:_:)`` or ``unrecognized(_:)``.
@nonexhaustive
public enum BackgroundTransferEvent: Sendable {
    /// The progress of a transfer; if several updates are waiting to be read, only the newest is delivered.
    case progress(id: String, TransferProgress)

    /// A transfer succeeded, with a status that its request accepts.
    ///
    /// `file` is the location of a downloaded file. It is `nil` for an upload. The response of an upload contains
    /// the first MiB of the server's response body.
    case finished(id: String, response: HTTPResponseData, file: URL?)

    /// A transfer failed or was cancelled.
    case failed(id: String, BackgroundTransferFailure)

    /// A transfer with an unknown id has ended.
    ///
    /// Its record is missing, damaged, or from a later version of the library.
    case unrecognized(BackgroundTransferFailure)

    /// The system has delivered everything that happened while the app was not running.
    case allDelivered
}

/// The reason why a background transfer failed, and the data that is left of it.
public struct BackgroundTransferFailure: Error {
    /// The reason: a ``NetworkingError``, or a `CancellationError` if the app has cancelled the transfer.
    ///
    /// The request in the error has only a method and a URL, because the process that created it may have ended.
    public let error: any Error

    /// The data for resuming the download with `resume(_:with:)`; `nil` if the transfer can only be restarted.
    ///
    /// It contains the request as the system stores it, including header fields with credentials. Store it where you
    /// store secrets.
    public let resumeData: Data?

    /// The location of a downloaded file that could not be moved to its destination.
    ///
    /// The file is in the system's directory for temporary files, so move it away soon. `nil` if there is no file, or
    /// if it could not be kept.
    public let savedFile: URL?

    init(_ error: any Error, resumeData: Data? = nil, savedFile: URL? = nil) {
        self.error = error
        self.resumeData = resumeData
        self.savedFile = savedFile
    }

    /// Whether the app has cancelled the transfer, with `cancel` or `pause`.
    public var isCancellation: Bool {
        error is CancellationError
    }
}

extension BackgroundTransferFailure: LocalizedError, ErrorWithUserText, CustomStringConvertible, CustomReflectable {
    /// The reason for the failure, and the data that is left.
    public var description: String {
        let rest = [
            resumeData.map { _ in "It can be resumed." },
            savedFile.map { "Its bytes are at \(PrintableText.singleLine($0.path))." },
        ]
        return (["\(error)"] + rest.compactMap { $0 }).joined(separator: " ")
    }

    /// The texts of ``error`` if it has any, and general ones otherwise.
    package var userText: UserText {
        if let error = error as? any ErrorWithUserText { return error.userText }
        guard isCancellation else {
            return UserText(
                key: "transfer.failed",
                description: "The transfer failed.",
                reason: "The system ended the transfer.",
                suggestion: "Start the transfer again."
            )
        }
        return UserText(
            key: "transfer.cancelled",
            description: "The transfer was cancelled.",
            reason: "The transfer was stopped before its end.",
            suggestion: "Start the transfer again."
        )
    }

    /// The contents of a dump, without secrets.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "error": error,
                "resumeData": resumeData.map { "\($0.count) bytes" } ?? "none",
                "savedFile": savedFile?.path ?? "none",
            ]
        )
    }
}
#endif
