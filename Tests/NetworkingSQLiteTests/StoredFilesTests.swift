#if SQLite
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingAuthentication
@testable import NetworkingCookies
@testable import NetworkingSQLite
@testable import NetworkingTransfers

/// Files in `Tests/Stored`, which earlier versions of the library wrote.
///
/// The number in a name is that of the format. A change of a format needs a new file there: the tests write the files of
/// this version to the folder that `STORED_FILES` names.
@Suite(.timeLimit(.minutes(20)))
struct StoredFilesTests {
    private let folder = Repository.root.appending(path: "Tests/Stored")
    private let expires = Date(timeIntervalSince1970: 4_000_000_000)

    /// Runs a test with copies of stored files.
    private func withCopies(of names: String..., test: (URL) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            for name in names {
                try FileManager.default.copyItem(
                    at: folder.appending(path: name),
                    to: directory.appending(path: name)
                )
            }
            try await test(directory)
        }
    }

    /// Reads a copy of each stored database of a kind, and a new one that this version writes.
    private func expectReadable(
        _ kind: String,
        of schema: DatabaseSchema,
        write: (URL) async throws -> Void,
        read: (URL) async throws -> Void
    ) async throws {
        let current = "\(kind)-\(schema.version).sqlite"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.hasPrefix("\(kind)-") && $0.hasSuffix(".sqlite") }
        #expect(names.contains(current), "Write this file with STORED_FILES, and add it to Tests/Stored.")
        for name in names.sorted() {
            try await withCopies(of: name) { try await read($0.appending(path: name)) }
        }
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: current)
            try await write(file)
            if let target = ProcessInfo.processInfo.environment["STORED_FILES"] {
                try FileManager.default.copyItem(at: file, to: URL(filePath: target).appending(path: current))
            }
            try await read(file)
        }
    }

    /// Expects that stored files have all keys of a JSON object that this version writes.
    private func expectKnownKeys(of data: Data, in names: String...) throws {
        let known = try names.reduce(into: Set<String>()) { keys, name in
            try keys.formUnion(Self.keys(of: Data(contentsOf: folder.appending(path: name))))
        }
        let new = try Self.keys(of: data).subtracting(known)
        #expect(new.isEmpty, "Add a file of the new format to Tests/Stored.")
    }

    /// Returns the names of all members of a JSON document, each with those of the objects around it.
    private static func keys(of data: Data) throws -> Set<String> {
        var keys: Set<String> = []
        func add(_ any: Any, below path: String) {
            if let object = any as? [String: Any] {
                for (name, value) in object {
                    keys.insert("\(path)/\(name)")
                    add(value, below: "\(path)/\(name)")
                }
            } else if let elements = any as? [Any] {
                for element in elements {
                    add(element, below: path)
                }
            }
        }
        add(try JSONSerialization.jsonObject(with: data), below: "")
        return keys
    }

    // MARK: Outbox

    @Test func entryOfAnOutboxIsSentWithItsOptions() async throws {
        let name = "18ec2b60d6049f00-699b0a7321547f16.request"
        try await withCopies(of: name) { directory in
            let store = FileOutboxStore(directory: directory)
            let ids = try await store.ids()
            let id = try #require(ids.first)
            let request = try #require(try await store.entry(id)).request
            #expect((request.method, request.url?.absoluteString) == (.post, "https://api.example.com/orders?page=2"))
            #expect(request.headerFields[.idempotencyKey] == "\"f58ea88f1e031fd8ecef2a39a0c1b079\"")
            #expect(request.body?.data == Data("tea".utf8))
            #expect((request.timeout, request.deadline) == (.milliseconds(1_500), .seconds(60)))
            #expect((request.priority, request.route, request.isIdempotent) == (.high, "/orders", true))
            #expect(request.authenticationMethod == .anonymous)
            #expect(!request.allowsCellularAccess && request.allowsExpensiveAccess)

            let transport = MockTransport { _ in .ok() }
            var policy = OutboxPolicy()
            policy.maximumAge = nil
            #expect(try await Outbox(in: store, over: transport, policy: policy).flush() == 0)
            #expect(transport.requests.map(\.timeout) == [.milliseconds(1_500)])
        }
    }

    @Test func entriesOfAnOutboxInSQLiteAreSent() async throws {
        let order = HTTPRequestData(
            method: .post,
            scheme: "https",
            authority: "api.example.com",
            path: "/orders?page=2",
            body: .data(Data("tea".utf8), contentType: "text/plain")
        )
        var policy = OutboxPolicy()
        policy.maximumAge = nil
        try await expectReadable("outbox", of: .outbox) { file in
            _ = try await Outbox(in: SQLiteOutboxStore(file: file), over: MockTransport { _ in .ok() }).enqueue(order)
        } read: { file in
            let transport = MockTransport { _ in .ok() }
            let left = try await Outbox(in: SQLiteOutboxStore(file: file), over: transport, policy: policy).flush()
            #expect(left == 0)
            #expect(transport.requests.map(\.url) == [order.url])
            #expect(transport.requests.map(\.body?.data) == [Data("tea".utf8)])
        }
    }

    // MARK: Cache

    @Test func entriesOfACacheAreFound() async throws {
        // The clock stands still, so that the cache waits for its store however slow the machine is.
        let clock = NetworkClock.manual(ManualClock(start: .now))
        try await expectReadable("cache", of: .cache) { file in
            let fields: HTTPFields = [.cacheControl: "max-age=3153600000", .contentType: "text/plain"]
            let network = MockTransport { _ in .ok(Data("stored".utf8), headerFields: fields) }
                .cached(in: SQLiteCacheStore(file: file)).environment(\.clock, clock)
            try await network.environment(\.tenant, "blue").data(.lawful)
            try await network.data(.lawful)
        } read: { file in
            let network = MockTransport().cached(in: SQLiteCacheStore(file: file)).environment(\.clock, clock)
            let response = try await network.environment(\.tenant, "blue").data(.lawful)
            #expect(response.isCached)
            #expect(response.text == "stored")
            #expect(try await network.data(.lawful.with { $0.timeout = .seconds(5) }).isCached)
            await #expect(throws: (any Error).self) { try await network.environment(\.tenant, "red").data(.lawful) }
        }
    }

    // MARK: Sessions

    @Test func sessionsInFilesAreRead() async throws {
        try await withCopies(of: "session-1.json", "session-2.json", "session-3.json") { directory in
            let storage = FileSessionStorage(directory: directory)
            #expect(try storage.userIDs() == ["1", "2", "3"])
            let date = Date(timeIntervalSince1970: 1_800_003_600)

            // The first format had no date: that of its JSON Web Token applies.
            let first = try #require(try storage.session(for: "1"))
            #expect((first.refreshToken, first.expirationDate) == ("refresh-1", date))
            #expect(first.boundKey == nil)

            let second = try #require(try storage.session(for: "2"))
            #expect((second.accessToken, second.refreshToken) == ("access-2", "refresh-2"))
            #expect((second.scope, second.idToken) == ("read write", "id-2"))
            #expect((second.expirationDate, second.refreshWindow) == (date, .milliseconds(90_500)))

            let third = try #require(try storage.session(for: "3"))
            #expect((third.accessToken, third.expirationDate) == ("access-3", nil))
            #expect(third.boundKey?.representation == Data(0..<32))
            #expect(third.signIn.id == "6f1f9d0a")
        }
    }

    private var wholeSession: Session {
        var session = Session(
            userID: "4",
            accessToken: "access-4",
            refreshToken: "refresh-4",
            expirationDate: expires,
            scope: "read",
            idToken: "id-4",
            refreshWindow: .seconds(90)
        )
        session.boundKey = Session.BoundKey(representation: Data(0..<32))
        session.signIn.id = "6f1f9d0a"
        return session
    }

    @Test func keysOfASessionAreThoseOfAStoredOne() throws {
        try expectKnownKeys(of: JSONEncoder().encode(wholeSession), in: "session-2.json", "session-3.json")
    }

    @Test func sessionsInSQLiteAreRead() async throws {
        try await expectReadable("sessions", of: .sessions) { file in
            try await SQLiteSessionStorage(file: file).save(wholeSession)
        } read: { file in
            let storage = SQLiteSessionStorage(file: file)
            #expect(try await storage.userIDs() == ["4"])
            let session = try #require(try await storage.session(for: "4"))
            #expect(session == wholeSession)
            #expect(session.boundKey == wholeSession.boundKey)
            #expect(session.signIn.id == "6f1f9d0a")
        }
    }

    // MARK: Cookies

    private func cookie(_ name: String, _ sameSite: Cookie.SameSite) -> Cookie {
        Cookie(
            name: name,
            value: "1",
            domain: "shop.example",
            expires: expires,
            isSecure: true,
            isHTTPOnly: true,
            sameSite: sameSite,
            created: Date(timeIntervalSince1970: 1_700_000_000)
        )
    }

    @Test func cookiesInAFileAreRead() async throws {
        try await withCopies(of: "cookies-1.json") { directory in
            let storage = FileCookieStorage(file: directory.appending(path: "cookies-1.json"))
            let archive = try #require(try await storage.load())
            #expect(archive.key == Array(0..<32))
            #expect(archive.sessions.map(\.principal) == ["emily", nil])
            #expect(archive.sessions.first?.identity.text(for: "shop.example") == "8")
            #expect(archive.sessions.first?.identity.text(for: "other.example") == "7")
            let cookies = archive.sessions.flatMap(\.cookies)
            #expect(cookies.map(\.name) == ["a", "b", "c"])
            #expect(cookies.map(\.sameSite) == [.unspecified, .strict, .none])
            #expect(cookies.map(\.isHostOnly) == [true, false, true])
            #expect(cookies.map(\.path) == ["/", "/cart", "/"])
        }
    }

    @Test func keysOfCookiesAreThoseOfStoredOnes() throws {
        let sessions = [CookieArchive.Session(principal: "emily", id: "7", cookies: [cookie("a", .lax)])]
        try expectKnownKeys(
            of: JSONEncoder().encode(CookieArchive(key: Array(0..<32), sessions: sessions)),
            in: "cookies-1.json"
        )
    }

    @Test func cookiesInSQLiteAreRead() async throws {
        let principal = Principal(id: "emily")
        try await expectReadable("cookies", of: .cookies) { file in
            let jar = try await CookieJar(in: SQLiteCookieStorage(file: file))
            try jar.set(cookie("a", .lax), for: principal)
            try jar.set(cookie("b", .none))
            try await jar.flush()
        } read: { file in
            let archive = try #require(try await SQLiteCookieStorage(file: file).load())
            #expect(archive.key.count == 16)
            let sessions = archive.sessions.sorted { ($0.principal ?? "") < ($1.principal ?? "") }
            #expect(sessions.map(\.principal) == [nil, "emily"])
            #expect(sessions.flatMap(\.cookies).map { $0.name } == ["b", "a"])
            #expect(sessions.flatMap(\.cookies).map { $0.sameSite } == [.none, .lax])
        }
    }

    // MARK: Transfers

    @Test func stateOfADownloadIsRead() async throws {
        try await withCopies(of: "film-1.mp4.download", "film-1.mp4.download-state") { directory in
            let state = try #require(try DownloadState(at: directory.appending(path: "film-1.mp4")))
            // The machine has restarted since, so only the synchronized bytes are certain.
            #expect((state.byteCount, state.expectedByteCount) == (6, 12))
        }
    }

    @Test func keysOfTheStateOfADownloadAreThoseOfAStoredOne() throws {
        var record = DownloadRecord(resource: "a", validator: .eTag("\"v1\""), length: 12)
        record.bootSession = "b"
        try expectKnownKeys(of: JSONEncoder().encode(record), in: "film-1.mp4.download-state")
    }

    @Test func stateOfAnUploadIsRead() async throws {
        try await withCopies(of: "film-1.mp4.upload-state") { directory in
            let state = try #require(try UploadState(at: directory.appending(path: "film-1.mp4.upload-state")))
            #expect((state.byteCount, state.expectedByteCount) == (8, 12))
            #expect(state.expires == Date(timeIntervalSince1970: 1_900_000_000))
        }
    }

    // MARK: Cassettes

    @Test func cassetteIsReplayed() async throws {
        try await withCopies(of: "cassette-1.har") { directory in
            let file = directory.appending(path: "cassette-1.har")
            try await withCassette(at: file, mode: .none) { cassette in
                let network = MockTransport().cassette(cassette).server(authority: "api.example")
                let request = HTTPRequestData(method: .post, path: "user?page=1", body: .json(["name": "Emily"]))
                let response = try await network.data(request)
                #expect(response.status == .created)
                #expect(response.text?.contains("\"id\":42") == true)
            }
        }
    }
}
#endif
