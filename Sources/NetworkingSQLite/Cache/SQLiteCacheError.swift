#if SQLite
public import Foundation
public import NetworkingCore

/// An error of ``SQLiteCacheStore``.
public enum SQLiteCacheError: Error, LocalizedError, ErrorWithUserText, CustomStringConvertible {
    /// The file was damaged and is replaced by a new one.
    ///
    /// The URL is the new name of the file; `nil` if another process has moved it.
    case damaged(movedTo: URL?)
    /// A newer version of this library has written the file.
    case newer(file: URL, format: Int)
    /// There is no space left, even after the least recently used entries were removed.
    case full(file: URL)
    /// Another process has locked the file for too long.
    case busy(file: URL)
    /// The file cannot be used.
    case unusable(reason: String)

    init(_ fault: DatabaseFault, _ file: URL) {
        self =
            switch fault {
            case .damage(let other): .damaged(movedTo: other)
            case .newer(let format): .newer(file: file, format: format)
            case .full: .full(file: file)
            case .busy: .busy(file: file)
            case .foreign, .file, .unknownTables, .unreadable, .other, .uncertain:
                .unusable(reason: fault.reason(file, store: "cache"))
            }
    }

    /// The error and what to do about it, without secrets.
    public var description: String {
        switch self {
        case .damaged(let other?):
            "The cache's file was damaged and was moved to \(other.path), which can be removed. The cache starts empty."
        case .damaged(nil):
            "The cache's file was damaged. The cache starts empty."
        case .newer(let file, let format):
            "\(file.path) was written by a newer version of this library, in its format \(format). Use that version, "
                + "another file for each version, or remove the file."
        case .full(let file):
            "There is no space left for \(file.path). Free some space, or give the store a smaller limit."
        case .busy(let file):
            "Another process has locked \(file.path) for too long. Try again."
        case .unusable(let reason):
            reason
        }
    }

    package var userText: UserText {
        UserText(
            key: "cache.unusable",
            description: "Saved data could not be read or written.",
            reason: "The file of the saved data is damaged or in use, or there is not enough free space.",
            suggestion: "Check the free space on this device and try again."
        )
    }
}
#endif
