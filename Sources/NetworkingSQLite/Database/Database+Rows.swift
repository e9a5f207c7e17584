#if SQLite
import GRDB
import GRDBSQLite

/// A value for a parameter of a statement.
enum Parameter {
    case integer(Int64)
    case bytes([UInt8])
}

/// The current row of a statement, with the conversions of SQLite.
///
/// GRDB's rows end the process if a value does not have the expected type. Here any value of a damaged file can be read
/// as a number and as bytes. This is also faster.
struct RawRow {
    fileprivate let statement: SQLiteStatement

    func integer(_ column: CInt) -> Int64 {
        sqlite3_column_int64(statement, column)
    }

    /// Passes the bytes to a closure; they are valid until it returns.
    func bytes<Value>(_ column: CInt, _ body: (UnsafeRawBufferPointer) throws -> Value) rethrows -> Value {
        // SQLite requires this order.
        let start = sqlite3_column_blob(statement, column)
        let count = Int(sqlite3_column_bytes(statement, column))
        return try body(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    }
}

extension Database {
    /// Runs a statement and returns the number of rows that it has changed.
    @discardableResult
    func run(_ sql: String, _ arguments: StatementArguments) throws -> Int {
        try cachedStatement(sql: sql).execute(arguments: arguments)
        return changesCount
    }

    /// Runs a statement that reads, and passes each row to a closure.
    func forEachRow(_ sql: String, _ parameters: Parameter..., body: (RawRow) throws -> Void) throws {
        let statement = try cachedStatement(sql: sql).sqliteStatement
        sqlite3_reset(statement)
        // Without this, the statement would keep its snapshot, and the log could not be emptied.
        defer { sqlite3_reset(statement) }
        for (index, parameter) in zip(CInt(1)..., parameters) {
            let code =
                switch parameter {
                case .integer(let number): sqlite3_bind_int64(statement, index, number)
                // An empty array has no pointer, and SQLite would store NULL.
                case .bytes(let bytes) where bytes.isEmpty: sqlite3_bind_zeroblob(statement, index, 0)
                case .bytes(let bytes): sqlite3_bind_blob(statement, index, bytes, CInt(bytes.count), Self.copied)
                }
            try check(code)
        }
        while true {
            let code = sqlite3_step(statement)
            if code == SQLITE_DONE { return }
            guard code == SQLITE_ROW else { return try check(code) }
            try body(RawRow(statement: statement))
        }
    }

    private func check(_ code: CInt) throws {
        guard code != SQLITE_OK else { return }
        throw DatabaseError(
            resultCode: ResultCode(rawValue: code),
            message: String(cString: sqlite3_errmsg(sqliteConnection))
        )
    }

    /// The constant `SQLITE_TRANSIENT`, which makes SQLite copy a parameter.
    ///
    /// Swift does not import it.
    private static var copied: sqlite3_destructor_type {
        unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    }
}
#endif
