#if SQLite
import Foundation
import GRDB
import Networking

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

/// What a failure says of the file.
enum CacheFault: Equatable {
    /// It must not be used any more.
    case damage
    /// Its tables are not those that were there when it was opened.
    case unknownTables
    case newer(Int)
    /// It is a database, but not a store's.
    case foreign
    case full
    case busy
    /// In words that name the file.
    case file(String)
    /// In words of SQLite's.
    case other(String)

    init(_ error: any Error, _ file: URL) {
        switch error {
        // What is not to be written to although it may be says so in its header, as no version of SQLite's does.
        case let error as DatabaseError
        where error.extendedResultCode == .SQLITE_READONLY && access(file.path, W_OK) == 0:
            self = .damage
        case let error as DatabaseError:
            self.init(error)
        case let error as FileFault where error.code == EWOULDBLOCK || error.code == EINTR:
            self = .busy
        case let error as FileFault:
            self = .file(error.reason)
        case CacheSchema.Mismatch.newer(let version):
            self = .newer(version)
        case CacheSchema.Mismatch.foreign:
            self = .foreign
        case CacheSchema.Mismatch.outdated, CacheSchema.Mismatch.keyless:
            self = .unknownTables
        case CacheSchema.Mismatch.senseless, is RowDecodingError:
            self = .damage
        default:
            self = .other("\(error)")
        }
    }

    private init(_ error: DatabaseError) {
        switch error.resultCode {
        // A constraint that does not hold is damage, too: what is written keeps them all.
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH: self = .damage
        case .SQLITE_ERROR, .SQLITE_SCHEMA: self = .unknownTables
        case .SQLITE_FULL: self = .full
        case .SQLITE_BUSY, .SQLITE_LOCKED: self = .busy
        default:
            self = .other("SQLite error \(error.extendedResultCode.rawValue), \(error.message ?? "unknown")")
        }
    }

    var isDamage: Bool {
        self == .damage
    }

    /// The same for the caller.
    func error(_ file: URL) -> SQLiteCacheError {
        switch self {
        case .damage: .damaged(movedTo: nil)
        case .newer(let format): .newer(file: file, format: format)
        case .full: .full(file: file)
        case .busy: .busy(file: file)
        case .foreign:
            .unusable(
                reason: "\(file.path) is a database of another program. Use another file for the cache."
            )
        case .file(let reason): .unusable(reason: reason)
        case .unknownTables:
            .unusable(reason: "The tables of the cache's file \(file.path) are unknown. Remove the file.")
        case .other(let reason): .unusable(reason: "The cache's file \(file.path) could not be used: \(reason).")
        }
    }
}
#endif
