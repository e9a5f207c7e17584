import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCookies

#if SQLite
import NetworkingSQLite
#endif

/// The storages of cookies, which all have to pass the same tests.
enum CookieStorageKind: CaseIterable {
    case file
    #if SQLite
    case sqlite
    #endif

    /// Creates a storage; two storages in one directory share their file.
    func storage(in directory: URL) -> any CookieStorage {
        switch self {
        case .file: FileCookieStorage(file: Self.file(in: directory))
        #if SQLite
        case .sqlite: SQLiteCookieStorage(file: Self.file(in: directory))
        #endif
        }
    }

    static func file(in directory: URL) -> URL {
        directory.appending(path: "jar/cookies")
    }
}

@Suite(.serialized, .timeLimit(.minutes(20)))
struct CookieStorageConformanceTests {
    private let emily = Principal(id: "emily")

    private func receive(_ fields: String..., by jar: CookieJar, of principal: Principal? = nil) {
        _ = jar.store(fields, from: HTTPRequestData(authority: "example.org"), for: CookieOwner(principal: principal))
    }

    private func archive(_ sessions: [(principal: String?, cookies: [Cookie])]) -> CookieArchive {
        CookieArchive(
            key: Array(repeating: 7, count: 16),
            sessions: sessions.map { .init(principal: $0.principal, id: "1", cookies: $0.cookies) }
        )
    }

    private func cookie(_ name: String, value: String = "1", expires: Date? = .now.addingTimeInterval(60)) -> Cookie {
        Cookie(name: name, value: value, domain: "example.org", expires: expires, created: .now)
    }

    @Test(arguments: CookieStorageKind.allCases)
    func returnsTheArchiveThatWasSavedLast(_ kind: CookieStorageKind) async throws {
        try await withTemporaryDirectory { directory in
            let storage = kind.storage(in: directory)
            #expect(try await storage.load() == nil)
            let archives = [
                archive([(nil, [cookie("a"), cookie("b")]), ("", [cookie("c")]), ("emily", [cookie("d")])]),
                archive([("", [cookie("c", value: "2")]), ("emily\0", [cookie("e")])]),
                archive([]),
            ]
            for archive in archives {
                try await storage.save(archive)
                let loaded = [try await storage.load(), try await kind.storage(in: directory).load()]
                #expect(loaded == [archive, archive])
            }
        }
    }

    @Test(arguments: CookieStorageKind.allCases)
    func aSaveWithoutALoadReplacesEverything(_ kind: CookieStorageKind) async throws {
        try await withTemporaryDirectory { directory in
            try await kind.storage(in: directory).save(archive([(nil, [cookie("a")]), ("emily", [cookie("b")])]))
            let second = archive([("fred", [cookie("c")])])
            try await kind.storage(in: directory).save(second)
            #expect(try await kind.storage(in: directory).load() == second)
        }
    }

    @Test(arguments: CookieStorageKind.allCases)
    func cookiesWithAnExpiryDateSurviveARestart(_ kind: CookieStorageKind) async throws {
        try await withTemporaryDirectory { directory in
            do {
                let jar = try await CookieJar(in: kind.storage(in: directory))
                _ = jar.store(
                    [
                        "domain=1; Max-Age=60; Secure; HttpOnly; SameSite=Strict; Path=/x; Domain=example.org",
                        "session=hunter2",
                    ],
                    from: HTTPRequestData(authority: "www.example.org"),
                    for: CookieOwner(principal: nil)
                )
                receive("mine=2; Max-Age=60", by: jar, of: emily)
                try await jar.flush()
            }
            let jar = try await CookieJar(in: kind.storage(in: directory))
            let cookie = try #require(jar.cookies(of: nil).first)
            #expect(jar.cookies(of: nil).count == 1)
            #expect(cookie.name == "domain" && cookie.value == "1" && cookie.path == "/x")
            #expect(!cookie.isHostOnly && cookie.isSecure && cookie.isHTTPOnly && cookie.sameSite == .strict)
            #expect(jar.cookies(of: emily).map(\.value) == ["2"])
            #expect(try files(in: directory).allSatisfy { $0.range(of: Data("hunter2".utf8)) == nil })
        }
    }

    @Test(arguments: CookieStorageKind.allCases)
    func principalsOfCachesSurviveARestart(_ kind: CookieStorageKind) async throws {
        try await withTemporaryDirectory { directory in
            let request = HTTPRequestData(authority: "example.org")
            let first = try await CookieJar(in: kind.storage(in: directory))
            receive("a=1; Max-Age=60", by: first)
            let principal = try #require(MockTransport().cookies(in: first).principal(for: request))
            try await first.flush()
            let second = try await CookieJar(in: kind.storage(in: directory))
            #expect(MockTransport().cookies(in: second).principal(for: request) == principal)
        }
    }

    @Test(arguments: CookieStorageKind.allCases)
    func removedCookiesLeaveTheFiles(_ kind: CookieStorageKind) async throws {
        try await withTemporaryDirectory { directory in
            let jar = try await CookieJar(in: kind.storage(in: directory))
            receive("a=hunter2; Max-Age=60", "b=1; Max-Age=60", by: jar)
            receive("c=hunter2; Max-Age=60", by: jar, of: emily)
            try await jar.flush()
            #expect(try files(in: directory).contains { $0.range(of: Data("hunter2".utf8)) != nil })
            receive("a=; Max-Age=0", by: jar)
            jar.removeAll(of: emily)
            try await jar.flush()
            #expect(try files(in: directory).allSatisfy { $0.range(of: Data("hunter2".utf8)) == nil })
            #expect(try await CookieJar(in: kind.storage(in: directory)).cookies(of: nil).map(\.name) == ["b"])
            jar.removeAll()
            try await jar.flush()
            #expect(try await CookieJar(in: kind.storage(in: directory)).count == 0)
        }
    }

    @Test(arguments: CookieStorageKind.allCases)
    func filesAreForTheirUserOnly(_ kind: CookieStorageKind) async throws {
        try await withTemporaryDirectory { directory in
            let storage = kind.storage(in: directory)
            try await storage.save(archive([(nil, [cookie("a")])]))
            let folder = CookieStorageKind.file(in: directory).deletingLastPathComponent()
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
                let attributes = try FileManager.default.attributesOfItem(atPath: folder.appending(path: name).path)
                #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
            }
            // The last reference: a database removes its log when it is closed.
            _ = storage
        }
    }

    @Test(
        arguments: CookieStorageKind.allCases,
        ["{}", "[]", "{\"key\":[],\"sessions\":3}", "\0\0\0\(String(repeating: "x", count: 200))"]
    )
    func aDamagedFileIsSetAsideOnce(_ kind: CookieStorageKind, content: String) async throws {
        try await withTemporaryDirectory { directory in
            let file = CookieStorageKind.file(in: directory)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(content.utf8).write(to: file)
            let storage = kind.storage(in: directory)
            try await expectDamagedFile(of: storage, with: content)
            let jar = try await CookieJar(in: storage)
            #expect(jar.count == 0)
            receive("a=1; Max-Age=60", by: jar)
            try await jar.flush()
            #expect(try await CookieJar(in: kind.storage(in: directory)).count == 1)
        }
    }

    @Test(arguments: CookieStorageKind.allCases)
    func cookiesOfATamperedFileAreChecked(_ kind: CookieStorageKind) async throws {
        try await withTemporaryDirectory { directory in
            let expires = Date.now.addingTimeInterval(1_000_000_000)
            let cookies = [
                Cookie(name: "suffix", value: "1", domain: "org", isHostOnly: false, expires: expires, created: .now),
                cookie("a", value: "1\r\nX: 1"), cookie("none", expires: nil), cookie("past", expires: .distantPast),
                Cookie(name: "good", value: "1", domain: "example.org", expires: expires, created: .distantFuture),
            ]
            try await kind.storage(in: directory)
                .save(CookieArchive(key: [1, 2], sessions: [.init(principal: nil, id: "1", cookies: cookies)]))
            let jar = try await CookieJar(in: kind.storage(in: directory))
            #expect(jar.cookies(of: nil).map(\.name) == ["good"])
            let good = try #require(jar.cookies(of: nil).first)
            #expect(good.created <= .now)
            #expect(try #require(good.expires) <= Date.now.addingTimeInterval(400 * 86_400))
        }
    }

    @Test(arguments: CookieStorageKind.allCases)
    func aFileThatCannotBeUsedIsReported(_ kind: CookieStorageKind) async throws {
        try await withTemporaryDirectory { directory in
            let file = CookieStorageKind.file(in: directory)
            try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
            let storage = kind.storage(in: directory)
            let error = await #expect(throws: CookieStorageError.self) { try await CookieJar(in: storage) }
            guard case .unusable(let reason) = error else {
                Issue.record("not reported as unusable: \(String(describing: error))")
                return
            }
            #expect(error?.description == reason && reason.contains(file.path))
            #expect(error?.localizedDescription == "The cookies could not be read or saved.")
            await #expect(throws: CookieStorageError.self) { try await storage.save(archive([])) }
        }
    }

    /// The contents of all files.
    private func files(in directory: URL) throws -> [Data] {
        let folder = CookieStorageKind.file(in: directory).deletingLastPathComponent()
        return try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .map { try Data(contentsOf: folder.appending(path: $0)) }
    }
}
