#if SQLite
import Foundation
import GRDB
import Networking

/// The tables of the file, and how older ones become newer.
///
/// The version is the file's `user_version`, which changes in the transaction that changes the tables. A version is
/// never edited once it was released: the next one is appended. GRDB's `DatabaseMigrator` keeps names in a table of its
/// own; a number in the file's header can be looked at with each write, and so a process notices when a newer one has
/// migrated the file.
struct CacheSchema: Sendable {
    /// What makes each version of the one before; the first makes it of an empty file.
    let steps: [String]

    var version: Int {
        steps.count
    }

    /// In the file's header: whose the file is.
    static let applicationID = 0x4e57_4348

    /// The tables as they are now.
    ///
    /// Integers come first and bodies last, so that SQLite need not follow a long row to what is looked for. The totals
    /// are kept by triggers, and so by whoever writes.
    static let current = CacheSchema(steps: [
        """
        CREATE TABLE keys (
            id INTEGER PRIMARY KEY,
            used INTEGER NOT NULL,
            url BLOB NOT NULL,
            owner BLOB NOT NULL
        );
        CREATE UNIQUE INDEX keys_by_url ON keys (url, owner);
        CREATE INDEX keys_by_use ON keys (used);
        CREATE TABLE entries (
            id INTEGER PRIMARY KEY,
            key INTEGER NOT NULL,
            cost INTEGER NOT NULL,
            checksum INTEGER NOT NULL,
            uuid BLOB NOT NULL,
            head BLOB NOT NULL,
            body BLOB
        );
        CREATE UNIQUE INDEX entries_by_key ON entries (key, uuid);
        CREATE TABLE totals (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            cost INTEGER NOT NULL CHECK (cost >= 0),
            count INTEGER NOT NULL CHECK (count >= 0)
        );
        INSERT INTO totals (id, cost, count) VALUES (1, 0, 0);
        CREATE TRIGGER entry_added AFTER INSERT ON entries BEGIN
            UPDATE totals SET cost = cost + NEW.cost, count = count + 1;
        END;
        CREATE TRIGGER entry_removed AFTER DELETE ON entries BEGIN
            UPDATE totals SET cost = cost - OLD.cost, count = count - 1;
        END;
        """,
        """
        CREATE TABLE secrets (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            digest_key BLOB NOT NULL
        );
        """,
        // The latest removals by digests of their URLs; an empty one stands for all URLs. The first number is random,
        // so that a number of another file is not taken for one of this file.
        """
        CREATE TABLE changes (
            number INTEGER PRIMARY KEY,
            url TEXT NOT NULL UNIQUE
        );
        INSERT INTO changes (number, url) SELECT abs(random() / 4096), '';
        """,
    ])

    /// The first version with a key for digests of credentials.
    ///
    /// What older files hold of credentials could be found by trying. Their pages are not to be reused, so they are
    /// removed and not migrated.
    private static let firstWithKey = 2

    /// Makes the file's version this one.
    ///
    /// - Throws: ``Mismatch``, or what SQLite does.
    func migrate(_ db: Database) throws {
        guard try needsMigration(db) else { return }
        try db.inTransaction(.immediate) {
            // Another process may have been faster.
            guard try needsMigration(db) else { return .commit }
            for step in steps[try Self.version(of: db)...] {
                try db.execute(sql: step)
            }
            // As an argument, since an error shows a statement's text.
            try db.execute(
                sql: "INSERT OR IGNORE INTO secrets (id, digest_key) VALUES (1, ?)",
                arguments: [Data(CacheDigestKey().bytes)]
            )
            try db.execute(sql: "PRAGMA application_id = \(Self.applicationID); PRAGMA user_version = \(version)")
            return .commit
        }
    }

    /// Returns the key for the digests of credentials in the file.
    static func digestKey(in db: Database) throws -> CacheDigestKey {
        var key: CacheDigestKey?
        try db.forEachRow("SELECT digest_key FROM secrets") { row in
            key = row.bytes(0) { CacheDigestKey(bytes: Array($0)) }
        }
        guard let key else { throw Mismatch.senseless }
        return key
    }

    /// Whether the file has this version.
    func isThat(of db: Database) throws -> Bool {
        try Self.version(of: db) == version
    }

    private func needsMigration(_ db: Database) throws -> Bool {
        let found = try Self.version(of: db)
        let owner = try Int.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        if owner == 0, found == 0 {
            guard try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0 else { throw Mismatch.foreign }
            return true
        }
        guard owner == Self.applicationID else { throw Mismatch.foreign }
        guard found <= version else { throw Mismatch.newer(found) }
        guard found > 0 else { throw Mismatch.senseless }
        guard found >= Self.firstWithKey else { throw Mismatch.keyless }
        return found < version
    }

    private static func version(of db: Database) throws -> Int {
        try Int.fetchOne(db.cachedStatement(sql: "PRAGMA user_version")) ?? 0
    }

    /// Why a sound file is not a store's.
    enum Mismatch: Error {
        /// A newer version has written it.
        case newer(Int)
        /// An older version has written it, without a key for digests of credentials.
        case keyless
        /// It is somebody else's database.
        case foreign
        /// Its tables are not those of its version.
        case senseless
        /// Another process has given it another version since it was opened.
        case outdated
    }
}
#endif
