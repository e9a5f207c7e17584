#if os(Linux) && SQLite
import Foundation
import Synchronization

/// Work with files, some calls of which fail.
protocol Scenario: Sendable {
    /// What must be on the disk when an operation has succeeded.
    var durability: Durability { get }

    /// Whether SQLite writes the files.
    var isDatabase: Bool { get }

    /// Whether an operation succeeds even if no file can be used.
    var toleratesFaults: Bool { get }

    /// Creates files without failures.
    func prepare(in directory: URL) async throws

    /// Performs operations, and continues after one that fails.
    func run(in directory: URL, _ journal: Journal) async

    /// Uses the files again, without failures and in another process.
    ///
    /// - Returns: The problems, and the names of the files that may be left.
    func verify(in directory: URL, _ journal: Journal) async throws -> (problems: [String], files: Set<String>)
}

extension Scenario {
    var isDatabase: Bool { false }
    var toleratesFaults: Bool { false }

    func prepare(in directory: URL) async throws {}
}

enum Durability {
    /// The system may write the files later.
    case none
    /// The bytes of a file must be on the disk before it gets its final name.
    case bytes
    /// The bytes and the names must be on the disk.
    case names
}

/// The scenarios by name.
let scenarios: [String: any Scenario] = [
    "archive": ArchiveScenario(),
    "cassette": CassetteScenario(),
    "cookies": CookieScenario.files,
    "download": DownloadScenario(isResumed: false),
    "outbox": OutboxScenario.files,
    "resumedDownload": DownloadScenario(isResumed: true),
    "sessions": SessionScenario.files,
    "sqliteCache": CacheScenario(),
    "sqliteCookies": CookieScenario.database,
    "sqliteLimit": LimitScenario(),
    "sqliteOutbox": OutboxScenario.database,
    "sqliteSessions": SessionScenario.database,
    "upload": UploadScenario(),
]

/// The results of the operations of one run, which outlive the process.
final class Journal: Sendable {
    private let library: CallLibrary?
    private let entries: Mutex<[String]>
    private let failures = Mutex<[(operation: String, error: any Error)]>([])

    init(_ library: CallLibrary?) {
        self.library = library
        entries = Mutex([])
    }

    /// Reads the journal of a run.
    init(contentsOf file: URL) throws {
        library = nil
        entries = Mutex(try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init))
    }

    func write(to file: URL) throws {
        try Data(lines.joined(separator: "\n").utf8).write(to: file)
    }

    var lines: [String] {
        entries.withLock { $0 }
    }

    /// The errors of the operations that have failed.
    var errors: [(operation: String, error: any Error)] {
        failures.withLock { $0 }
    }

    func add(_ line: String) {
        entries.withLock { $0.append(line) }
    }

    /// Performs an operation and records whether it has succeeded.
    ///
    /// - Returns: `true` if it has.
    @discardableResult
    func attempt(_ name: String, _ operation: nonisolated(nonsending) () async throws -> Void) async -> Bool {
        do {
            try await operation()
            library?.note("ok \(name)")
            add("ok \(name)")
            return true
        } catch {
            failures.withLock { $0.append((name, error)) }
            library?.note("failed \(name)")
            add("failed \(name)")
            return false
        }
    }

    /// Whether an operation has succeeded.
    func hasSucceeded(_ name: String) -> Bool {
        lines.contains("ok \(name)")
    }

    /// Whether an operation has failed and may have happened or not.
    func hasFailed(_ name: String) -> Bool {
        lines.contains("failed \(name)")
    }
}

extension Error {
    /// Whether a store does not know if a change that has failed will be there in another process.
    var isUncertain: Bool {
        "\(self)".contains("may be there when the file is opened again")
    }
}

/// A result that a scenario did not expect.
struct Unexpected: Error, CustomStringConvertible {
    let description: String
}
#endif
