public import FoundationForNetworking
import NetworkingCore

/// The file or directory that a download is saved to.
///
/// ```swift
/// try await network.download(request, to: .file(url, ifExists: .replace))
/// try await network.download(request, to: .directory(downloads))   // "report.pdf", or "report 2.pdf"
/// ```
public struct DownloadDestination: Sendable, Hashable {
    package enum Place: Sendable, Hashable {
        case file
        case directory
    }

    package let place: Place
    package let url: URL
    package let existingFile: ExistingFilePolicy

    /// A file.
    ///
    /// - Parameters:
    ///   - url: The file. Its directory must exist.
    ///   - existingFile: The policy for a file that already exists; by default the download fails.
    /// - Returns: The destination.
    public static func file(_ url: URL, ifExists existingFile: ExistingFilePolicy = .fail) -> DownloadDestination {
        DownloadDestination(place: .file, url: url, existingFile: existingFile)
    }

    /// A file in a directory, with the name that the server suggests: ``HTTPResponseData/suggestedFileName``.
    ///
    /// The name is `download` if the server suggests none.
    ///
    /// - Parameters:
    ///   - url: The directory, which must exist.
    ///   - existingFile: The policy for an existing file of that name; by default the new file gets a number.
    /// - Returns: The destination.
    public static func directory(
        _ url: URL,
        ifExists existingFile: ExistingFilePolicy = .number
    ) -> DownloadDestination {
        DownloadDestination(place: .directory, url: url, existingFile: existingFile)
    }
}

/// What happens to a file that already exists at the destination.
public enum ExistingFilePolicy: Sendable, Hashable {
    /// The existing file is kept and the download fails.
    case fail
    /// The existing file is replaced at the moment the new one is complete.
    case replace
    /// The existing file is kept and the new one gets a number: `report 2.pdf`.
    case number
}
