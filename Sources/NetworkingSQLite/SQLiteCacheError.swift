#if SQLite
public import Foundation

/// Why a ``SQLiteCacheStore`` could not do what it was asked for.
public enum SQLiteCacheError: Error, LocalizedError, CustomStringConvertible {
    /// The file was damaged, and a new one takes its place; nil when another has moved it.
    case damaged(movedTo: URL?)
    /// A newer version of this library has written the file.
    case newer(file: URL, format: Int)
    /// There is no space left, also after removing what was used longest ago.
    case full(file: URL)
    /// Another process has kept the file for itself for too long.
    case busy(file: URL)
    /// The file cannot be used.
    case unusable(reason: String)

    /// What happened and what to do about it, without secrets.
    public var description: String {
        switch self {
        case .damaged(let other?):
            "The cache's file was damaged and was moved to \(other.path), which can be removed. The cache starts empty."
        case .damaged(nil):
            "The cache's file was damaged. The cache starts empty."
        case .newer(let file, let format):
            "\(file.path) was written by a newer version of this library, in its format \(format). Use that version, another "
                + "file for each version, or remove the file."
        case .full(let file):
            "There is no space left for \(file.path). Free some space, or give the store a smaller limit."
        case .busy(let file):
            "Another process has locked \(file.path) for too long. Try again."
        case .unusable(let reason):
            reason
        }
    }

    /// One sentence for the user of the app, which `localizedDescription` returns: without file name.
    public var errorDescription: String? {
        "Saved data could not be read or written."
    }
}
#endif
