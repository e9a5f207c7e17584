#if os(Linux) && SQLite
import Foundation
import Networking
import NetworkingSQLite

/// Saves, locks and removes sessions.
struct SessionScenario: Scenario {
    let isDatabase: Bool
    let durability = Durability.names
    let make: @Sendable (URL) -> any SharedSessionStorage
    /// The files of a storage with one session.
    let names: Set<String>

    static let files = SessionScenario(isDatabase: false) {
        FileSessionStorage(directory: $0.appending(path: "sessions"))
    } names: {
        ["sessions", "sessions/session-emily.json"]
    }

    static let database = SessionScenario(isDatabase: true) {
        SQLiteSessionStorage(file: $0.appending(path: "sessions.sqlite"))
    } names: {
        Database.names("sessions.sqlite")
    }

    private init(
        isDatabase: Bool,
        make: @escaping @Sendable (URL) -> any SharedSessionStorage,
        names: () -> Set<String>
    ) {
        (self.isDatabase, self.make, self.names) = (isDatabase, make, names())
    }

    private func session(_ user: String, _ number: Int) -> Session {
        Session(
            userID: user,
            accessToken: "access-\(number)",
            refreshToken: String(repeating: "r", count: 3_000),
            expirationDate: Date(timeIntervalSince1970: 4_000_000_000)
        )
    }

    func run(in directory: URL, _ journal: Journal) async {
        let storage = make(directory)
        for number in 1...3 {
            await journal.attempt("save \(number)") { try await storage.save(session("emily", number)) }
        }
        await journal.attempt("lock") {
            guard case .acquired(let lock) = try await storage.lockSession(for: "emily", lease: .seconds(10)) else {
                throw Unexpected(description: "\(directory.path): the lock is held")
            }
            lock.release()
        }
        await journal.attempt("read") { _ = try await storage.session(for: "emily") }
        let isSignedIn = await journal.attempt("sign in") { try await storage.save(session("joe", 1)) }
        if isSignedIn {
            await journal.attempt("sign out") { try await storage.removeSession(for: "joe") }
        }
    }

    func verify(in directory: URL, _ journal: Journal) async throws -> (problems: [String], files: Set<String>) {
        var problems: [String] = []
        let storage = make(directory)
        let found = try await storage.session(for: "emily").flatMap { Int($0.accessToken.dropFirst(7)) } ?? 0
        let saved = (1...3).last { journal.hasSucceeded("save \($0)") } ?? 0
        if found < saved || found > saved && !journal.hasFailed("save \(found)") {
            problems.append("session \(found) is stored, and \(saved) was saved last")
        }
        if journal.hasSucceeded("sign out"), try await storage.session(for: "joe") != nil {
            problems.append("the session of a user who signed out is stored")
        }
        guard case .acquired(let lock) = try await storage.lockSession(for: "emily", lease: .seconds(10)) else {
            throw Unexpected(description: "the lock is held")
        }
        try await storage.save(session("emily", 9))
        lock.release()
        try await storage.removeSession(for: "joe")
        if try await storage.session(for: "emily")?.accessToken != "access-9" {
            problems.append("the session of the next run is not stored")
        }
        return (problems, names)
    }
}

/// Sets cookies in a jar with a storage.
struct CookieScenario: Scenario {
    let isDatabase: Bool
    let durability = Durability.names
    let make: @Sendable (URL) -> any CookieStorage
    let names: Set<String>

    static let files = CookieScenario(
        isDatabase: false,
        make: { FileCookieStorage(file: $0.appending(path: "jar/cookies.json")) },
        names: ["jar", "jar/cookies.json"]
    )

    static let database = CookieScenario(
        isDatabase: true,
        make: { SQLiteCookieStorage(file: $0.appending(path: "cookies.sqlite")) },
        names: Database.names("cookies.sqlite")
    )

    private func set(_ number: Int, in jar: CookieJar) throws {
        try jar.set(
            Cookie(
                name: "\(number)",
                value: String(repeating: "x", count: number * 900),
                domain: "a.example",
                expires: Date(timeIntervalSinceNow: 1_000_000),
                created: Date()
            )
        )
    }

    func prepare(in directory: URL) async throws {
        let jar = try await CookieJar(in: make(directory))
        try set(0, in: jar)
        try await jar.flush()
    }

    func run(in directory: URL, _ journal: Journal) async {
        var jar: CookieJar?
        for _ in 0..<2 where jar == nil {
            await journal.attempt("open") { jar = try await CookieJar(in: make(directory)) }
        }
        guard let jar else { return }
        for number in 1...3 {
            await journal.attempt("set \(number)") {
                try set(number, in: jar)
                try await jar.flush()
            }
        }
    }

    func verify(in directory: URL, _ journal: Journal) async throws -> (problems: [String], files: Set<String>) {
        let jar = try await CookieJar(in: make(directory))
        let found = Set(jar.cookies(of: nil).compactMap { Int($0.name) })
        let lost = (0...3).filter { ($0 == 0 || journal.hasSucceeded("set \($0)")) && !found.contains($0) }
        try set(4, in: jar)
        try await jar.flush()
        return (lost.isEmpty ? [] : ["the cookies \(lost) are lost"], names)
    }
}

/// Sends requests through a cache on disk that evicts.
struct CacheScenario: Scenario {
    let durability = Durability.none
    let isDatabase = true
    /// A cache that cannot be used costs only time.
    let toleratesFaults = true

    private func stack(_ directory: URL) -> (network: AnyNetworkingComponent, store: SQLiteCacheStore) {
        let store = SQLiteCacheStore(file: directory.appending(path: "cache.sqlite"), costLimit: 40_000)
        let transport = MockTransport { request in
            .ok(Self.body(request.path ?? ""), headerFields: [.cacheControl: "max-age=1000"])
        }
        return (AnyNetworkingComponent(transport.cached(in: ResponseCache(in: store))), store)
    }

    private static func body(_ path: String) -> Data {
        Data(String(repeating: "\(path) ", count: 1_500).utf8)
    }

    private func send(_ number: Int, _ network: some NetworkingComponent) async throws {
        let request = HTTPRequestData(url: URL(string: "https://a.example/\(number)")!)
        let response = try await network.data(request)
        guard response.data == Self.body("/\(number)") else {
            throw Unexpected(description: "request \(number) has the body of another one, or only a part")
        }
    }

    func prepare(in directory: URL) async throws {
        let (network, store) = stack(directory)
        try await send(0, network)
        _ = try await store.count
    }

    func run(in directory: URL, _ journal: Journal) async {
        let (network, store) = stack(directory)
        for number in [0, 1, 2, 1, 3, 4, 5, 6] {
            await journal.attempt("send \(number)") { try await send(number, network) }
        }
        // The store writes in the background, in order.
        _ = try? await store.count
        try? await store.trim(toCost: 10_000)
    }

    func verify(in directory: URL, _ journal: Journal) async throws -> (problems: [String], files: Set<String>) {
        let (network, store) = stack(directory)
        for number in 0...7 {
            try await send(number, network)
        }
        let count = try await store.count
        return (count > 0 ? [] : ["the cache stores nothing any more"], Database.names("cache.sqlite"))
    }
}

/// Sends requests under a limit in a file.
struct LimitScenario: Scenario {
    let durability = Durability.none
    let isDatabase = true
    /// A limiter that cannot use the file grants its local share.
    let toleratesFaults = true

    private func network(_ directory: URL) -> some NetworkingComponent {
        let sharing = RateLimiter.Sharing(
            in: SQLiteRateLimit(file: directory.appending(path: "limit.sqlite")),
            as: "vendor",
            localShare: 1,
            timeout: .seconds(5)
        )
        return MockTransport { _ in .ok() }
            .rateLimited(by: RateLimiter(1_000, per: .seconds(1), burst: 10, sharing: sharing))
    }

    func run(in directory: URL, _ journal: Journal) async {
        let network = network(directory)
        for number in 1...3 {
            await journal.attempt("send \(number)") {
                _ = try await network.send(HTTPRequestData(authority: "a.example"))
            }
        }
    }

    func verify(in directory: URL, _ journal: Journal) async throws -> (problems: [String], files: Set<String>) {
        _ = try await network(directory).send(HTTPRequestData(authority: "a.example"))
        return ([], Database.names("limit.sqlite"))
    }
}

/// The files of a database.
enum Database {
    static func names(_ name: String) -> Set<String> {
        [name, "\(name)-wal", "\(name)-shm", "\(name)-lock", "\(name)-claim"]
    }
}
#endif
