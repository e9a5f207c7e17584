#if AsyncHTTPClient && TestServer
import Foundation
import HTTPTypes
import Networking
import NetworkingAsyncHTTPClient
import NetworkingTestServer
import TestSupport
import Testing

extension Loopback {
    /// Bodies over AsyncHTTPClient in codings that the app decodes, or a library of the system.
    @Suite(.timeLimit(.minutes(20)))
    struct ContentDecoderTests {
        private let transport = AsyncHTTPClientTransport()

        private static let text = String(repeating: "Emily, Emil, Emilia and Emilio. ", count: 8)

        /// The text, compressed by independent programs.
        private static let brotli = "G/8A+MVtbF350XmuIXSEql3SQtBmKcABLxTH/QGOOyxoy5pLDA=="
        private static let zstandard = "KLUv/QRoBQEAoEVtaWx5LCBFbWlsaWEgYW5kby4gAwDdoehwGSVD8QLoq6D+"

        /// 64 MiB of zeros.
        private static let brotliBomb = "z///f/gnAOKxQCD3/p/////wTwDEYQGA7v0/////4Z8AiMMiAN37f/7//8M/ARCHBQC69/8D"

        /// Inverts all bits, and ends with a zero byte.
        private struct Inverting: ContentDecoder {
            private var hasEnded = false

            mutating func decode(_ bytes: Data, _ output: (Data) throws -> Void) throws {
                guard !hasEnded else { throw ContentCodingError.malformed }
                hasEnded = bytes.last == 0
                try output(Data((hasEnded ? bytes.dropLast() : bytes).map { ~$0 }))
            }

            func finish(_ output: (Data) throws -> Void) throws {
                guard hasEnded else { throw ContentCodingError.truncated }
            }
        }

        /// Produces a mebibyte for each chunk, and goes on although its output fails.
        private struct Exploding: ContentDecoder {
            func decode(_ bytes: Data, _ output: (Data) throws -> Void) throws {
                for _ in 0..<1_000 {
                    try? output(Data(count: 1 << 20))
                }
            }

            func finish(_ output: (Data) throws -> Void) throws {}
        }

        private struct Swallowing: ContentDecoder {
            func decode(_ bytes: Data, _ output: (Data) throws -> Void) throws {}
            func finish(_ output: (Data) throws -> Void) throws {}
        }

        private struct Broken: Error {}

        private struct Failing: ContentDecoder {
            func decode(_ bytes: Data, _ output: (Data) throws -> Void) throws {
                throw Broken()
            }

            func finish(_ output: (Data) throws -> Void) throws {}
        }

        private static let inverted = ContentCoding("X-Inverted", decoder: { Inverting() })

        private func response(_ body: Data, _ coding: String) -> TestResponse {
            TestResponse(headerFields: [.contentEncoding: coding], body: .data(body))
        }

        private func inverted(_ text: String) -> Data {
            Data(text.utf8.map { ~$0 }) + [0]
        }

        private func error(
            _ network: some NetworkingComponent,
            _ server: TestServer,
            _ response: TestResponse,
            _ decoders: [ContentCoding]
        ) async -> NetworkingError? {
            server.enqueue(response)
            return await #expect(throws: NetworkingError.self) {
                var request = HTTPRequestData()
                request.contentDecoders = decoders
                try await network.server(baseURL: server.url).data(request)
            }
        }

        // MARK: Decoders of the app

        @Test func decodesWithTheDecoderOfARequest() async throws {
            try await withTestServer { server in
                server.enqueue(response(inverted(Self.text), "x-inverted"))
                var request = HTTPRequestData()
                request.contentDecoders = [Self.inverted]
                let response = try await transport.server(baseURL: server.url).data(request)
                #expect(String(decoding: response.data, as: UTF8.self) == Self.text)
                #expect(response.headerFields[.contentEncoding] == nil)
                #expect(response.headerFields[.contentLength] == nil)
                let asked = server.requests.map { $0.headerFields[.acceptEncoding] }
                #expect(asked == ["x-inverted, gzip, deflate"])
            }
        }

        @Test func decodesAListWithOwnAndOtherCodings() async throws {
            let gzip = try #require(Data(base64Encoded: "H4sIAAAAAAAAA3PNzcyp1FFwBVIQMjNRITEvBcLM1wPTw1keAAsysAUAAQAA"))
            let inverted = Data(gzip.map { ~$0 }) + [0]
            try await withTestServer { server in
                server.enqueue(response(inverted, "gzip, x-inverted"))
                let network = transport.decompressedBodies(with: [Self.inverted]).server(baseURL: server.url)
                let response = try await network.data(HTTPRequestData())
                #expect(String(decoding: response.data, as: UTF8.self) == Self.text)
            }
        }

        @Test func keepsTheFieldsOfTheRequest() async throws {
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                let network = transport.decompressedBodies(with: [Self.inverted, ContentCoding("x-encoder")])
                    .server(baseURL: server.url)
                try await network.data(HTTPRequestData())
                try await network.data(HTTPRequestData(headerFields: [.acceptEncoding: "gzip"]))
                try await network.data(HTTPRequestData(headerFields: [.range: "bytes=0-9"]))
                let asked = server.requests.map { $0.headerFields[.acceptEncoding] }
                #expect(asked == ["x-inverted, gzip, deflate", "gzip", nil])
            }
        }

        @Test func errorsOfADecoderNameTheFault() async throws {
            try await withTestServer { server in
                let cut = await error(
                    transport,
                    server,
                    response(inverted(Self.text).dropLast(), "x-inverted"),
                    [Self.inverted]
                )
                #expect(cut?.kind == .truncated)
                let long = await error(
                    transport,
                    server,
                    response(inverted(Self.text) + Data(count: 5_000), "x-inverted"),
                    [Self.inverted]
                )
                #expect(long?.kind == .invalidResponse)
                #expect(long?.underlying as? ContentCodingError == .malformed)
                let failing = ContentCoding("x-failing", decoder: { Failing() })
                let failure = await error(transport, server, response(Data("a".utf8), "x-failing"), [failing])
                #expect(failure?.kind == .invalidResponse)
                #expect(failure?.underlying is Broken)
            }
        }

        @Test func limitEndsADecoderThatIgnoresIt() async throws {
            let exploding = ContentCoding("x-exploding", decoder: { Exploding() })
            try await withTestServer { server in
                let error = await error(transport, server, response(Data("a".utf8), "x-exploding"), [exploding])
                #expect(error?.kind == .tooLarge)
            }
        }

        @Test func emptyBodyNeedsNoDecoder() async throws {
            let failing = ContentCoding("x-failing", decoder: { Failing() })
            try await withTestServer { server in
                server.enqueue(response(Data(), "x-failing"))
                let network = transport.decompressedBodies(with: [failing]).server(baseURL: server.url)
                let response = try await network.data(HTTPRequestData())
                #expect(response.data.isEmpty)
            }
        }

        // MARK: Libraries of the system

        #if os(Linux)
        @Test(.requires(.compressionLibraries), arguments: [("br", brotli), ("zstd", zstandard)])
        func decodesWithALibraryOfTheSystem(coding: String, base64: String) async throws {
            let body = try #require(Data(base64Encoded: base64))
            try await withTestServer { server in
                let network = transport.decompressedBodies(with: .systemLibraries).server(baseURL: server.url)
                let drip = TestResponse.raw(
                    .text("HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\n\r\n"),
                    .drip(body)
                )
                for response in [response(body, coding), drip] {
                    server.enqueue(response)
                    let response = try await network.data(HTTPRequestData())
                    #expect(String(decoding: response.data, as: UTF8.self) == Self.text)
                }
                #expect(server.requests.last?.headerFields[.acceptEncoding] == "br, zstd, gzip, deflate")
                for cut in [1, 2, 5, body.count - 1] {
                    let error = await error(
                        transport,
                        server,
                        self.response(body.dropLast(cut), coding),
                        .systemLibraries
                    )
                    #expect(error?.kind == .truncated, "without \(cut) bytes")
                }
                var damaged = body
                damaged[5] ^= 0xFF
                for wrong in [damaged, body + Data("rest".utf8), Data("not coded".utf8)] {
                    let error = await error(transport, server, self.response(wrong, coding), .systemLibraries)
                    #expect([.invalidResponse, .truncated].contains(error?.kind))
                }
            }
        }

        /// 64 MiB of zeros: a frame of 512 blocks that repeat a byte.
        private static let zstandardBomb =
            Data([0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x68]) + (0..<511).flatMap { _ in [0x02, 0x00, 0x10, 0x00] }
            + [0x03, 0x00, 0x10, 0x00]

        private static func bomb(in coding: String) throws -> Data {
            coding == "br" ? try #require(Data(base64Encoded: brotliBomb)) : zstandardBomb
        }

        @Test(.requires(.compressionLibraries), arguments: ["br", "zstd"])
        func limitEndsABombOfALibrary(coding: String) async throws {
            let bomb = try Self.bomb(in: coding)
            try await withTestServer { server in
                let error = await error(transport, server, response(bomb, coding), .systemLibraries)
                #expect(error?.kind == .tooLarge)
            }
        }

        /// The bytes between two codings count, although the last coding may leave nothing of them.
        @Test(.requires(.compressionLibraries), arguments: ["br", "zstd"])
        func limitEndsABombBetweenTwoCodings(coding: String) async throws {
            let outer = try Self.bomb(in: coding)
            let inner = Data(outer.map { ~$0 }) + [0]
            let swallowing = ContentCoding("x-swallowed", decoder: { Swallowing() })
            let codings = [swallowing, Self.inverted] + [ContentCoding].systemLibraries
            try await withTestServer { server in
                for (body, list) in [(outer, "x-swallowed, \(coding)"), (inner, "\(coding), x-inverted")] {
                    let error = await error(transport, server, response(body, list), codings)
                    #expect(error?.kind == .tooLarge, "\(list)")
                }
            }
        }

        /// A frame whose window of 128 MiB would have to be allocated (RFC 9659).
        @Test(.requires(.compressionLibraries)) func refusesAFrameWithALargeWindow() async throws {
            let body = try #require(Data(base64Encoded: "KLUv/QSIGQAAaGkKND1Qkg=="))
            try await withTestServer { server in
                let error = await error(transport, server, response(body, "zstd"), .systemLibraries)
                #expect(error?.kind == .invalidResponse)
            }
        }
        #endif
    }
}
#endif
