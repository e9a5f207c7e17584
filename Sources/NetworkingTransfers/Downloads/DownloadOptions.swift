import NetworkingCore

/// How a download goes on with what is there, and what is expected of it.
///
/// ```swift
/// var options = DownloadOptions()
/// options.checksum = .sha256("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
/// try await network.download(request, to: url, options: options)
/// ```
public struct DownloadOptions: Sendable {
    /// What becomes of the part that an earlier download to the same place has left.
    public enum PartialFile: Sendable, Hashable {
        /// It is gone on with, if the server still has the same file.
        case resume
        /// It goes, when the new one begins to arrive.
        case discard
    }

    /// What is done when the server has another file than the one of which a part is kept.
    public enum ChangedFile: Sendable, Hashable {
        /// The part goes, and the download begins anew.
        case startAnew
        /// The part stays, and the download fails with ``NetworkingError/Kind/representationChanged``.
        case fail
    }

    /// What becomes of the part that an earlier download to the same place has left; it is gone on with by default.
    public var keptPart = PartialFile.resume

    /// What is done when the server's file has changed; by default it is downloaded anew.
    public var changedFile = ChangedFile.startAnew

    /// What the whole file must come to; nil when nobody knows.
    public var checksum: Checksum?

    /// A name for what is downloaded, where its URL is another each time, as one that is signed for an hour.
    ///
    /// A part that is kept is gone on with when URL and user are the same. With this name, when it is. Two files must
    /// not have one.
    public var resumptionKey: String?

    /// Creates options.
    ///
    /// - Parameters:
    ///   - keptPart: What becomes of the part that an earlier download has left.
    ///   - changedFile: What is done when the server's file has changed.
    ///   - checksum: What the whole file must come to.
    ///   - resumptionKey: A name for what is downloaded, where its URL is another each time.
    public init(
        keptPart: PartialFile = .resume,
        changedFile: ChangedFile = .startAnew,
        checksum: Checksum? = nil,
        resumptionKey: String? = nil
    ) {
        self.keptPart = keptPart
        self.changedFile = changedFile
        self.checksum = checksum
        self.resumptionKey = resumptionKey
    }
}
