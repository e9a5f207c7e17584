import Foundation
import Networking
import NetworkingTesting
import Testing

/// Mock responses from files.
@Suite(.timeLimit(.minutes(20)))
struct MockDirectoryTests {
    /// A backend with some files, and the directory that contains their directory.
    private struct Backend {
        let directory: URL
        let transport: MockTransport

        init(_ directory: URL) throws {
            self.directory = directory
            transport = MockTransport(serving: directory.appending(path: "served"))
            try write(#"{"id":42}"#, to: "served/users/42.json")
            try write("[]", to: "served/users/index.json")
            try write(#"{"id":43}"#, to: "served/users.post.json")
            try write("top", to: "served/index.json")
            try write("<svg/>", to: "served/logo.svg")
            try write("space", to: "served/a b.txt")
            try write("hidden", to: "served/.env")
            try write("secret", to: "secret.json")
        }

        func write(_ text: String, to path: String) throws {
            let url = directory.appending(path: path)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(text.utf8).write(to: url)
        }

        func send(_ method: HTTPRequest.Method, _ path: String) async throws -> HTTPResponseData {
            try await transport.data(HTTPRequestData(method: method, authority: "a.example", path: path))
        }
    }

    private func withBackend(_ body: (Backend) async throws -> Void) async throws {
        try await withTemporaryDirectory { try await body(Backend($0)) }
    }

    @Test(
        arguments: [
            (.get, "/users/42", #"{"id":42}"#, "application/json"),
            (.get, "/users/42?full=1", #"{"id":42}"#, "application/json"),
            (.get, "/users/42.json", #"{"id":42}"#, "application/json"), (.get, "/users", "[]", "application/json"),
            (.get, "/users/", "[]", "application/json"), (.post, "/users", #"{"id":43}"#, "application/json"),
            (.get, "/", "top", "application/json"), (.get, "/logo.svg", "<svg/>", "image/svg+xml"),
            (.get, "/a%20b.txt", "space", "text/plain"), (.head, "/users/42", "", "application/json"),
        ] as [(HTTPRequest.Method, String, String, String)]
    )
    func filesAreReturned(method: HTTPRequest.Method, path: String, body: String, type: String) async throws {
        try await withBackend { backend in
            let response = try await backend.send(method, path)

            #expect(response.status == .ok)
            #expect(String(decoding: response.data, as: UTF8.self) == body)
            #expect(response.headerFields[.contentType] == type)
        }
    }

    @Test(
        arguments: [
            "/nothing", "/../secret", "/users/../../secret.json", "/%2e%2e/secret.json", "/users/..%2f..%2fsecret.json",
            "/.env", "/users//42", "/users/42%00", "/..%5csecret",
        ]
    )
    func missingFileIsNotFound(path: String) async throws {
        try await withBackend { backend in
            let response = try await backend.send(.get, path)

            #expect(response.status == .notFound)
            #expect(String(decoding: response.data, as: UTF8.self).hasPrefix("There is no file for GET"))
            try backend.transport.verifyAllUsed()
        }
    }

    @Test func stubsTakePrecedenceAndTheClosureIsLast() async throws {
        try await withBackend { backend in
            backend.transport.on(.get, "/users/42", uses: .once, .text("stub"))
            #expect(try await backend.send(.get, "/users/42").data == Data("stub".utf8))
            #expect(try await backend.send(.get, "/users/42").data == Data(#"{"id":42}"#.utf8))

            let both = MockTransport { _ in .text("closure") }
            both.serve(backend.directory.appending(path: "served"), at: "/v1")
            let file = try await both.data(HTTPRequestData(authority: "a.example", path: "/v1/users/42"))
            let rest = try await both.data(HTTPRequestData(authority: "a.example", path: "/users/42"))
            #expect(file.data == Data(#"{"id":42}"#.utf8))
            #expect(rest.data == Data("closure".utf8))
        }
    }

    @Test func missingDirectoryIsNamed() async throws {
        let transport = MockTransport(serving: URL(filePath: "/nowhere/fixtures"))
        let response = try await transport.data(HTTPRequestData(authority: "api.example.com", path: "/users"))
        #expect(response.status == .notFound)
        #expect(String(decoding: response.data, as: UTF8.self).contains("There is no directory /nowhere/fixtures."))
    }

    @Test func fileIsReadForEachRequest() async throws {
        try await withBackend { backend in
            try backend.write("changed", to: "served/users/42.json")

            #expect(try await backend.send(.get, "/users/42").data == Data("changed".utf8))
        }
    }

    @Test func fileIsReturnedUnchanged() async throws {
        try await withBackend { backend in
            let url = backend.directory.appending(path: "served/logo.svg")
            let transport = MockTransport([
                .file(url), .file(url, status: .created, contentType: "text/plain"), .file(url).inSteps(2),
            ])
            let sink = CollectingSink()

            let first = try await transport.data(.lawful)
            #expect(first.data == Data("<svg/>".utf8))
            #expect(first.headerFields[.contentType] == "image/svg+xml")
            let second = try await transport.data(.lawful)
            #expect(second.status == .created)
            #expect(second.headerFields[.contentType] == "text/plain")
            try await transport.data(.lawful.with { $0.sink = sink })
            #expect(sink.chunks.count == 2)
        }
    }

    @Test func missingFileFailsAndIsNamed() async throws {
        try await withBackend { backend in
            let url = backend.directory.appending(path: "missing.json")

            let error = await #expect(throws: NetworkingError.self) {
                try await MockTransport([.file(url)]).data(.lawful)
            }

            #expect(error?.kind == .storage)
            #expect(
                error?.reason
                    == "The file of MockResponse.file cannot be sent. There is no file at \(url.path)."
            )
        }
    }
}
