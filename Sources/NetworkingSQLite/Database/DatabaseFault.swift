#if SQLite
import CLibraryForNetworking
import Foundation
import GRDB
import GRDBSQLite
import NetworkingCore

/// The reason why a database file cannot be used.
enum DatabaseFault: Error, Equatable {
    /// The file is damaged and must not be used any more.
    ///
    /// The URL is the new name of the file if this process has moved it.
    case damage(movedTo: URL?)
    /// SQLite reports damage, which may also be an error of the disk.
    case unreadable
    /// The tables have changed since the file was opened.
    case unknownTables
    /// A newer version of the library, with this format, has written the file.
    case newer(Int)
    /// The file is a database of another program.
    case foreign
    case full
    case busy
    /// A failure of the file system; the text names the file.
    case file(String)
    /// Another error of SQLite.
    case other(String)
    /// A commit has failed, and a process that opens the file later may find the change in it.
    indirect case uncertain(DatabaseFault)

    init(_ error: any Error, _ file: URL) {
        switch error {
        case let fault as DatabaseFault:
            self = fault
        case let error as DatabaseError
        where error.extendedResultCode == .SQLITE_READONLY && Self.hasUnknownVersion(file):
            self = .damage(movedTo: nil)
        case let error as DatabaseError:
            self.init(error)
        // GRDB asks Foundation for the length of the log.
        case is CocoaError:
            self = .unreadable
        case let error as FileFault where error.code == EWOULDBLOCK:
            self = .busy
        case let error as FileFault:
            self = .file(error.reason)
        case DatabaseSchema.Mismatch.newer(let version):
            self = .newer(version)
        case DatabaseSchema.Mismatch.foreign:
            self = .foreign
        case DatabaseSchema.Mismatch.changed, DatabaseSchema.Mismatch.outdated:
            self = .unknownTables
        case DatabaseSchema.Mismatch.invalid, is RowDecodingError:
            self = .damage(movedTo: nil)
        default:
            self = .other("\(error)")
        }
    }

    /// Whether the header of a file has an unknown version, for which SQLite reports a writable file as read-only.
    ///
    /// It reports the same for an intact file that it could open only for reading, for example because of too many open
    /// files. SQLite also reads the header here, because closing another descriptor would release its locks.
    private static func hasUnknownVersion(_ file: URL) -> Bool {
        var connection: OpaquePointer?
        defer { sqlite3_close(connection) }
        guard sqlite3_open_v2(file.path, &connection, SQLITE_OPEN_READONLY, nil) == SQLITE_OK else { return false }
        var database: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &database) == SQLITE_OK, let database
        else { return false }
        var versions: [UInt8] = [0, 0]
        // The two versions, for writing and for reading, follow the size of the pages.
        guard database.pointee.pMethods?.pointee.xRead(database, &versions, 2, 18) == SQLITE_OK else { return false }
        return versions.contains { $0 > 2 }
    }

    private init(_ error: DatabaseError) {
        switch error.resultCode {
        // The stores never write a row that breaks a constraint, so a broken constraint is damage, too.
        case .SQLITE_CONSTRAINT, .SQLITE_MISMATCH: self = .damage(movedTo: nil)
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: self = .unreadable
        case .SQLITE_ERROR, .SQLITE_SCHEMA: self = .unknownTables
        case .SQLITE_FULL: self = .full
        case .SQLITE_BUSY, .SQLITE_LOCKED: self = .busy
        default:
            self = .other("SQLite error \(error.extendedResultCode.rawValue), \(error.message ?? "unknown")")
        }
    }

    private static let uncertainty = "The change may be there when the file is opened again."

    var isDamage: Bool {
        if case .damage = self { true } else { false }
    }

    /// Describes the fault and what to do about it, without secrets.
    ///
    /// - Parameters:
    ///   - file: The file of the database.
    ///   - store: The noun for the contents of the file, such as `cache`.
    /// - Returns: One or two sentences.
    func reason(_ file: URL, store: String) -> String {
        switch self {
        case .damage(let other?):
            "The file of the \(store) was damaged and was moved to \(other.path). The \(store) starts empty."
        case .damage(nil):
            "The file of the \(store) was damaged. The \(store) starts empty."
        case .unreadable:
            "\(file.path), the file of the \(store), could not be read. The disk may have an error. The file is kept."
        case .unknownTables:
            "The tables in \(file.path), the file of the \(store), are unknown. Remove the file."
        case .newer(let format):
            "\(file.path) was written by a newer version of this library, in its format \(format). Use that version, "
                + "or another file for each version."
        case .foreign:
            "\(file.path) is a database of another program. Use another file for the \(store)."
        case .full:
            "There is no space left for \(file.path)."
        case .busy:
            "Another process has locked \(file.path) for too long. Try again."
        case .file(let reason):
            reason
        case .other(let reason):
            "\(file.path), the file of the \(store), cannot be used: \(reason)."
        case .uncertain(let fault):
            "\(fault.reason(file, store: store)) \(Self.uncertainty)"
        }
    }
}
#endif
