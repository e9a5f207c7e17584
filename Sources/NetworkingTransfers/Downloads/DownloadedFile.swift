public import FoundationForNetworking
public import NetworkingCore

/// A file that was downloaded completely and moved to its destination.
public struct DownloadedFile: Sendable, Hashable {
    /// The URL of the file.
    public let url: URL

    /// The size of the file, in bytes.
    public let byteCount: Int64

    /// The number of bytes that were kept from an earlier download and not fetched again.
    public let resumedByteCount: Int64

    /// The response that delivered the last bytes, without its body.
    ///
    /// Its status is 206 if the download was resumed.
    public let response: HTTPResponseData
}

extension DownloadedFile: CustomStringConvertible {
    /// The name and size of the file.
    public var description: String {
        "\(PrintableText.singleLine(url.lastPathComponent)), \(byteCount) bytes"
    }
}
