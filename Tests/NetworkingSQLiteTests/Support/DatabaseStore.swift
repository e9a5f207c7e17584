#if SQLite
import Foundation
import HTTPTypes
import Networking

@testable import NetworkingConnectivity
@testable import NetworkingCookies
@testable import NetworkingSQLite

/// The stores on an SQLite file, which share the code that opens it.
enum DatabaseStoreKind: CaseIterable {
    case cache, cookies, outbox, sessions

    var schema: DatabaseSchema {
        switch self {
        case .cache: .cache
        case .cookies: .cookies
        case .outbox: .outbox
        case .sessions: .sessions
        }
    }

    /// The table with the rows, and its column with the contents.
    var table: (name: String, contents: String) {
        switch self {
        case .cache: ("entries", "body")
        case .cookies: ("sessions", "session")
        case .outbox: ("entries", "entry")
        case .sessions: ("sessions", "session")
        }
    }

    /// Creates a store for a test.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - schema: The tables; `nil` for those of the store.
    ///   - pageLimit: The maximum number of pages of the file.
    ///   - patience: The maximum time to wait for another process.
    /// - Returns: The store.
    func store(
        _ file: URL,
        schema: DatabaseSchema? = nil,
        pageLimit: Int? = nil,
        patience: Duration = .seconds(5)
    ) -> any DatabaseStore {
        let schema = schema ?? self.schema
        switch self {
        case .cache:
            var settings = CacheFile.Settings(costLimit: 1 << 20, schema: schema)
            (settings.pageLimit, settings.patience) = (pageLimit, patience)
            return SQLiteCacheStore(file: file, settings: settings)
        case .cookies:
            var settings = SQLiteCookieStorage.settings
            (settings.schema, settings.pageLimit, settings.patience) = (schema, pageLimit, patience)
            return SQLiteCookieStorage(file: file, settings: settings)
        case .outbox:
            var settings = SQLiteOutboxStore.settings
            (settings.schema, settings.pageLimit, settings.patience) = (schema, pageLimit, patience)
            return SQLiteOutboxStore(file: file, settings: settings)
        case .sessions:
            var settings = SQLiteSessionStorage.settings
            (settings.schema, settings.pageLimit, settings.patience) = (schema, pageLimit, patience)
            return SQLiteSessionStorage(file: file, settings: settings)
        }
    }
}

/// A store of numbered rows.
protocol DatabaseStore: Sendable {
    associatedtype File: OpenDatabase
    associatedtype Failure: Error

    var database: DatabaseHandle<File, Failure> { get }
    /// Stores a row of about 1,000 bytes, which must be complete when it is read.
    func add(_ number: Int) async throws
    /// The numbers of the rows, up to 100, that are stored completely.
    func numbers() async throws -> Set<Int>
}

extension DatabaseStore {
    /// Closes the file for tests that use it by other means.
    func close() async {
        await database.close()
    }

    /// Runs work with the file that fails.
    func fail(with error: any Error) async throws {
        try await database.using { _ in throw error }
    }
}

extension SQLiteCacheStore: DatabaseStore {
    func add(_ number: Int) async throws {
        try await store(.sample("\(number)", length: 1_000), for: .named("\(number)"))
    }

    func numbers() async throws -> Set<Int> {
        var numbers: Set<Int> = []
        for number in 0..<100 {
            for entry in try await entries(for: .named("\(number)"))
            where entry.body == CachedEntry.sample("\(number)", length: 1_000).body {
                numbers.insert(number)
            }
        }
        return numbers
    }
}

extension SQLiteCookieStorage: DatabaseStore {
    private static func session(_ number: Int) -> CookieArchive.Session {
        let cookie = Cookie(
            name: "\(number)",
            value: String(repeating: "\(number % 10)", count: 1_000),
            domain: "a.example",
            expires: Date(timeIntervalSince1970: 4_000_000_000),
            created: Date(timeIntervalSince1970: 1_000)
        )
        return CookieArchive.Session(principal: "\(number)", id: "1", cookies: [cookie])
    }

    func add(_ number: Int) async throws {
        let old = try await load()
        let others = old?.sessions.filter { $0.principal != "\(number)" } ?? []
        try await save(
            CookieArchive(key: old?.key ?? Array(repeating: 7, count: 16), sessions: others + [Self.session(number)])
        )
    }

    func numbers() async throws -> Set<Int> {
        let sessions = try await load()?.sessions ?? []
        return Set(
            sessions.compactMap { $0.principal.flatMap { Int($0) } }.filter { sessions.contains(Self.session($0)) }
        )
    }
}

extension SQLiteOutboxStore: DatabaseStore {
    private static func body(_ number: Int) -> RequestBody {
        .data(Data(repeating: UInt8(truncatingIfNeeded: number), count: 1_000))
    }

    func add(_ number: Int) async throws {
        try await add(
            OutboxEntry(
                id: OutboxEntry.ID(at: UInt64(number), 0),
                request: HTTPRequestData(method: .post, authority: "a.example", body: Self.body(number)),
                principal: nil,
                server: nil,
                date: Date(timeIntervalSince1970: 1_000)
            )
        )
    }

    func numbers() async throws -> Set<Int> {
        var numbers: Set<Int> = []
        for id in try await ids() {
            do {
                let number = Int(id.nanoseconds)
                if try await entry(id)?.request.body == Self.body(number) {
                    numbers.insert(number)
                }
            } catch OutboxStoreError.damaged {}
        }
        return numbers
    }
}

extension SQLiteSessionStorage: DatabaseStore {
    private static func session(_ number: Int) -> Session {
        Session(userID: "\(number)", accessToken: String(repeating: "\(number % 10)", count: 1_000))
    }

    func add(_ number: Int) async throws {
        try await save(Self.session(number))
    }

    func numbers() async throws -> Set<Int> {
        var numbers: Set<Int> = []
        for userID in try await userIDs() {
            do {
                if let number = Int(userID), try await session(for: userID) == Self.session(number) {
                    numbers.insert(number)
                }
            } catch SessionStorageError.unusable {}
        }
        return numbers
    }
}

extension DatabaseSchema {
    func adding(_ step: String) -> DatabaseSchema {
        var schema = self
        schema.steps.append(step)
        return schema
    }
}
#endif
