#if SQLite
import GRDB

extension DatabaseSchema {
    /// The table of the rate limits, with one row for each key of a limit that is in use.
    static let rateLimits = DatabaseSchema(
        applicationID: 0x4e57_524c,
        steps: [
            """
            CREATE TABLE limits (
                key BLOB PRIMARY KEY NOT NULL,
                moment INTEGER NOT NULL,
                reserved INTEGER NOT NULL,
                turns INTEGER NOT NULL,
                expires INTEGER NOT NULL
            ) WITHOUT ROWID;
            CREATE INDEX expiries ON limits (expires);
            """
        ],
        statements: RateLimitSQL.all
    )
}

/// The statements of the rate limits, which are prepared once for each connection.
enum RateLimitSQL {
    static let state = "SELECT moment, reserved, turns FROM limits WHERE key = ?"
    static let set = "INSERT OR REPLACE INTO limits (key, moment, reserved, turns, expires) VALUES (?, ?, ?, ?, ?)"
    // A few for each decision, so that no decision takes long.
    static let removeExpired = """
        DELETE FROM limits WHERE key IN (SELECT key FROM limits WHERE expires < ? ORDER BY expires LIMIT 4)
        """
    static let count = "SELECT count(*) FROM limits"

    static let all = [state, set, removeExpired, count]
}
#endif
