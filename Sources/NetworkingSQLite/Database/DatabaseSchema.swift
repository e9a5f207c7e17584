#if SQLite
import Foundation
import GRDB
import Synchronization

/// The tables of a file and their migrations.
///
/// The version is the `user_version` of the file, which changes in the same transaction as the tables. A released step
/// is never edited: the next version appends one. GRDB's `DatabaseMigrator` would keep names in a separate table. A
/// number in the header of the file can be checked with each write, so a process notices that a newer version has
/// migrated the file.
struct DatabaseSchema: Sendable {
    /// The number in the header of the file that identifies the store.
    let applicationID: Int
    /// The statements that turn each version into the next; the first step turns an empty file into version 1.
    var steps: [String]
    /// The oldest version that can be migrated.
    var oldestVersion = 1
    /// Adds rows that cannot be part of a step, such as random keys, at the end of each migration.
    var addRows: @Sendable (Database) throws -> Void = { _ in }
    /// The statements of the store, which must compile.
    var statements: [String]

    var version: Int {
        steps.count
    }

    /// Migrates the file to the current version and checks its tables.
    ///
    /// - Throws: ``Mismatch``, or an error of SQLite.
    func migrate(_ db: Database) throws {
        if try needsMigration(db) {
            try db.inTransaction(.immediate) {
                // Another process may have migrated the file since the first check.
                guard try needsMigration(db) else { return .commit }
                for step in steps[try Self.version(of: db)...] {
                    try db.execute(sql: step)
                }
                try addRows(db)
                try db.execute(sql: "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(version)")
                return .commit
            }
        }
        // A view or a trigger in place of a table could run any query.
        guard try Self.objects(of: db) == objects() else { throw Mismatch.invalid }
        do {
            for sql in statements {
                _ = try db.cachedStatement(sql: sql)
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            throw Mismatch.invalid
        }
    }

    /// Whether the file has this version.
    func isVersion(of db: Database) throws -> Bool {
        try Self.version(of: db) == version
    }

    private func needsMigration(_ db: Database) throws -> Bool {
        let found = try Self.version(of: db)
        let owner = try Int.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        if owner == 0, found == 0 {
            guard try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0 else { throw Mismatch.foreign }
            return true
        }
        guard owner == applicationID else { throw Mismatch.foreign }
        guard found <= version else { throw Mismatch.newer(found) }
        guard found > 0 else { throw Mismatch.invalid }
        guard found >= oldestVersion else { throw Mismatch.outdated }
        return found < version
    }

    private static func version(of db: Database) throws -> Int {
        try Int.fetchOne(db.cachedStatement(sql: "PRAGMA user_version")) ?? 0
    }

    /// The objects that the steps create.
    private func objects() throws -> Set<[UInt8]> {
        try DatabaseQueue()
            .inDatabase { db in
                for step in steps {
                    try db.execute(sql: step)
                }
                return try Self.objects(of: db)
            }
    }

    /// The SQL texts that created the tables, indexes and triggers of a file.
    private static func objects(of db: Database) throws -> Set<[UInt8]> {
        var objects: Set<[UInt8]> = []
        try db.forEachRow("SELECT substr(type || ' ' || name || ' ' || ifnull(sql, ''), 1, 100000) FROM sqlite_master")
        {
            objects.insert($0.bytes(0) { Array($0) })
            guard objects.count < 100 else { throw Mismatch.invalid }
        }
        return objects
    }

    /// The reason why a valid database is not a file of the store.
    enum Mismatch: Error {
        /// A newer version of the library has written it.
        case newer(Int)
        /// An older version of the library has written it, which cannot be migrated.
        case outdated
        /// It is a database of another program.
        case foreign
        /// Its tables are not those of its version.
        case invalid
        /// Another process has migrated it since it was opened.
        case changed
    }
}
#endif
