import Foundation
import NetworkingTesting
import Testing

@testable import Networking

struct SessionStorageTests {
    private func session(_ user: String?, _ token: String = "access") -> Session {
        Session(userID: user, accessToken: token, refreshToken: "refresh")
    }

    @Test func eachUserHasASession() async throws {
        try await withTemporaryDirectory { directory in
            let file = FileSessionStorage(directory: directory.appending(path: "deep/sessions"))
            for storage in [InMemorySessionStorage(), file] as [any SessionStorage] {
                #expect(try storage.userIDs().isEmpty)
                #expect(try storage.session(for: "emily") == nil)
                for user in ["emily", "../../etc/passwd", "", "名前", "a%2Fb"] {
                    try storage.save(session(user))
                    try storage.save(session(user, "newer"))
                    #expect(try storage.session(for: user)?.accessToken == "newer")
                }
                #expect(try storage.userIDs() == ["", "../../etc/passwd", "a%2Fb", "emily", "名前"])
                try storage.removeSession(for: "emily")
                try storage.removeSession(for: "emily")
                #expect(try storage.session(for: "emily") == nil)
                #expect(try storage.userIDs().count == 4)
            }
        }
    }

    @Test func onlyTheUserOfTheMachineMayReadIt() async throws {
        try await withTemporaryDirectory { directory in
            let folder = directory.appending(path: "sessions")
            try FileSessionStorage(directory: folder).save(session("emily"))
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(names == ["session-emily.json"])
            for (path, mode) in [(folder.path, 0o700), (folder.appending(path: names[0]).path, 0o600)] {
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == mode)
            }
        }
    }

    @Test(arguments: [Data(), Data("{}".utf8), Data("half a {".utf8), Data(repeating: 0, count: 3 << 20)])
    func whatIsDamagedIsSetAsideAndTold(content: Data) async throws {
        try await withTemporaryDirectory { directory in
            let storage = FileSessionStorage(directory: directory)
            try storage.save(session("emily"))
            try content.write(to: directory.appending(path: "session-emily.json"))
            let error = #expect(throws: SessionStorageError.self) { try storage.session(for: "emily") }
            guard case .damaged(let file) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(try Data(contentsOf: file) == content)
            #expect(try storage.session(for: "emily") == nil)
            #expect(try storage.userIDs().isEmpty)
            try storage.save(session("emily"))
            #expect(try storage.session(for: "emily") == session("emily"))
        }
    }

    @Test func whatCannotBeKeptIsToldAndUsed() async throws {
        try await withTemporaryDirectory { directory in
            let blocked = directory.appending(path: "file")
            try Data().write(to: blocked)
            let failures = Journal()
            let store = TokenStore(
                nil,
                in: FileSessionStorage(directory: blocked.appending(path: "sessions")),
                onStorageFailure: { failures.note("\($0)") }
            )
            store.set(session("emily"))
            #expect(store.credentials == session("emily"))
            #expect(failures.entries.count == 1)
            #expect(failures.entries.first?.contains("access") == false)
            let error = #expect(throws: SessionStorageError.self) {
                try FileSessionStorage(directory: directory).save(session(String(repeating: "x", count: 300)))
            }
            #expect(error?.description.contains("too long") == true)
        }
    }

    @Test func aStoreKeepsWhatChanges() async throws {
        let server = TokenServer()
        let storage = InMemorySessionStorage()
        let store = TokenStore(nil, in: storage, delegate: server)
        let network = server.transport.authenticated(with: store).server(authority: "api.example.com")
        store.set(server.session())
        server.expire()
        try await network.me()
        #expect(storage.session(for: "emily")?.refreshToken == "refresh-1")
        // Somebody else signs in; the first is kept for later.
        store.set(session("james"))
        #expect(storage.userIDs() == ["emily", "james"])
        store.remove()
        #expect(storage.userIDs() == ["emily"])
    }
}
