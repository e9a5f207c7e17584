#if TestServer && URLSession && AsyncHTTPClient && os(Linux)
import Foundation
import HTTPTypes
import NetworkingTestServer
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The files, ports and certificate of a server, and the origin behind it.
///
/// A server serves the files in `files`, and passes the paths below `/app/` to the origin. A server without a proxy
/// has these paths itself: `echo`, `slow`, `large`, `trailers` and `hints`. Each response has the port of the client in
/// `X-Port`.
struct PeerSite: Sendable {
    /// The folder of the configuration and of temporary files.
    let folder: URL
    let port: Int
    let securePort: Int
    /// The port of the origin.
    let origin: Int
    /// The content of `ready.txt`.
    let token = UUID().uuidString
    let identity = TestCertificates.Identity.trusted

    static let text = Data(String(repeating: "The quick brown fox jumps over the lazy dog.\n", count: 2_000).utf8)
    static let film = ServedFile(byteCount: 24 << 20)
    static let largeValue = String(repeating: "v", count: 900)
    static let slowText = "first second third"

    /// Creates a folder that an unprivileged user can read, because Apache changes its user.
    init(origin: Int) throws {
        folder = URL(filePath: "/tmp/networking-peer-\(UInt32.random(in: 0...UInt32.max))")
        port = try ValkeyServer.freePort()
        securePort = try ValkeyServer.freePort()
        self.origin = origin
        let manager = FileManager.default
        for (name, mode) in [("", 0o755), ("files", 0o755), ("files/folder", 0o755), ("files/upload", 0o777)] {
            let path = folder.appending(path: name).path
            try manager.createDirectory(atPath: path, withIntermediateDirectories: true)
            try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }
        try write("files/ready.txt", token)
        try write("files/folder/index.html", "<p>index</p>")
        try Self.text.write(to: folder.appending(path: "files/text.txt"))
        let film = folder.appending(path: "files/film.bin")
        try Self.film.bytes.write(to: film)
        // Apache gives a weak entity tag to a file that has just changed, and a weak tag does not permit a resumption.
        try manager.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -3_600)], ofItemAtPath: film.path)
    }

    func remove() {
        try? FileManager.default.removeItem(at: folder)
    }

    /// What the server has written.
    var log: String {
        (try? String(contentsOf: folder.appending(path: "log"), encoding: .utf8)) ?? ""
    }

    /// Writes a file into the folder and returns its path.
    @discardableResult
    func write(_ name: String, _ text: String) throws -> String {
        let file = folder.appending(path: name)
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
        return file.path
    }

    /// Returns the URL of the site over a version of HTTP, with another port if there is one.
    func url(_ version: PeerVersion, port other: Int? = nil) throws -> URL {
        switch version {
        case .http1: try #require(URL(string: "http://127.0.0.1:\(other ?? port)"))
        case .http2: try #require(URL(string: "https://127.0.0.1:\(other ?? securePort)"))
        }
    }

    /// Returns a file of the site, without the library.
    func get(_ path: String) async throws -> Data {
        let session = URLSession(configuration: .ephemeral)
        defer { session.finishTasksAndInvalidate() }
        return try await session.data(from: url(.http1).appending(path: path)).0
    }

    /// Adds the paths of the origin to a server, and the files for proxies that serve none.
    static func route(on server: TestServer) {
        server.route("/app/echo") { request in TestResponse(body: .data(request.body)) }
        server.route("/app/slow") { _ in
            TestResponse(
                body: .chunks([
                    "first ", TestResponse.Chunk("second ", delay: .milliseconds(30)),
                    TestResponse.Chunk("third", delay: .milliseconds(30)),
                ])
            )
        }
        server.route("/app/large") { _ in
            TestResponse(headerFields: largeFields, body: .data(Data("large".utf8)))
        }
        server.route("/app/trailers") { _ in
            TestResponse(body: .chunks(["with ", "trailers"])).trailers([HTTPField.Name("X-Checksum")!: "1"])
        }
        server.route("/app/hints") { _ in .text("page").preceded(by: .earlyHints("</style.css>; rel=preload")) }
        server.route("/text.txt") { _ in
            TestResponse(headerFields: [.contentType: "text/plain", .eTag: "\"1\""], body: .data(text))
        }
        server.route("/film.bin") { request in film.response(to: request) }
    }

    /// Fields of more than 7 KB in all.
    static var largeFields: HTTPFields {
        var fields = HTTPFields()
        for number in 1...8 {
            fields[HTTPField.Name("X-Large-\(number)")!] = largeValue
        }
        return fields
    }
}
#endif
