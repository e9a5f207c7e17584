public import NetworkingCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A file that was downloaded, whole and in its place.
public struct DownloadedFile: Sendable, Hashable {
    /// Where it is.
    public let url: URL

    /// How many bytes it has.
    public let byteCount: Int64

    /// How many of them an earlier download had left, and were not fetched again.
    public let resumedByteCount: Int64

    /// The response that brought the last of it, without the body.
    ///
    /// It is a 206 where a part was gone on with.
    public let response: HTTPResponseData
}

extension DownloadedFile: CustomStringConvertible {
    /// Its name and how many bytes it has.
    public var description: String {
        "\(PrintableText.singleLine(url.lastPathComponent)), \(byteCount) bytes"
    }
}
