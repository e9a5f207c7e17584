import Foundation
import NetworkingConnectivity

#if SQLite
import NetworkingSQLite
#endif

/// The stores of an outbox, which all have to pass the same tests.
enum OutboxStoreKind: CaseIterable {
    case memory
    case file
    #if SQLite
    case sqlite
    #endif

    static let onDisk = allCases.filter { $0 != .memory }

    /// Creates a store in a directory; two stores on disk in one directory share their entries.
    func store(in directory: URL) -> any OutboxStore {
        switch self {
        case .memory: MemoryOutboxStore()
        case .file: FileOutboxStore(directory: directory)
        #if SQLite
        case .sqlite: SQLiteOutboxStore(file: directory.appending(path: "outbox.sqlite"))
        #endif
        }
    }
}
