import NetworkingCore

/// How a download treats a partial file or a changed file, and which checksum it expects.
///
/// ```swift
/// var options = DownloadOptions()
/// options.checksum = .sha256("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
/// try await network.download(request, to: url, options: options)
/// ```
public struct DownloadOptions: Sendable {
    /// What happens to the partial file of an earlier download to the same place.
    public enum PartialFile: Sendable, Hashable {
        /// The download resumes from the partial file, if the server still has the same file.
        case resume
        /// The partial file is discarded when the new file starts to arrive.
        case discard
    }

    /// The reaction to a file on the server that differs from the one of the partial file.
    public enum ChangedFile: Sendable, Hashable {
        /// The partial file is discarded and the download restarts.
        case restart
        /// The partial file is kept and the download fails with ``NetworkingError/Kind/representationChanged``.
        case fail
    }

    #if Crypto
    /// Whether the digest that the server states for the file is checked (`Repr-Digest`, RFC 9530).
    public enum DigestCheck: Sendable, Hashable {
        /// A digest is not checked.
        case ignored
        /// A digest in SHA-256 or SHA-512 is checked if the last response has one.
        case ifPresent
        /// The request asks for a digest (`Want-Repr-Digest`), and the download fails with
        /// ``NetworkingError/Kind/invalidResponse`` if the last response has none that can be checked.
        case required
    }

    /// Whether the digest that the server states for the file is checked; by default, if there is one.
    ///
    /// It is computed over the whole file, including bytes of an earlier download, before the file gets its name. If it
    /// differs, the download fails with ``NetworkingError/Kind/checksumMismatch``, and the file is removed. A request
    /// with its own `Accept-Encoding` or `Range` is not checked, because its file has other bytes.
    public var digest = DigestCheck.ifPresent
    #endif

    /// What happens to the partial file of an earlier download to the same place; the default is to resume from it.
    public var partialFile = PartialFile.resume

    /// What happens if the server's file has changed; the default is to restart the download.
    public var changedFile = ChangedFile.restart

    /// The expected checksum of the complete file; `nil`, the default, checks nothing.
    public var checksum: Checksum?

    /// A stable name for the resource, for URLs that change each time, such as signed URLs that expire after an hour.
    ///
    /// Without a key, a partial file is resumed if the URL and the user are the same. With a key, it is resumed if the
    /// key is the same. Do not use the same key for two files.
    public var resumptionKey: String?

    /// Creates options.
    ///
    /// - Parameters:
    ///   - partialFile: What happens to the partial file of an earlier download.
    ///   - changedFile: What happens if the server's file has changed.
    ///   - checksum: The expected checksum of the complete file.
    ///   - resumptionKey: A stable name for the resource, for URLs that change each time.
    public init(
        partialFile: PartialFile = .resume,
        changedFile: ChangedFile = .restart,
        checksum: Checksum? = nil,
        resumptionKey: String? = nil
    ) {
        self.partialFile = partialFile
        self.changedFile = changedFile
        self.checksum = checksum
        self.resumptionKey = resumptionKey
    }
}
