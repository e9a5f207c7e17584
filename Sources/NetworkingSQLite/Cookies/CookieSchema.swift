#if SQLite
import GRDB

extension DatabaseSchema {
    /// The tables of the cookies, with one row for each principal.
    static let cookies = DatabaseSchema(
        applicationID: 0x4e57_434b,
        steps: [
            """
            CREATE TABLE jar (
                id INTEGER PRIMARY KEY CHECK (id = 1),
                digest_key BLOB NOT NULL
            );
            CREATE TABLE sessions (
                id INTEGER PRIMARY KEY,
                checksum INTEGER NOT NULL,
                owner BLOB NOT NULL UNIQUE,
                session BLOB NOT NULL
            );
            """
        ],
        statements: CookieSQL.all
    )
}

/// The statements of the cookies, which are prepared once for each connection.
enum CookieSQL {
    static let key = "SELECT CASE WHEN length(CAST(digest_key AS BLOB)) <= 64 THEN digest_key END FROM jar"
    static let setKey = "INSERT OR REPLACE INTO jar (id, digest_key) VALUES (1, ?)"
    // The length of a text ends at its first NUL, so that only the length of a blob is a bound.
    static let totals = """
        SELECT count(*), ifnull(sum(length(CAST(owner AS BLOB)) + length(CAST(session AS BLOB))), 0) FROM sessions
        """
    static let sessions = "SELECT id, checksum, owner, session FROM sessions ORDER BY owner"
    static let owners = "SELECT owner FROM sessions"
    static let set = """
        INSERT INTO sessions (checksum, owner, session) VALUES (?, ?, ?)
        ON CONFLICT (owner) DO UPDATE SET checksum = excluded.checksum, session = excluded.session
        """
    static let remove = "DELETE FROM sessions WHERE owner = ?"
    static let removeNumber = "DELETE FROM sessions WHERE id = ?"

    static let all = [key, setKey, totals, sessions, owners, set, remove, removeNumber]
}
#endif
