public import FoundationForNetworking
import NetworkingCore

/// The protocol by which an upload resumes after an interruption.
///
/// ```swift
/// try await network.upload(.file(film), to: films, resumable: .automatic)
/// ```
@nonexhaustive
public enum ResumableUpload: Sendable, Hashable, CaseIterable {
    /// The server is asked with an `OPTIONS` request which protocol it supports.
    ///
    /// If it supports neither, the body is sent in one ordinary request. That request offers the server to make it
    /// resumable, which needs a transport that reports interim responses (104).
    case automatic
    /// Resumable Uploads for HTTP: draft-ietf-httpbis-resumable-upload, the text after draft 11, interop version 8.
    ///
    /// The server must support it: an upload starts with an empty request, which any other server would process as an
    /// empty body.
    case ietf
    /// tus 1.0.0, with its extension `creation`.
    case tus
    /// The body is sent in one ordinary request.
    case never
}

/// How an upload is divided, retried and checked, and where its state is stored.
///
/// ```swift
/// var options = UploadOptions()
/// options.stateFile = fixtures.appending(path: "film.upload-state")
/// try await network.upload(.file(film), to: films, resumable: .automatic, options: options)
/// ```
public struct UploadOptions: Sendable {
    /// The file with the state that a relaunched app resumes from.
    ///
    /// `nil`, the default, is `film.mp4.upload-state` beside the file of the body. An upload of bytes in memory has
    /// then no state file and resumes only within its own call. Set it if the directory of the file cannot be written,
    /// or to upload one file to several servers.
    public var stateFile: URL?

    /// The maximum number of bytes in one request; 64 MiB by default.
    ///
    /// The limits of the server take precedence. Smaller requests lose less if a server or proxy discards the start of
    /// a request that breaks off. URLSession on Apple's platforms copies the bytes of each request to a temporary file.
    public var maximumAppendSize: Int64

    /// The maximum number of consecutive failures in which the server receives no further byte; 5 by default.
    ///
    /// Between them the upload waits, from half a second up to 30 seconds. Any progress resets the count.
    public var maximumRetries: Int

    /// The digest that the server checks the bytes with; `nil`, the default, sends none.
    ///
    /// The file is read once more before the upload starts.
    public var digest: UploadDigest?

    /// The name of the file for the server; `nil`, the default, sends none.
    public var fileName: String?

    /// A stable name for the upload, for URLs that change each time.
    ///
    /// Without a key, an upload resumes if method, URL and user are the same. With a key, it resumes if the key is the
    /// same.
    public var resumptionKey: String?

    /// Creates options.
    ///
    /// - Parameters:
    ///   - stateFile: The file with the state; `nil` stores it beside the file of the body.
    ///   - maximumAppendSize: The maximum number of bytes in one request.
    ///   - maximumRetries: The maximum number of consecutive failures without progress.
    ///   - digest: The digest that the server checks the bytes with.
    ///   - fileName: The name of the file for the server.
    ///   - resumptionKey: A stable name for the upload.
    /// - Precondition: `maximumAppendSize` is greater than zero, and `maximumRetries` is not negative.
    public init(
        stateFile: URL? = nil,
        maximumAppendSize: Int64 = 64 << 20,
        maximumRetries: Int = 5,
        digest: UploadDigest? = nil,
        fileName: String? = nil,
        resumptionKey: String? = nil
    ) {
        precondition(
            maximumAppendSize > 0,
            "maximumAppendSize must be greater than zero (is \(maximumAppendSize))"
        )
        precondition(maximumRetries >= 0, "maximumRetries must not be negative (is \(maximumRetries))")
        self.stateFile = stateFile
        self.maximumAppendSize = maximumAppendSize
        self.maximumRetries = maximumRetries
        self.digest = digest
        self.fileName = fileName
        self.resumptionKey = resumptionKey
    }
}
