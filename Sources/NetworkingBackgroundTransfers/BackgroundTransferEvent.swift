#if URLSession
public import NetworkingCore
import NetworkingTransfers
import NetworkingURLSession

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What transfers in the background tell of themselves.
///
/// `BackgroundTransfers`, which Apple's platforms have, brings them one by one. A transfer ends with one event that
/// says how: ``finished(id:response:file:)``, ``failed(id:_:)`` or ``unrecognized(_:)``.
@nonexhaustive
public enum BackgroundTransferEvent: Sendable {
    /// How far a transfer has come; of a transfer that nobody asked about meanwhile, only the newest.
    case progress(id: String, TransferProgress)

    /// A transfer succeeded, with a status that its request accepts.
    ///
    /// `file` is where a download is now, and nil for an upload, whose response has the first MiB of the server's
    /// answer.
    case finished(id: String, response: HTTPResponseData, file: URL?)

    /// A transfer failed or was ended.
    case failed(id: String, BackgroundTransferFailure)

    /// A transfer ended of which nobody knows whose it was: its record is missing, damaged, or of a later version of
    /// the library.
    case unrecognized(BackgroundTransferFailure)

    /// The system has told everything that happened while the app was not running.
    case allDelivered
}

/// How a transfer in the background failed, and what is left of it.
public struct BackgroundTransferFailure: Error {
    /// What went wrong: a ``NetworkingError``, or a `CancellationError` when the app has ended the transfer.
    ///
    /// The request in it has a method and a URL and nothing else: the process that made it may be gone.
    public let error: any Error

    /// What `resume(_:with:)` goes on from; nil when the transfer would begin anew.
    ///
    /// It holds the request as the system keeps it, header fields with credentials included: keep it where you keep
    /// secrets.
    public let resumeData: Data?

    /// Where the bytes of a download are that could not be put where they belong.
    ///
    /// That is the system's directory for temporary files: move it away soon. Nil when there is nothing, or it could
    /// not be kept.
    public let savedFile: URL?

    init(_ error: any Error, resumeData: Data? = nil, savedFile: URL? = nil) {
        self.error = error
        self.resumeData = resumeData
        self.savedFile = savedFile
    }

    /// Whether the app has ended the transfer, by `cancel` or `pause`.
    public var isCancellation: Bool {
        error is CancellationError
    }
}

extension BackgroundTransferFailure: LocalizedError, CustomStringConvertible, CustomReflectable {
    /// What went wrong, and what is left.
    public var description: String {
        let rest = [
            resumeData.map { _ in "It can be resumed." },
            savedFile.map { "Its bytes are at \(PrintableText.singleLine($0.path))." },
        ]
        return (["\(error)"] + rest.compactMap { $0 }).joined(separator: " ")
    }

    /// One sentence for the user of the app, which `localizedDescription` returns: without URL and file name.
    public var errorDescription: String? {
        (error as? NetworkingError)?.errorDescription ?? "The transfer failed."
    }

    /// What a dump shows: no secret.
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
