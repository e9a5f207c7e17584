import NetworkingCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Where a download goes.
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
    ///   - url: The file; its directory must be there.
    ///   - existingFile: What becomes of a file that is there already.
    /// - Returns: The destination.
    public static func file(_ url: URL, ifExists existingFile: ExistingFilePolicy = .fail) -> DownloadDestination {
        DownloadDestination(place: .file, url: url, existingFile: existingFile)
    }

    /// A file in a directory, with the name that the server suggests: ``HTTPResponseData/suggestedFileName``.
    ///
    /// - Parameters:
    ///   - url: The directory, which must be there.
    ///   - existingFile: What becomes of a file of that name.
    /// - Returns: The destination.
    public static func directory(
        _ url: URL,
        ifExists existingFile: ExistingFilePolicy = .number
    ) -> DownloadDestination {
        DownloadDestination(place: .directory, url: url, existingFile: existingFile)
    }
}

/// What becomes of a file that is where a new one is to be.
public enum ExistingFilePolicy: Sendable, Hashable {
    /// It stays, and the new one is an error.
    case fail
    /// It goes, at the moment in which the new one is complete.
    case replace
    /// It stays, and the new one gets a number: `report 2.pdf`.
    case number
}
