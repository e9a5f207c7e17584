#if TestServer
public import FoundationForNetworking

/// An upload as a ``TestServer`` has received it.
public struct RecordedUpload: Sendable, Hashable {
    /// The number of the upload, which is the last segment of its path.
    ///
    /// The first one is 1.
    public var number: Int

    /// The protocol; `nil` for an ordinary request.
    public var uploadProtocol: TestUploads.UploadProtocol?

    /// The number of bytes that the server has stored.
    public var offset: Int64

    /// The length that the client has announced; `nil` if it has not.
    public var length: Int64?

    /// Whether the client has completed the upload.
    public var isComplete: Bool

    /// Whether the server accepts requests for the upload.
    ///
    /// `false` after cancellation, expiry, a failed digest or ``TestUploads/Fault/forget(_:)``.
    public var isAvailable: Bool

    /// The number of bytes that have arrived in requests the server has accepted.
    public var receivedByteCount: Int64

    /// The number of bytes that have arrived and are not stored, so that the client has to send them twice.
    public var repeatedByteCount: Int64 {
        receivedByteCount - offset
    }

    /// The number of requests that were rejected because of their offset or their length.
    public var rejectedRequestCount: Int

    /// The SHA-256 digest of the stored bytes, in hexadecimal digits.
    ///
    /// `nil` in builds without the trait `Crypto`.
    public var sha256: String?

    /// The metadata of tus, decoded.
    ///
    /// Empty with the draft.
    public var metadata: [String: Data]

    /// The file with the stored bytes; `nil` without ``TestUploads/Options/directory``.
    public var file: URL?
}
#endif
