#if TestServer
import Foundation
import HTTPTypes
import NetworkingTestServer
import NetworkingTesting
import TestSupport
import Testing

import Networking

extension Loopback {
    /// The exported cURL command, run by a shell and a real curl.
    @Suite(
        .requires(.curl),
        .timeLimit(.minutes(20))
    )
    struct CURLTests {
        private static func bodies(_ folder: URL) throws -> [RequestBody?] {
            let file = folder.appending(path: "it's $HOME `x` \"y\".bin")
            try Data((0...255).map { UInt8($0) }).write(to: file)
            return [
                nil, .data(Data()), .data(Data("plain".utf8), contentType: "text/plain"),
                .data(Data("it's $HOME `id` \"x\" \\n !! 100%\r\n\tnext".utf8), contentType: "text/plain"),
                .data(Data((0...255).map { UInt8($0) })), .data(Data("@file".utf8)), .data(Data("%s%d\0%%".utf8)),
                .form(["name": "Emily & James", "q": "1+1=2"]),
                .data(Data(#"{"emoji":"🦊","quote":"'"}"#.utf8), contentType: "application/json"), .file(file),
            ]
        }

        @Test func curlSendsTheSameRequest() async throws {
            try await withTemporaryDirectory { folder in
                try await withTestServer { server in
                    server.route("/*") { _ in .text("done") }
                    let network = addressed(server.url)
                    for body in try Self.bodies(folder) {
                        for target in ["/plain", "/a/../b//c?x[]={1}&y=%20'\"$z&empty=", "/%E2%82%AC?q=a+b#"] {
                            var request = HTTPRequestData(method: body == nil ? .get : .post, path: target)
                            request.headerFields[.accept] = "text/html, */*;q=0.1"
                            request.headerFields[HTTPField.Name("X-Odd")!] = "it's \"$HOME\" `x` \\ ! % end"
                            request.headerFields[HTTPField.Name("X-Empty")!] = ""
                            request.headerFields.append(HTTPField(name: HTTPField.Name("X-Twice")!, value: "1"))
                            request.headerFields.append(HTTPField(name: HTTPField.Name("X-Twice")!, value: "2"))
                            request.body = body
                            let whole = network.resolved(request)
                            try await run(whole.curl())
                            let arrived = try #require(server.requests.last)
                            #expect(arrived.method == whole.method)
                            #expect(arrived.path + (arrived.query.map { "?\($0)" } ?? "") == whole.target)
                            for name in ["Accept", "X-Odd", "X-Empty", "X-Twice"] {
                                let name = try #require(HTTPField.Name(name))
                                #expect(arrived.headerFields[values: name] == whole.headerFields[values: name])
                            }
                            #expect(arrived.headerFields[.contentType] == body?.contentType)
                            let sent = try body?.fileURL.map { try Data(contentsOf: $0) } ?? body?.data ?? Data()
                            #expect(arrived.body == sent)
                        }
                    }
                    for method in [HTTPRequest.Method.head, .delete, .put, .patch, .options] {
                        try await run(network.resolved(HTTPRequestData(method: method, path: "/plain")).curl())
                        #expect(server.requests.last?.method == method)
                    }
                }
            }
        }

        /// A stack that only adds the base URL.
        private func addressed(_ url: URL) -> some NetworkingComponent {
            MockTransport().server(baseURL: url)
        }

        private func run(_ command: String) async throws {
            let process = Process()
            process.executableURL = URL(filePath: "/bin/sh")
            let quiet = command.replacing(
                "curl ",
                with: "curl --silent --noproxy '*' --max-time 60 ",
                maxReplacements: 1
            )
            process.arguments = ["-c", quiet]
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            // Does not block a thread here, because the server may need it.
            try await withCheckedThrowingContinuation { continuation in
                process.terminationHandler = { _ in continuation.resume() }
                do {
                    try process.run()
                } catch {
                    process.terminationHandler = nil
                    continuation.resume(throwing: error)
                }
            }
            #expect(process.terminationStatus == 0, "\(command)")
        }
    }
}
#endif
