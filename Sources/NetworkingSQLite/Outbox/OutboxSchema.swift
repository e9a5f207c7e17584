#if SQLite
import GRDB

extension DatabaseSchema {
    /// The table of the outbox, with one row for each entry.
    ///
    /// The progress comes before the entry, which may be long, so that it can be replaced and read without it.
    static let outbox = DatabaseSchema(
        applicationID: 0x4e57_4f42,
        steps: [
            """
            CREATE TABLE entries (
                number INTEGER PRIMARY KEY,
                is_damaged INTEGER NOT NULL,
                checksum INTEGER NOT NULL,
                id BLOB NOT NULL UNIQUE,
                progress BLOB,
                entry BLOB NOT NULL
            );
            """
        ],
        statements: OutboxSQL.all
    )
}

/// The statements of the outbox, which are prepared once for each connection.
enum OutboxSQL {
    // The length of a text ends at its first NUL, so that only the length of a blob is a bound.
    static let ids = "SELECT id FROM entries WHERE is_damaged = 0 AND length(CAST(id AS BLOB)) = 33 ORDER BY id"
    static let entry = """
        SELECT checksum, CASE WHEN length(CAST(progress AS BLOB)) <= ?2 THEN progress END,
            CASE WHEN length(CAST(entry AS BLOB)) <= ?3 THEN entry END
        FROM entries WHERE id = ?1 AND is_damaged = 0
        """
    static let add = """
        INSERT INTO entries (is_damaged, checksum, id, entry) VALUES (0, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE
        SET is_damaged = 0, checksum = excluded.checksum, progress = NULL, entry = excluded.entry
        """
    static let update = "UPDATE entries SET progress = ? WHERE id = ? AND is_damaged = 0"
    static let remove = "DELETE FROM entries WHERE id = ? AND is_damaged = 0"
    static let setAside = "UPDATE entries SET is_damaged = 1 WHERE id = ? AND checksum = ?"

    static let all = [ids, entry, add, update, remove, setAside]
}
#endif
