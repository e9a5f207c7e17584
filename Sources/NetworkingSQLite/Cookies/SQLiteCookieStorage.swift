#if SQLite
public import Foundation
public import NetworkingCookies

/// Stores cookies in an SQLite database that only the current user of the machine can read.
///
/// ```swift
/// let storage = SQLiteCookieStorage(file: folder.appending(path: "cookies.sqlite"))
/// let jar = try await CookieJar(in: storage)
/// ```
///
/// Each principal has a row, and a save writes only the rows that have changed. Several processes can share a file if
/// each serves other principals. If several processes serve the same principal, the last one to save replaces the
/// cookies of the others. A save is complete when it returns, or has not happened at all. Removed cookies are
/// overwritten. The file is not encrypted.
///
/// The file is created when it is first used. A damaged row is removed, and the other principals keep their cookies. A
/// damaged file is renamed, reported once with `CookieStorageError.damaged(movedTo:)`, and replaced by an empty one.
/// The last two damaged files are kept.
public final class SQLiteCookieStorage: CookieStorage {
    /// The file of the database; SQLite and the storage create other files with names that start with its name.
    public var file: URL {
        database.file
    }

    let database: DatabaseHandle<CookieFile, CookieStorageError>

    /// Creates a storage.
    ///
    /// - Parameter file: The file. It and its directory are created when cookies are loaded or saved for the first
    ///   time.
    public convenience init(file: URL) {
        self.init(file: file, settings: Self.settings)
    }

    static let settings = DatabaseFile.Settings(label: "SQLiteCookieStorage", schema: .cookies, isDurable: true)

    init(file: URL, settings: DatabaseFile.Settings) {
        database = DatabaseHandle(file: file, settings: settings, failure: CookieStorageError.init) { location in
            try CookieFile(at: location, settings)
        }
    }

    /// Returns the cookies of the file; `nil` if none were saved.
    ///
    /// - Returns: The cookies.
    /// - Throws: `CookieStorageError`.
    public func load() async throws -> CookieArchive? {
        try await database.using { try await $0.load() }
    }

    /// Replaces the cookies of the principals that have changed since this object has loaded or saved them.
    ///
    /// If it has done neither, it replaces all cookies. A save that has started completes even if its task is
    /// cancelled.
    ///
    /// - Parameter archive: The cookies.
    /// - Throws: `CookieStorageError`.
    public func save(_ archive: CookieArchive) async throws {
        try await database.using { try await $0.save(archive) }
    }
}

extension CookieStorageError {
    fileprivate init(_ fault: DatabaseFault, _ file: URL) {
        self =
            if case .damage(let moved?) = fault {
                .damaged(movedTo: moved)
            } else {
                .unusable(reason: fault.reason(file, store: "cookie storage"))
            }
    }
}
#endif
