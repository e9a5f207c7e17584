#if SQLite
import Foundation
import GRDB
import NetworkingCaching

extension DatabaseSchema {
    /// The tables of the cache.
    ///
    /// Integers come first and bodies last, so that SQLite need not follow a long row to the columns that it compares.
    /// Triggers keep the totals up to date.
    static let cache = DatabaseSchema(
        applicationID: 0x4e57_4348,
        steps: [
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
            // The latest removals by digests of their URLs; an empty digest means all URLs. The first number is
            // random, so that a number of another file is not mistaken for one of this file.
            """
            CREATE TABLE changes (
                number INTEGER PRIMARY KEY,
                url TEXT NOT NULL UNIQUE
            );
            INSERT INTO changes (number, url) SELECT abs(random() / 4096), '';
            """,
            // From here on, digests replace the credentials in URLs.
            """
            DELETE FROM entries;
            DELETE FROM keys;
            """,
            // The groups of entries (RFC 9875), by digests of their origins and names.
            """
            CREATE TABLE memberships (
                name TEXT NOT NULL,
                entry INTEGER NOT NULL,
                PRIMARY KEY (name, entry)
            ) WITHOUT ROWID;
            CREATE INDEX memberships_by_entry ON memberships (entry);
            CREATE TRIGGER entry_left_groups AFTER DELETE ON entries BEGIN
                DELETE FROM memberships WHERE entry = OLD.id;
            END;
            """,
        ],
        // Older files contain credentials of URLs, or digests of credentials without a key, which could be found by
        // trial. Such files are removed and not migrated, because their pages must not be reused.
        oldestVersion: 4,
        addRows: { db in
            // As an argument, because an error contains the text of its statement.
            try db.execute(
                sql: "INSERT OR IGNORE INTO secrets (id, digest_key) VALUES (1, ?)",
                arguments: [Data(CacheDigestKey().bytes)]
            )
            // A file of format 4 has entries with groups that are not in the table yet.
            try CacheFile.addMemberships(db)
        },
        statements: SQL.all
    )
}
#endif
