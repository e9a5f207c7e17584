#if AsyncHTTPClient && TestServer
import Foundation
import HTTPTypes
import Networking
import NetworkingAsyncHTTPClient
import NetworkingTestServer
import Testing

extension Loopback {
    /// Bodies in content and transfer codings over AsyncHTTPClient: decoded and checked, or refused.
    @Suite(.timeLimit(.minutes(20)))
    struct ContentCodingTests {
        private let transport = AsyncHTTPClientTransport()

        private static let text = String(repeating: "Emily, Emil, Emilia and Emilio. ", count: 8)
        private static let gzip = "H4sIAAAAAAACA3PNzcyp1FFwBVIQMjNRITEvBcLM1wPTw1keAAsysAUAAQAA"
        private static let raw = "c83NzKnUUXAFUhAyM1EhMS8FwszXA9PDWR4A"
        private static let gzipTwice =
            "H4sIAAAAAAAC/5Pv5mAAAab/xWfPnll5JbCANUjAyDhQ0VCf9dCZ68yXD0fKMXAbbWBlYGRgAABIvBa4LQAAAA=="

        /// The text, compressed by independent programs.
        private static let bodies: [(codings: [String], base64: String)] = [
            (["identity, gzip"], gzip), (["gzip, identity"], gzip), ([", x-gzip"], gzip), (["gzip", ""], gzip),
            (["gzip, gzip"], gzipTwice), (["gzip", "identity", "GZIP"], gzipTwice),
            (["deflate, gzip"], "H4sIAAAAAAAC/6u4VXz27JmVVwILWIMEjIwDFQ31WQ+duc58+XCkHEPttZBGADVs48shAAAA"),
            (["gzip, deflate"], "k+/mYAABpv/FZ8+eWXklsIA1SMDIOFDRUJ/10JnrzJcPR8oxcBttYGVgZGAAAA=="),
            (["deflate"], raw),
        ]

        private func response(_ body: Data, _ codings: [String], status: HTTPResponse.Status = .ok) -> TestResponse {
            var response = TestResponse(status: status, body: .data(body))
            for coding in codings {
                response.headerFields.append(HTTPField(name: .contentEncoding, value: coding))
            }
            return response
        }

        private func error(
            _ server: TestServer,
            _ response: TestResponse,
            _ headerFields: HeaderFields = [:]
        ) async -> NetworkingError? {
            server.enqueue(response)
            let network = transport.server(baseURL: server.url)
            return await #expect(throws: NetworkingError.self) {
                try await network.data(HTTPRequestData(headerFields: headerFields))
            }
        }

        @Test(arguments: bodies.indices)
        func decodesEachCodingOfAList(index: Int) async throws {
            let (codings, base64) = Self.bodies[index]
            let body = try #require(Data(base64Encoded: base64))
            try await withTestServer { server in
                let drip = TestResponse.raw(
                    .text("HTTP/1.1 200 OK\r\n" + codings.map { "Content-Encoding: \($0)\r\n" }.joined()),
                    .text("Content-Length: \(body.count)\r\n\r\n"),
                    .drip(body)
                )
                for response in [response(body, codings), drip] {
                    server.enqueue(response)
                    let response = try await transport.server(baseURL: server.url).data(HTTPRequestData())
                    #expect(String(decoding: response.data, as: UTF8.self) == Self.text)
                    #expect(response.headerFields[.contentEncoding] == nil)
                    #expect(response.headerFields[.contentLength] == nil)
                }
            }
        }

        @Test(arguments: [("gzip, gzip", gzipTwice), ("deflate", raw), ("identity, gzip", gzip), ("gzip, ", gzip)])
        func reportsACodedBodyThatEndsEarly(coding: String, base64: String) async throws {
            let body = try #require(Data(base64Encoded: base64))
            try await withTestServer { server in
                for cut in [1, 2, 5, 10, body.count - 1] {
                    let error = await error(server, response(body.dropLast(cut), [coding]))
                    #expect([.truncated, .invalidResponse].contains(error?.kind), "without \(cut) bytes")
                }
            }
        }

        /// The decoder of raw deflate gets its last bytes only at the end of the body.
        @Test(arguments: [0, 1, 14, 15, 16, 17, 65_535, 65_536, 200_000])
        func decodesRawDeflateOfAnyLength(count: Int) async throws {
            var body = Data()
            let plain = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
            // Blocks that are stored as they are (RFC 1951 section 3.2.4).
            var rest = plain[...]
            repeat {
                let block = rest.prefix(65_535)
                rest = rest.dropFirst(65_535)
                let length = UInt16(block.count)
                body.append(rest.isEmpty ? 1 : 0)
                for number in [length, ~length] {
                    body.append(UInt8(truncatingIfNeeded: number))
                    body.append(UInt8(truncatingIfNeeded: number >> 8))
                }
                body += block
            } while !rest.isEmpty
            try await withTestServer { server in
                server.enqueue(response(body, ["deflate"]))
                let received = try await transport.server(baseURL: server.url).data(HTTPRequestData())
                #expect(received.data == plain)
                let error = await error(server, response(body + Data(count: 8), ["deflate"]))
                #expect(error?.kind == .invalidResponse)
            }
        }

        @Test func decodesRawDeflateThatExpands() async throws {
            // 300 times a number in digits and 997 zeros.
            let body = try #require(Data(base64Encoded: Self.longRaw))
            let plain = (0..<300).reduce(into: Data()) { $0 += Data("\($1)".utf8) + Data(count: 997) }
            try await withTestServer { server in
                server.enqueue(response(body, ["deflate"]))
                let received = try await transport.server(baseURL: server.url).data(HTTPRequestData())
                #expect(received.data == plain)
            }
        }

        @Test(arguments: [
            "br", "zstd", "compress", "gzip, br", "br, gzip", "gzip, example", "example, gzip",
            "gzip, gzip, gzip, gzip, gzip, gzip",
        ])
        func refusesABodyInAnUnknownCodingOnce(coding: String) async throws {
            try await withTestServer { server in
                for status in [HTTPResponse.Status.ok, .notFound, .serviceUnavailable] {
                    server.enqueue(response(Data("not decoded".utf8), [coding], status: status), .ok)
                    let network = transport.retry().server(baseURL: server.url)
                    let before = server.requests.count
                    let error = await #expect(throws: NetworkingError.self) {
                        try await network.data(HTTPRequestData())
                    }
                    #expect(error?.kind == .invalidResponse)
                    #expect(error?.response?.status == status)
                    #expect(server.requests.count == before + 1)
                    try await network.data(HTTPRequestData())
                }
            }
        }

        @Test(arguments: [
            ("gzip, example", "example"), ("br", "gzip, br"), ("x-compress", "*"), ("gzip, br", "gzip, br;q=0.5"),
        ])
        func returnsABodyUnchangedInACodingThatTheRequestAccepts(coding: String, accepted: String) async throws {
            try await withTestServer { server in
                let body = Data("not decoded".utf8)
                server.enqueue(response(body, [coding]))
                let request = HTTPRequestData(headerFields: [.acceptEncoding: accepted])
                let response = try await transport.server(baseURL: server.url).data(request)
                #expect(response.data == body)
                #expect(response.headerFields[.contentEncoding] == coding)
                #expect(response.headerFields[.contentLength] == "\(body.count)")
                let refused = await error(server, self.response(body, [coding]), [.acceptEncoding: "gzip, br;q=0.000"])
                #expect(refused?.kind == .invalidResponse)
            }
        }

        /// Names that mean nothing to HTTP do not make a body unreadable (RFC 9110 section 8.4).
        @Test(arguments: ["identity", "", ",", "Identity,", "example", "utf-8", "aws-chunked, example"])
        func returnsABodyWithoutACodingUnchanged(coding: String) async throws {
            try await withTestServer { server in
                let body = Data("not coded".utf8)
                server.enqueue(response(body, [coding]))
                let response = try await transport.server(baseURL: server.url).data(HTTPRequestData())
                #expect(response.data == body)
                #expect(response.headerFields[.contentEncoding] == coding)
                #expect(response.headerFields[.contentLength] == "\(body.count)")
            }
        }

        /// Some servers compress a part after cutting it out, which can be decoded; a part of a coded body cannot.
        @Test func decodesACodedPartAndRefusesAPartOfACodedBody() async throws {
            let part = try #require(Data(base64Encoded: Self.gzip))
            try await withTestServer { server in
                server.enqueue(response(part, ["gzip"], status: .partialContent))
                let received = try await transport.server(baseURL: server.url)
                    .data(HTTPRequestData(headerFields: [.range: "bytes=0-255"]))
                #expect(String(decoding: received.data, as: UTF8.self) == Self.text)
                for slice in [part.prefix(10), part.dropFirst(10)] {
                    let error = await error(server, response(slice, ["gzip"], status: .partialContent))
                    #expect([.truncated, .invalidResponse].contains(error?.kind))
                }
            }
        }

        @Test(arguments: ["gzip, chunked", "x-unknown, chunked", "chunked, chunked", "identity, gzip, chunked"])
        func refusesATransferCoding(coding: String) async throws {
            try await withTestServer { server in
                let body = try #require(Data(base64Encoded: Self.gzip))
                let response = TestResponse.raw(
                    .text("HTTP/1.1 200 OK\r\nTransfer-Encoding: \(coding)\r\n\r\n"),
                    .text("\(String(body.count, radix: 16))\r\n"),
                    .bytes(body),
                    "\r\n0\r\n\r\n"
                )
                let error = await error(server, response)
                #expect(error?.kind == .invalidResponse)
            }
        }

        @Test(arguments: ["identity", "Chunked", "identity, chunked", ", chunked"])
        func readsABodyThatIsOnlyFramed(coding: String) async throws {
            try await withTestServer { server in
                let isChunked = coding.lowercased().contains("chunked")
                server.enqueue(
                    .raw(
                        .text("HTTP/1.1 200 OK\r\nTransfer-Encoding: \(coding)\r\n\r\n"),
                        isChunked ? "2\r\nok\r\n0\r\n\r\n" : "ok",
                        .close
                    )
                )
                let response = try await transport.server(baseURL: server.url).data(HTTPRequestData())
                #expect(String(decoding: response.data, as: UTF8.self) == "ok")
            }
        }

        /// Each coding is limited, because the bytes between two codings cost time and memory, too.
        @Test(arguments: [
            // 16 MiB of zeros.
            (
                "gzip, identity, gzip",
                "H4sIAAAAAAAC/+3aMQ7BYBjH4e8rQ2PAbtBjWAwiMZgsncUhbIYmRosrSJhdgVOIO4jBLKp1CEPzPNN/fsdf3uEuDbWkfFxj"
                    + "rEax/5yfaScAAAAADVfct606BoSsvM0WOQAAANB0q163/YsC7+Vg4hwAAADQeKfxKKtbQP9VrqeJRwkAAAD4g0s+P2yO1Yhf"
                    + "ZiNZTcg/AAA="
            ),
            // 12 MiB of stored blocks without a byte, and nothing after them.
            (
                "gzip, gzip, gzip",
                "H4sIAAAAAAAC/+3ZoWpCYQCA0d+tGDaZwyAGdaBdy2AgYjWLiME32OpgzzAQsYrgCwgmrQs3WE2GtcFAxsQkrF3RZ1i6nI/zFl/p"
                    + "PR3OXcW/0VM21NJhUewMyvlNozl+6MfT3bzaHlcAAAAAAIDkKLx+jS57YB1vh3fPn8sXAAAAAAAgUR73Uf02hJvrWfV4eOt1cxmL"
                    + "BAAAAAAA/snk+yf1t2qV7sNHOAEAWkLAvkcAAA=="
            ),
        ])
        func decompressionLimitAppliesToEachCoding(coding: String, bomb: String) async throws {
            try await withTestServer { server in
                let body = try #require(Data(base64Encoded: bomb))
                let error = await error(server, response(body, [coding]))
                #expect(error?.kind == .tooLarge)
            }
        }

        private static let longRaw =
            "7dpBDcQwAAPBg9SkbZLyJ3Y8VjMQLPm31w9oGyaAuGkCiLtNAHGPCSDuNQHELRNA3DYBxB0TQNxnAogblw2gfnP1G+RvLn+D/M31"
            + "b5C/uQAO8jdXwEH+5hI4yN9cAwf5m4vgIH9zFRzUTRUc5G+ugoP8zVVwkL+5Cg7yN1fBQf7mKjjI31wFB/mbq+Agf3MVHORvroKD"
            + "ulsFB/mbq+Agf3MVHORvroKD/M1VcJC/uQoO8jdXwUH+5io4yN9cBQf5m6vgoO5RwUH+5io4yN9cBQf5m6vgIH9zFRzkb66Cg/zN"
            + "VXCQv7kKDvI3V8FB/uYqOKh7VXCQv7kKDvI3V8FB/uYqOMjfXAUH+Zur4CB/cxUc5G+ugoP8zVVwkL+5Cg7qlgoO8jdXwUH+5io4"
            + "yN9cBQf5m6vgIH9zFRzkb66Cg/zNVXCQv7kKDvI3V8FB3VbBQf7mKjjI31wFB/mbq+Agf3MVHORvroKD/M1VcJC/uQoO8jdXwUH+"
            + "5io4qDsqOMjfXAUH+Zur4CB/cxUc5G+ugoP8zVVwkL+5Cg7yN1fBQf7mKjjI31wFB3WfCg7yN1fBQf7mKjjI31wFB/mbq+Agf3MV"
            + "HORvroKD/M1VcJC/uQoO8jdXwUHduGRw0P+5Dg76PxfCQf/nSjjo/1wKB/2fa+Gg/3MxHPR/roaD/s/lcND/uR4O8j8fejjo/1wP"
            + "B/2f6+Gg/3M9HPR/roeD/s/1cND/uR4O+j/Xw0H/53o46P9cDwf5n089HPR/roeD/s/1cND/uR4O+j/Xw0H/53o46P9cDwf9n+vh"
            + "oP9zPRz0f66Hg/zPbz0c9H+uh4P+z/Vw0P+5Hg76P9fDQf/nejjo/1wPB/2f6+Gg/3M9HPR/roeD/M8fPRz0f66Hg/7P9XDQ/7ke"
            + "Dvo/18NB/+d6OOj/XA8H/Z/r4aD/cz0c9H+uh4P8z189HPR/roeD/s/1cND/uR4O+j/Xw0H/53o46P9cDwf9n+vhoP9zPRz0f66H"
            + "g/zPlx4O+j/Xw0H/53o46P9cDwf9n+vhoP9zPRz0f66Hg/7P9XDQ/7keDvo/18NB/udbDwf9n+vhoP9zPRz0f66Hg/7P9XDQ/7ke"
            + "Dvo/18NB/+d6OOj/XA8H/Z/r4SD/86OHg/7P9XDQ/7keDvo/18NB/+d6OOj/XA8H/Z/r4aD/cz0c9H+uh4P+z/VwkP/5p4eD/s/1"
            + "cND/uR4O+j/Xw0H/53o46P9cDwf9n+vhoP9zPRz0f66Hg/7P9XBQNy89HPR/roeD/s/1cND/uR4O+j/Xw0H/53o46P9cDwf9n+vh"
            + "oP9zPRz0f66Hg/zPhx4O+j/Xw0H/53o46P9cDwf9n+vhoP9zPRz0f66Hg/7P9XDQ/7keDvo/18NB/udTDwf9n+vhoP9zPRz0f66H"
            + "g/7P9XDQ/7keDvo/18NB/+d6OOj/XA8H/Z/r4SD/81sPB/2f6+Gg/3M9HPR/roeD/s/1cND/uR4O+j/Xw0H/53o46P9cDwf9n+vh"
            + "IP/zRw8H/Z/r4aD/cz0c9H+uh4P+z/Vw0P+5Hg76P9fDQf/nejjo/1wPB/2f6+Eg//NXDwf9n+vhoP9zPRz0f66Hg/7P9XDQ/7ke"
            + "Dvo/18NB/+d6OOj/XA8H/Z/r4SD/86WHg/7P9XDQ/7keDvo/18NB/+d6OOj/XA8H/Z/r4aD/cz0c9H+uh4P+z/VwkP/51sNB/+d6"
            + "OOj/XA8H/Z/r4aD/cz0c9H+uh4P+z/Vw0P+5Hg76P9fDQf/nejjI//zo4aD/cz0c9H+uh4P+z/Vw0P+5Hg76P9fDQf/nejjo/1wP"
            + "B/2f6+Gg/3M9HOR//unhoP9zPRz0f66Hg/7P9XDQ/7keDvo/18NB/+d6OOj/XA8H/Z/r4aD/cz0c1P0B"
    }
}
#endif
