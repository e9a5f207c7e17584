#if SQLite
import GRDB
import GRDBSQLite

/// A value for a parameter of a statement.
enum Parameter {
    case integer(Int64)
    case bytes([UInt8])
}

/// A row that a statement is at, read as SQLite converts it.
///
/// GRDB's rows end the process when a value has not the type that it is read as; what a damaged file holds is here some
/// number and some bytes. It is faster, too.
struct RawRow {
    fileprivate let statement: SQLiteStatement

    func integer(_ column: CInt) -> Int64 {
        sqlite3_column_int64(statement, column)
    }

    /// Hands over the bytes, for as long as the closure runs.
    func bytes<Value>(_ column: CInt, _ body: (UnsafeRawBufferPointer) throws -> Value) rethrows -> Value {
        // First the bytes and then their number, as SQLite wants it.
        let start = sqlite3_column_blob(statement, column)
        let count = Int(sqlite3_column_bytes(statement, column))
        return try body(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    }
}

extension Database {
    /// Runs a statement that reads, and hands over its rows.
    func forEachRow(_ sql: String, _ parameters: Parameter..., body: (RawRow) throws -> Void) throws {
        let statement = try cachedStatement(sql: sql).sqliteStatement
        sqlite3_reset(statement)
        // A statement that was not reset would keep its snapshot, and so the log from being emptied.
        defer { sqlite3_reset(statement) }
        for (index, parameter) in zip(CInt(1)..., parameters) {
            let code =
                switch parameter {
                case .integer(let number): sqlite3_bind_int64(statement, index, number)
                // Without a pointer it would be null.
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

    /// SQLite's own value for a parameter that it should copy, which Swift does not import.
    private static var copied: sqlite3_destructor_type {
        unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    }
}
#endif
