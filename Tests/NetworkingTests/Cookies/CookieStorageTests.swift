import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingCookies

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct CookieStorageTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "cookies-\(UUID())")

    private var storage: FileCookieStorage {
        FileCookieStorage(file: folder.appending(path: "jar/cookies.json"))
    }

    private func removeFolder() {
        try? FileManager.default.removeItem(at: folder)
    }

    private func receive(_ fields: String..., by jar: CookieJar, of principal: Principal? = nil) {
        _ = jar.store(fields, from: HTTPRequestData(authority: "example.org"), for: CookieOwner(principal: principal))
    }

    // MARK: Files

    @Test func fileIsPrivate() async throws {
        defer { removeFolder() }
        let jar = try await CookieJar(in: storage)
        receive("a=1; Max-Age=86400", by: jar)
        try await jar.flush()
        let attributes = try FileManager.default.attributesOfItem(atPath: storage.file.path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let names = try FileManager.default.contentsOfDirectory(atPath: storage.file.deletingLastPathComponent().path)
        #expect(names == ["cookies.json"])
    }

    @Test(arguments: ["", "{", "[]", "{\"key\":[],\"sessions\":3}", "\0\0\0"])
    func damagedFileIsSetAsideOnce(content: String) async throws {
        defer { removeFolder() }
        try FileManager.default.createDirectory(
            at: storage.file.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try Data(content.utf8).write(to: storage.file)
        try await expectDamagedFile(of: storage, with: content)
        #expect(try await CookieJar(in: storage).count == 0)
    }

    // MARK: Saving

    /// A cookie that is not stored evicts one that was.
    @Test func evictionOfAStoredCookieIsWritten() async throws {
        let storage = CountingStorage()
        let jar = try await CookieJar(in: storage)
        for number in 0..<CookieTable.maximumPerSite {
            receive("n\(number)=1; Max-Age=86400", by: jar)
        }
        try await jar.flush()
        #expect(storage.archives.last?.count == CookieTable.maximumPerSite)
        receive("session=1; Secure", by: jar)
        try await jar.flush()
        #expect(storage.archives.last?.count == CookieTable.maximumPerSite - 1)
    }

    @Test func evictionsOfAFullJarAreWritten() async throws {
        let storage = CountingStorage()
        let jar = try await CookieJar(in: storage)
        for number in 0..<CookieTable.maximumCount {
            let request = HTTPRequestData(authority: "example\(number / CookieTable.maximumPerSite).org")
            _ = jar.store(["n\(number)=1; Max-Age=86400"], from: request, for: CookieOwner(principal: nil))
        }
        try await jar.flush()
        #expect(storage.archives.last?.count == CookieTable.maximumCount)
        receive("session=1", by: jar)
        try await jar.flush()
        #expect(storage.archives.last?.count == jar.count - 1)
    }

    /// The identity of a user without stored cookies is stored too, so its removal must be.
    @Test func removalOfSessionCookiesRemovesTheStoredIdentity() async throws {
        let storage = CountingStorage()
        let jar = try await CookieJar(in: storage)
        receive("a=1", by: jar)
        try await jar.flush()
        #expect(storage.archives.last?.sessions.count == 1)
        jar.removeAll()
        try await jar.flush()
        #expect(storage.archives.last?.sessions.isEmpty == true)
    }

    @Test func sessionCookiesAreNotWritten() async throws {
        let storage = CountingStorage()
        let jar = try await CookieJar(in: storage)
        receive("a=1", "b=2", by: jar)
        jar.removeAll()
        try await jar.flush()
        #expect(storage.archives.allSatisfy { $0.count == 0 })
        receive("a=1", "b=2; Max-Age=86400", by: jar)
        try await jar.flush()
        #expect(storage.archives.last?.count == 1)
    }

    @Test func cookiesOfAnOuterModifierAreNotWritten() async throws {
        let storage = CountingStorage()
        let jar = try await CookieJar(in: storage)
        let transport = MockTransport { _ in
            MockResponse(status: .ok, headerFields: [.setCookie: "a=1; Max-Age=86400"])
        }
        try await transport.cookies(in: jar)
            .authenticated(with: Networking.Session(userID: "emily", accessToken: "hunter2"), at: ["example.org"])
            .data(HTTPRequestData(authority: "example.org"))
        #expect(jar.count == 1)
        try await jar.flush()
        #expect(storage.archives.allSatisfy { $0.count == 0 })
    }

    @Test func changesDuringASaveAreSavedTogether() async throws {
        let gate = MockGate()
        let storage = CountingStorage(gate)
        let jar = try await CookieJar(in: storage)
        receive("a=1; Max-Age=86400", by: jar)
        try await eventually("the first archive is written") { storage.starts == 1 }
        for number in 0..<50 {
            receive("b\(number)=1; Max-Age=86400", by: jar)
        }
        gate.open()
        try await jar.flush()
        #expect(storage.archives.map(\.count) == [1, 51])
    }

    @Test func failedSaveIsReportedAndRepeated() async throws {
        let storage = CountingStorage()
        let jar = try await CookieJar(in: storage)
        storage.isFull = true
        receive("a=1; Max-Age=86400", by: jar)
        await #expect(throws: CookieStorageError.self) {
            try await jar.flush()
        }
        storage.isFull = false
        try await jar.flush()
        #expect(storage.archives.map(\.count) == [1])
    }

    @Test func cancelledFlushEndsAtOnceAndTheSaveContinues() async throws {
        let gate = MockGate()
        let storage = CountingStorage(gate)
        let jar = try await CookieJar(in: storage)
        receive("a=1; Max-Age=86400", by: jar)
        let flush = Task { try await jar.flush() }
        flush.cancel()
        await #expect(throws: CancellationError.self) { try await flush.value }
        gate.open()
        try await jar.flush()
        #expect(storage.archives.map(\.count) == [1])
    }

    /// A storage in memory that counts its calls.
    private final class CountingStorage: CookieStorage {
        private struct State {
            var starts = 0
            var archives: [CookieArchive] = []
            var isFull = false
        }

        private let state = Mutex(State())
        private let gate: MockGate?

        init(_ gate: MockGate? = nil) {
            self.gate = gate
        }

        var starts: Int { state.withLock { $0.starts } }
        var archives: [CookieArchive] { state.withLock { $0.archives } }
        var isFull: Bool {
            get { state.withLock { $0.isFull } }
            set { state.withLock { $0.isFull = newValue } }
        }

        func load() async throws -> CookieArchive? {
            archives.last
        }

        func save(_ archive: CookieArchive) async throws {
            state.withLock { $0.starts += 1 }
            try await gate?.wait()
            try state.withLock { state in
                if state.isFull { throw CookieStorageError.unusable(reason: "full") }
                state.archives.append(archive)
            }
        }
    }

    // MARK: URLSession

    #if URLSession
    @Test func importsAndExportsTheCookiesOfURLSession() async throws {
        let storage = try #require(URLSessionConfiguration.ephemeral.httpCookieStorage)
        for (name, domain, isSecure) in [
            ("host", "shop.example.org", false), ("domain", ".example.org", true), ("suffix", ".org", false),
        ] {
            var properties: [HTTPCookiePropertyKey: Any] = [.name: name, .value: "1", .domain: domain, .path: "/"]
            properties[.secure] = isSecure ? "TRUE" : nil
            storage.setCookie(try #require(HTTPCookie(properties: properties)))
        }
        let jar = CookieJar()
        let emily = Principal(id: "emily")
        #expect(await jar.importCookies(from: storage, for: emily) == 2)
        let url = try #require(URL(string: "https://shop.example.org/"))
        #expect(Set(jar.cookies(for: url, principal: emily).map(\.name)) == ["host", "domain"])
        #expect(jar.cookies(for: url).isEmpty)
        #expect(jar.cookies(of: emily).first { $0.name == "domain" }?.isSecure == true)

        let other = try #require(URLSessionConfiguration.ephemeral.httpCookieStorage)
        #expect(await jar.exportCookies(to: other, for: emily) == 2)
        #expect(Set(other.cookies?.map(\.domain) ?? []) == ["shop.example.org", ".example.org"])
        #expect(await jar.exportCookies(to: other) == 0)
    }

    @Test(arguments: [Cookie.SameSite.strict, .lax, .none, .unspecified])
    func sameSiteIsKeptWhereTheStorageKnowsIt(sameSite: Cookie.SameSite) async throws {
        let storage = try #require(URLSessionConfiguration.ephemeral.httpCookieStorage)
        let (jar, other) = (CookieJar(), CookieJar())
        try jar.set(
            Cookie(name: "a", value: "1", domain: "a.example", isSecure: true, sameSite: sameSite, created: .now)
        )
        await jar.exportCookies(to: storage)
        await other.importCookies(from: storage)
        #if canImport(Darwin)
        let expected: Cookie.SameSite = sameSite == .none ? .unspecified : sameSite
        #expect((storage.cookies?.first?.sameSitePolicy == .sameSiteStrict) == (sameSite == .strict))
        #else
        let expected = Cookie.SameSite.unspecified
        #endif
        #expect(other.cookies(of: nil).map(\.sameSite) == [expected])
    }
    #endif
}
