import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20)))
struct FileBodyTests {
    @Test(arguments: [0, 1, 131_072, 131_073, 300_000])
    func readsTheFileInChunks(size: Int) async throws {
        try await withTemporaryDirectory { directory in
            let url = directory.appending(path: "data.bin")
            let bytes = Data.unlike(size)
            try bytes.write(to: url)
            let body = RequestBody.file(url)
            #expect(body.length == Int64(size))
            #expect(body.isReplayable)
            #expect(body.data == nil)
            #expect(body.fileURL?.path == url.path)
            for _ in 0..<2 {
                var chunks: [Data] = []
                for try await chunk in body.chunks {
                    chunks.append(chunk)
                }
                #expect(chunks.allSatisfy { !$0.isEmpty && $0.count <= 131_072 })
                #expect(Data(chunks.joined()) == bytes)
            }
        }
    }

    @Test(arguments: [
        ("a.png", "image/png"), ("A.JPG", "image/jpeg"), ("x.tar.gz", "application/gzip"),
        ("film.mov", "video/quicktime"),
        ("readme", "application/octet-stream"), (".html", "application/octet-stream"),
        ("a.xyz", "application/octet-stream"),
        ("dir.png/readme", "application/octet-stream"), ("ü.json", "application/json"),
    ])
    func guessesTheTypeFromTheName(name: String, type: String) {
        #expect(RequestBody.file(URL(filePath: "/tmp/\(name)")).contentType == type)
        #expect(RequestBody.file(URL(filePath: "/tmp/\(name)"), contentType: "a/b").contentType == "a/b")
    }

    @Test func fileBodiesAreEqualByPathAndType() {
        let (a, b) = (URL(filePath: "/tmp/a.txt"), URL(filePath: "/tmp/b.txt"))
        #expect(RequestBody.file(a) == .file(a))
        #expect(RequestBody.file(a).hashValue == RequestBody.file(a).hashValue)
        #expect(RequestBody.file(a) != .file(b))
        #expect(RequestBody.file(a) != .file(a, contentType: "x/y"))
        #expect(RequestBody.file(a) != .data(Data(), contentType: "text/plain"))
    }

    // MARK: Invalid files

    private func error(of body: RequestBody) async -> NetworkingError? {
        let transport = MockTransport { _ in .ok() }
        let error = await #expect(throws: NetworkingError.self) {
            try await transport.data(HTTPRequestData(method: .put, authority: "example.com", path: "x", body: body))
        }
        #expect(error.map { "\($0)" }?.hasPrefix("PUT https://example.com/x: ") == true)
        #expect(transport.requests.isEmpty)
        return error
    }

    @Test func missingFileIsNamedInTheError() async throws {
        let error = try #require(await error(of: .file(URL(filePath: "/nonexistent/film.mov"))))
        #expect(error.kind == .storage)
        #expect(error.reason == "There is no file at /nonexistent/film.mov.")
    }

    @Test func directoryIsAnError() async throws {
        let error = try #require(await error(of: .file(URL(filePath: "/tmp"))))
        #expect(error.kind == .storage)
        #expect(error.reason == "/tmp is a directory. Name a file in it.")
    }

    @Test func deviceIsAnError() async throws {
        let error = try #require(await error(of: .file(URL(filePath: "/dev/null"))))
        #expect(error.kind == .storage)
        #expect(error.reason == "/dev/null is not a regular file.")
    }

    @Test func pipeWithoutAWriterDoesNotBlock() async throws {
        try await withTemporaryDirectory { directory in
            let url = directory.appending(path: "pipe")
            #expect(mkfifo(url.path, 0o600) == 0)
            let error = try #require(await error(of: .file(url)))
            #expect(error.kind == .storage)
        }
    }

    @Test(.requires(.unprivilegedUser))
    func unreadableFileIsNamedInTheError() async throws {
        try await withTemporaryDirectory { directory in
            let url = directory.appending(path: "secret")
            try Data("x".utf8).write(to: url)
            try FileManager.default.setAttributes([.posixPermissions: 0o000], ofItemAtPath: url.path)
            let error = try #require(await error(of: .file(url)))
            #expect(error.kind == .storage)
            #expect(error.reason.contains("Check its permissions."))
        }
    }

    @Test func remoteURLIsAnError() async throws {
        let url = try #require(URL(string: "https://user:secret@example.com/film.mov"))
        let error = try #require(await error(of: .file(url)))
        #expect(error.kind == .storage)
        #expect(!"\(error)".contains("secret"))
    }

    @Test(arguments: ["shorter", "longer", "rewritten", "replaced"])
    func fileThatChangesDuringReadingIsAnError(change: String) async throws {
        try await withTemporaryDirectory { directory in
            let url = directory.appending(path: "log")
            try Data(count: 300_000).write(to: url)
            var chunks = RequestBody.file(url).chunks.makeAsyncIterator()
            _ = try await chunks.next()
            switch change {
            case "shorter": #expect(truncate(url.path, 140_000) == 0)
            case "longer": #expect(truncate(url.path, 300_001) == 0)
            case "rewritten":
                let past = Date(timeIntervalSince1970: 1)
                try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: url.path)
            default:
                // The opened file is read to its end, even if another file takes its name.
                try FileManager.default.removeItem(at: url)
                try Data(count: 7).write(to: url)
            }
            var failure: RequestBody.Failure?
            var count = 131_072
            do {
                while let chunk = try await chunks.next() {
                    count += chunk.count
                }
            } catch let error as RequestBody.Failure {
                failure = error
            }
            if change == "replaced" {
                #expect(failure == nil)
                #expect(count == 300_000)
            } else {
                #expect(failure?.kind == .storage)
                #expect(failure?.reason.contains("changed while it was being sent") == true)
            }
        }
    }
}
