#if SQLite
import GRDB

extension DatabaseSchema {
    /// The table of the sessions, with one row for each user.
    static let sessions = DatabaseSchema(
        applicationID: 0x4e57_5345,
        steps: [
            """
            CREATE TABLE sessions (
                id INTEGER PRIMARY KEY,
                checksum INTEGER NOT NULL,
                user BLOB NOT NULL UNIQUE,
                session BLOB NOT NULL
            );
            """
        ],
        statements: SessionSQL.all
    )
}

/// The statements of the sessions, which are prepared once for each connection.
enum SessionSQL {
    // The length of a text ends at its first NUL, so that only the length of a blob is a bound.
    static let session = """
        SELECT checksum, CASE WHEN length(CAST(session AS BLOB)) <= 1048576 THEN session END FROM sessions
        WHERE user = ?
        """
    static let users = "SELECT user FROM sessions WHERE length(CAST(user AS BLOB)) <= 65536 ORDER BY user"
    static let set = """
        INSERT INTO sessions (checksum, user, session) VALUES (?, ?, ?)
        ON CONFLICT (user) DO UPDATE SET checksum = excluded.checksum, session = excluded.session
        """
    static let remove = "DELETE FROM sessions WHERE user = ?"
    static let removeAll = "DELETE FROM sessions"

    static let all = [session, users, set, remove, removeAll]
}
#endif
