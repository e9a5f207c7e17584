#if SQLite
import Foundation
import GRDB
import NetworkingCookies
import NetworkingCore
import Synchronization

/// The open file of the cookies.
final class CookieFile: OpenDatabase {
    private let database: DatabaseFile
    /// The contents of the file as this object knows them; `nil` before the first load or save.
    ///
    /// Changed on the thread of the database only.
    private let known = Mutex<Contents?>(nil)

    private struct Contents: Sendable {
        let key: [UInt8]
        let sessions: [[UInt8]: CookieArchive.Session]

        init(_ archive: CookieArchive) {
            key = archive.key
            sessions = Dictionary(archive.sessions.map { ($0.owner, $0) }) { $1 }
        }
    }

    // A jar has at most 3,000 cookies, which take at most 25 MiB.
    private static let maximumCount = 10_000
    private static let maximumSize = 64 << 20

    /// Opens the file.
    ///
    /// The caller must have the lock of the location.
    init(at location: DatabaseLocation, _ settings: DatabaseFile.Settings) throws {
        database = try DatabaseFile(at: location, settings)
    }

    var isInPlace: Bool {
        database.isInPlace
    }

    func close() {
        database.close()
    }

    /// Reads all cookies; `nil` if none were ever saved.
    ///
    /// Sessions that are damaged are removed.
    func load() async throws -> CookieArchive? {
        try await database.perform { [self] db in
            let archive = try database.transaction(db) { try Self.read($0) }
            known.withLock { $0 = archive.map { Contents($0) } }
            return archive
        }
    }

    private static func read(_ db: Database) throws -> CookieArchive? {
        var key: [UInt8]?
        try db.forEachRow(CookieSQL.key) { row in key = row.bytes(0) { Array($0) } }
        guard let key else { return nil }
        try db.forEachRow(CookieSQL.totals) { row in
            guard row.integer(0) <= maximumCount, 0...Int64(maximumSize) ~= row.integer(1) else {
                throw DatabaseSchema.Mismatch.invalid
            }
        }
        var sessions: [CookieArchive.Session] = []
        var damaged: [Int64] = []
        try db.forEachRow(CookieSQL.sessions) { row in
            let checksum = row.integer(1)
            let session = row.bytes(2) { owner in
                row.bytes(3) { bytes -> CookieArchive.Session? in
                    guard checksum == Checksum.value(of: [owner, bytes]),
                        let session = try? JSONDecoder().decode(CookieArchive.Session.self, from: Data(bytes)),
                        owner.elementsEqual(session.owner)
                    else { return nil }
                    return session
                }
            }
            if let session {
                sessions.append(session)
            } else {
                damaged.append(row.integer(0))
            }
        }
        for number in damaged {
            try db.run(CookieSQL.removeNumber, [number])
        }
        return CookieArchive(key: key, sessions: sessions)
    }

    /// Writes the sessions that have changed since the last load or save.
    ///
    /// Without either, it replaces all sessions.
    func save(_ archive: CookieArchive) async throws {
        let contents = Contents(archive)
        try await database.perform { [self] db in
            let old = known.withLock { $0 }
            try database.transaction(db) { db in
                if old?.key != contents.key {
                    try db.run(CookieSQL.setKey, [Data(contents.key)])
                }
                for owner in try old?.sessions.keys.map(\.self) ?? Self.owners(db)
                where contents.sessions[owner] == nil {
                    try db.run(CookieSQL.remove, [Data(owner)])
                }
                let encoder = JSONEncoder()
                encoder.outputFormatting = .sortedKeys
                for (owner, session) in contents.sessions where old?.sessions[owner] != session {
                    let data = try encoder.encode(session)
                    let checksum = owner.withUnsafeBytes { owner in
                        data.withUnsafeBytes { Checksum.value(of: [owner, $0]) }
                    }
                    try db.run(CookieSQL.set, [checksum, Data(owner), data])
                }
            }
            known.withLock { $0 = contents }
            // Removed cookies must not stay in the log.
            database.emptyLog(db, waiting: .zero)
        }
        // Otherwise another process has replaced the file meanwhile, and the save is repeated with the new one.
        guard isInPlace else { throw DatabaseSchema.Mismatch.changed }
    }

    private static func owners(_ db: Database) throws -> [[UInt8]] {
        var owners: [[UInt8]] = []
        try db.forEachRow(CookieSQL.owners) { row in owners.append(row.bytes(0) { Array($0) }) }
        return owners
    }
}

extension CookieArchive.Session {
    fileprivate var owner: [UInt8] {
        principal.map { Principal(id: $0) }.ownerBytes
    }
}
#endif
