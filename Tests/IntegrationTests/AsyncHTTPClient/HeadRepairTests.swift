#if AsyncHTTPClient && TestServer
import Foundation
import HTTPTypes
import Networking
@testable import NetworkingAsyncHTTPClient
import NetworkingTestServer
import NIOCore
import Testing

extension Loopback {
    /// Heads that NIO's decoder reads differently from other clients.
    @Suite(.timeLimit(.minutes(20)))
    struct HeadRepairTests {
        /// Heads as they arrive and as the decoder receives them.
        private static let texts: [(String, String)] =
            [
                ("HTTP/1.1 200 OK\r\nA: b\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
                ("HTTP/1.1 200 OK\n\n", "HTTP/1.1 200 OK\n\n"),
                ("\r\nHTTP/1.1 200 OK\r\n\r\n", "\r\nHTTP/1.1 200 OK\r\n\r\n"),
                (
                    "HTTP/1.1 200 OK\r\nA: b\r\n folded\r\nC: d\r\n\r\n",
                    "HTTP/1.1 200 OK\r\nA: b folded\r\nC: d\r\n\r\n"
                ),
                ("HTTP/1.1 200 OK\r\nA: b \t\r\n\t c\r\n \t d\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b c d\r\n\r\n"),
                ("HTTP/1.1 200 OK\r\nA:\r\n b\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
                ("HTTP/1.1 200 OK\nA: b\n c\n\n", "HTTP/1.1 200 OK\nA: b c\n\n"),
                ("HTTP/1.1 200 OK\r\nA: Gr\u{FC}\u{DF}e\r\n\r\n", "HTTP/1.1 200 OK\r\nA: Gr\u{FC}\u{DF}e\r\n\r\n"),
                ("HTTP/1.1 200 OK\r\nSet-Cookie: a=\u{1}\r\nB: c\r\n\r\n", "HTTP/1.1 200 OK\r\nB: c\r\n\r\n"),
                ("HTTP/1.1 200 OK\r\nset-COOKIE:a\u{7F}=1\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"),
                ("HTTP/1.1 200 OK\r\nSet-Cookie: a=1;\r\n b=\u{2}\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"),
                ("HTTP/1.1 200 OK\r\nSet-Cookie: a\tb=1\r\n\r\n", "HTTP/1.1 200 OK\r\nSet-Cookie: a\tb=1\r\n\r\n"),
                // The decoder rejects these.
                ("HTTP/1.1 200 OK\r\nSet-Cookie: a=\0\r\n\r\n", "HTTP/1.1 200 OK\r\nSet-Cookie: a=\0\r\n\r\n"),
                ("HTTP/1.1 200 OK\r\nA: \u{1}\r\n\r\n", "HTTP/1.1 200 OK\r\nA: \u{1}\r\n\r\n"),
                ("HTTP/1.1 200 OK\r\nSet-Cookie \u{1}: a\r\n\r\n", "HTTP/1.1 200 OK\r\nSet-Cookie \u{1}: a\r\n\r\n"),
            ]

        /// Heads with bytes that are not UTF-8: each line has its own charset.
        private static let latin: [([UInt8], String)] = [
            (
                Array("HTTP/1.1 200 OK\r\nA: Fran".utf8) + [0xE7] + Array("ois\r\n\r\n".utf8),
                "HTTP/1.1 200 OK\r\nA: Fran\u{E7}ois\r\n\r\n"
            ),
            (
                Array("HTTP/1.1 200 OK\r\nA: \u{E9}\r\nB: ".utf8) + [0xE9, 0x80] + Array("\r\n\r\n".utf8),
                "HTTP/1.1 200 OK\r\nA: \u{E9}\r\nB: \u{E9}\u{80}\r\n\r\n"
            ),
        ]

        /// All heads, as they arrive and as the decoder receives them.
        static let heads: [(wire: [UInt8], repaired: String)] =
            texts.map { (wire: Array($0.utf8), repaired: $1) } + latin.map { (wire: $0, repaired: $1) }

        /// Splits each head at every byte, and into single bytes.
        @Test(arguments: heads.indices)
        func repairsAHeadHoweverItIsSplit(index: Int) {
            let (wire, repaired) = Self.heads[index]
            for split in 0...wire.count {
                var lines = HeadLines()
                let parts = split == 0 ? wire.map { [$0] } : [Array(wire[..<split]), Array(wire[split...])]
                // The next head on the connection starts from the beginning.
                for _ in 1...2 {
                    var passedOn: [UInt8] = []
                    for part in parts where !part.isEmpty {
                        passedOn += Array(buffer: lines.receive(ByteBuffer(bytes: part)))
                    }
                    #expect(passedOn == Array(repaired.utf8), "split at \(split)")
                    #expect(lines.rest.readableBytes == 0)
                }
            }
        }

        @Test func passesALongLineOnBeforeItsEnd() {
            var lines = HeadLines()
            var count = lines.receive(ByteBuffer(string: "HTTP/1.1 200 OK\r\nA: ")).readableBytes
            for _ in 0..<1_000 {
                count += lines.receive(ByteBuffer(repeating: 0x61, count: 1_000)).readableBytes
                #expect(lines.rest.readableBytes <= 129 << 10)
            }
            #expect(count > 800_000)
        }

        private let transport = AsyncHTTPClientTransport()

        @Test func readsUnusualLines() async throws {
            try await withTestServer { server in
                server.enqueue(
                    .raw(
                        "HTTP/1.1 103 Early Hints\r\nLink: <a>;\r\n rel=preload\r\n\r\nHTTP/1.1 200 OK\r\nX-A: b\r\n  folded\r\n",
                        "Content-Disposition: attachment; filename=\"caf",
                        .bytes(Data([0xE9])),
                        ".txt\"\r\n",
                        "Set-Cookie: a=\u{1}\r\nSet-Cookie: b=2\r\nTransfer-Encoding:\r\n chunked\r\n\r\n",
                        "2\r\nok\r\n0\r\n\r\n"
                    ),
                    .text("next")
                )
                let network = transport.server(baseURL: server.url)
                let response = try await network.data(HTTPRequestData())
                #expect(response.headerFields["X-A"] == "b folded")
                #expect(response.headerFields[.contentDisposition] == "attachment; filename=\"caf\u{E9}.txt\"")
                #expect(response.headerFields[values: .setCookie] == ["b=2"])
                #expect(String(decoding: response.data, as: UTF8.self) == "ok")
                let next = try await network.data(HTTPRequestData())
                #expect(String(decoding: next.data, as: UTF8.self) == "next")
            }
        }

        /// A held line must not make a response that has begun look like a kept connection that was closed.
        @Test func doesNotSendAPostAgainAfterTheStartOfAHead() async throws {
            try await withTestServer { server in
                server.enqueue(.ok, .raw("HTTP/1.1 200", .close), .text("never sent"))
                let network = transport.server(baseURL: server.url)
                try await network.data(HTTPRequestData())
                let error = await #expect(throws: NetworkingError.self) {
                    try await network.data(HTTPRequestData(method: .post, body: .data(Data("order".utf8))))
                }
                #expect(error?.kind == .connectionLost)
                #expect(server.requests.count == 2)
            }
        }
    }
}
#endif
