#if SQLite
import GRDBSQLite

/// The state of a database file, as a new connection finds it.
enum DatabaseContents {
    case damaged
    /// The disk reports an error.
    case unreadable
    /// It is not damaged, or could not be opened or locked now.
    case usable
}

extension DatabaseLocation {
    /// Reads the whole file again with a new connection, and returns its state.
    ///
    /// SQLite reports some errors of the disk as damage, but records the error number of the system for each open file.
    /// SQLite also reads the file here, because closing another descriptor would release its locks.
    ///
    /// - Parameter patience: The maximum time to wait for other processes.
    /// - Returns: The state.
    func contents(patience: Duration) -> DatabaseContents {
        var connection: OpaquePointer?
        defer { sqlite3_close(connection) }
        var code = sqlite3_open_v2(path, &connection, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nil)
        var report = ""
        if code == SQLITE_OK {
            sqlite3_busy_timeout(connection, CInt(patience / .milliseconds(1)))
            sqlite3_exec(connection, "PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF", nil, nil, nil)
            var statement: OpaquePointer?
            defer { sqlite3_finalize(statement) }
            code = sqlite3_prepare_v2(connection, "PRAGMA integrity_check(1)", -1, &statement, nil)
            if code == SQLITE_OK {
                code = sqlite3_step(statement)
            }
            if code == SQLITE_ROW, let text = sqlite3_column_text(statement, 0) {
                report = String(cString: text)
            }
        }
        // A page that cannot be read is also a line of the report.
        guard Self.errorNumbers(of: connection).allSatisfy({ $0 == 0 }) else { return .unreadable }
        return switch code & 0xff {
        case SQLITE_ROW: report == "ok" ? .usable : .damaged
        case SQLITE_CORRUPT, SQLITE_NOTADB: .damaged
        case SQLITE_IOERR: .unreadable
        default: .usable
        }
    }

    /// The last error numbers of the system for the database and for its log.
    private static func errorNumbers(of connection: OpaquePointer?) -> [CInt] {
        [SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER]
            .map { pointer in
                var (file, number): (UnsafeMutablePointer<sqlite3_file>?, CInt) = (nil, 0)
                guard sqlite3_file_control(connection, "main", pointer, &file) == SQLITE_OK, let file else { return 0 }
                _ = file.pointee.pMethods?.pointee.xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &number)
                return number
            }
    }
}
#endif
