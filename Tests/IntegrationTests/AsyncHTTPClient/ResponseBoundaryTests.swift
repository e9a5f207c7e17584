#if AsyncHTTPClient
import Networking
@testable import NetworkingAsyncHTTPClient
import NIOCore
import NIOEmbedded
import NIOHTTP1
import TestSupport
import Testing

/// The guards of a connection around NIO's decoder, tested without a socket.
@Suite(.tags(.memory), .timeLimit(.minutes(20)))
struct ResponseBoundaryTests {
    /// A response on the wire to a request with a method.
    struct WireResponse: Sendable, CustomTestStringConvertible {
        let name: String
        var method = HTTPMethod.GET
        let wire: String
        let body: String

        var testDescription: String { name }
    }

    /// Surplus bytes that a client must not take for its next response.
    static let surpluses = [
        "HTTP/1.1 200 OK\r\nX-Evil: 1\r\nX-Swallowed: ", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n", "ay, and more than that", "\r\n", "0\r\n\r\n", "\n", "H", " ",
    ]

    static let wireResponses = [
        WireResponse(name: "length", wire: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", body: "hello"),
        WireResponse(
            name: "body with line ends",
            wire: "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\na\r\n\r\nb",
            body: "a\r\n\r\nb"
        ),
        WireResponse(name: "no bytes", wire: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", body: ""),
        WireResponse(
            name: "chunks",
            wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n",
            body: "hello"
        ),
        WireResponse(
            name: "chunks with line feeds",
            wire: "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n\n\n\n\r\n0\r\n\r\n",
            body: "\n\n\n"
        ),
        WireResponse(
            name: "trailers",
            wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-A: b\r\nX-B: c\r\n\r\n",
            body: "ok"
        ),
        WireResponse(name: "204", wire: "HTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n", body: ""),
        WireResponse(name: "204 with a length", wire: "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", body: ""),
        WireResponse(name: "304", wire: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", body: ""),
        WireResponse(name: "HEAD", method: .HEAD, wire: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", body: ""),
        WireResponse(
            name: "HEAD in chunks",
            method: .HEAD,
            wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            body: ""
        ),
        WireResponse(
            name: "interim heads",
            wire: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            body: "ok"
        ),
        WireResponse(
            name: "folded fields",
            wire: "HTTP/1.1 103 Early Hints\r\nLink: <a>;\r\n rel=b\r\n\r\nHTTP/1.1 200 OK\r\nX-A: b\r\n\tc\r\n"
                + "Content-Length:\r\n 2\r\n\r\nok",
            body: "ok"
        ),
        WireResponse(
            name: "removed cookie",
            wire: "HTTP/1.1 200 OK\r\nSet-Cookie: \u{1}\r\nContent-Length: 2\r\n\r\nok",
            body: "ok"
        ),
        WireResponse(name: "a line end first", wire: "\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", body: "ok"),
    ]

    /// A connection with the handlers of AsyncHTTPClient and the library, except AsyncHTTPClient's last one.
    private struct Connection {
        let channel = EmbeddedChannel()
        private(set) var errors: [any Error] = []

        init() throws {
            let operations = channel.pipeline.syncOperations
            let decoder = HTTPResponseDecoder(
                leftOverBytesStrategy: .dropBytes,
                informationalResponseStrategy: .forward
            )
            let connection = ConnectionGuard()
            try operations.addHandlers([
                HTTPRequestEncoder(), SurplusGuard(connection), HeadRepair(connection), ByteToMessageHandler(decoder),
                connection,
            ])
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
        }

        mutating func send(_ method: HTTPMethod) {
            channel.write(
                HTTPClientRequestPart.head(HTTPRequestHead(version: .http1_1, method: method, uri: "/")),
                promise: nil
            )
            channel.write(HTTPClientRequestPart.end(nil), promise: nil)
            channel.flush()
            note { [channel] in try channel.throwIfErrorCaught() }
        }

        mutating func receive(_ bytes: some Sequence<UInt8>) {
            guard channel.isActive else { return }
            note { [channel] in try channel.writeInbound(ByteBuffer(bytes: bytes)) }
        }

        private mutating func note(_ action: () throws -> Void) {
            do {
                try action()
            } catch {
                errors.append(error)
            }
        }

        /// Returns the responses since the last call: the fields of the final head, the body, and whether the response
        /// has ended.
        mutating func takeResponses() throws -> [(fields: HTTPHeaders, body: String, isComplete: Bool)] {
            var responses: [(fields: HTTPHeaders, body: String, isComplete: Bool)] = []
            while let part = try channel.readInbound(as: HTTPClientResponsePart.self) {
                switch part {
                case .head(let head) where head.status.code < 200: break
                case .head(let head): responses.append((head.headers, "", false))
                case .body(let bytes): responses[responses.count - 1].body += String(buffer: bytes)
                case .end: responses[responses.count - 1].isComplete = true
                }
            }
            return responses
        }

        var bytesSent: Int {
            get throws {
                var count = 0
                while let bytes = try channel.readOutbound(as: ByteBuffer.self) { count += bytes.readableBytes }
                return count
            }
        }
    }

    private static func chunks(of bytes: [UInt8], at split: Int) -> [ArraySlice<UInt8>] {
        split == 0 ? bytes.indices.map { bytes[$0...$0] } : [bytes[..<split], bytes[split...]].filter { !$0.isEmpty }
    }

    /// Splits the response at every byte, and into single bytes.
    @Test(arguments: wireResponses)
    func connectionServesTheNextRequestAfterAnExactResponse(wireResponse: WireResponse) throws {
        let bytes = Array(wireResponse.wire.utf8)
        for split in 0...bytes.count {
            var connection = try Connection()
            for _ in 1...2 {
                connection.send(wireResponse.method)
                for chunk in Self.chunks(of: bytes, at: split) { connection.receive(chunk) }
                let responses = try connection.takeResponses()
                #expect(
                    responses.map(\.body) == [wireResponse.body] && responses.allSatisfy(\.isComplete),
                    "split at \(split)"
                )
                #expect(connection.channel.isActive && connection.errors.isEmpty, "split at \(split)")
            }
        }
    }

    @Test(arguments: wireResponses, surpluses)
    func bytesAfterAResponseCloseTheConnection(wireResponse: WireResponse, surplus: String) throws {
        let bytes = Array(wireResponse.wire.utf8) + Array(surplus.utf8)
        for split in 0...bytes.count {
            var connection = try Connection()
            connection.send(wireResponse.method)
            _ = try connection.bytesSent
            for chunk in Self.chunks(of: bytes, at: split) { connection.receive(chunk) }
            let responses = try connection.takeResponses()
            #expect(
                responses.map(\.body) == [wireResponse.body] && responses.allSatisfy(\.isComplete),
                "split at \(split)"
            )
            #expect(responses.allSatisfy { !$0.fields.contains(name: "X-Evil") })
            #expect(!connection.channel.isActive, "split at \(split)")
            // The pool writes no later request to this connection.
            connection.send(.GET)
            #expect(try connection.bytesSent == 0)
        }
    }

    @Test(arguments: surpluses)
    func bytesBeforeTheFirstRequestCloseTheConnection(surplus: String) throws {
        var connection = try Connection()
        connection.receive(surplus.utf8)
        #expect(!connection.channel.isActive)
        #expect(try connection.takeResponses().isEmpty)
    }

    /// A channel that closes slowly, as with TLS, still looks open to the pool.
    @Test func doesNotWriteARequestToAClosingConnection() throws {
        final class SlowClose: ChannelOutboundHandler {
            typealias OutboundIn = ByteBuffer
            func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {}
        }
        var connection = try Connection()
        try connection.channel.pipeline.syncOperations.addHandler(SlowClose(), position: .first)
        connection.send(.GET)
        connection.receive("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8)
        connection.receive("HTTP/1.1 200 OK\r\nX-Swallowed: ".utf8)
        _ = try connection.bytesSent
        #expect(connection.channel.isActive)
        connection.send(.POST)
        #expect(try connection.bytesSent == 0)
        #expect(connection.errors.count == 1 && connection.errors.first is UnusableConnection)
        connection.receive("HTTP/1.1 200 OK\r\nX-Evil: 1\r\n\r\n".utf8)
        #expect(try connection.takeResponses().map(\.body) == ["ok"])
    }

    @Test(arguments: [
        "RTSP/1.0 200 OK\r\n\r\n", "ICE/1.0 200 OK\r\n\r\n", "HTTQ/1.1", "220 ready", "hTTP/1.1 200 OK", "\0",
    ])
    func rejectsResponsesOfOtherProtocols(start: String) throws {
        for split in 0...start.utf8.count {
            var connection = try Connection()
            connection.send(.GET)
            for chunk in Self.chunks(of: Array(start.utf8), at: split) { connection.receive(chunk) }
            #expect(connection.errors.count == 1 && connection.errors.first as? HTTPParserError == .invalidConstant)
            #expect(!connection.channel.isActive)
            #expect(try connection.takeResponses().isEmpty)
        }
    }

    /// The bytes may belong to the previous response, so the request may be repeated.
    @Test func invalidBytesOnAKeptConnectionCountAsItsEnd() throws {
        var connection = try Connection()
        connection.send(.GET)
        connection.receive("HTTP/1.1 204 No Content\r\n\r\n".utf8)
        connection.send(.GET)
        connection.receive("late body".utf8)
        let error = connection.errors.first as? KeptConnectionClosed
        #expect(error?.underlying as? HTTPParserError == .invalidConstant)
        #expect(!connection.channel.isActive)
    }

    @Test func bodyWithoutALengthEndsWithTheConnection() throws {
        var connection = try Connection()
        connection.send(.GET)
        for chunk in ["HTTP/1.1 200 OK\r\n\r\nto\n", "the\n", "end"] { connection.receive(chunk.utf8) }
        connection.channel.pipeline.fireChannelInactive()
        let responses = try connection.takeResponses()
        #expect(responses.map(\.body) == ["to\nthe\nend"] && responses.allSatisfy(\.isComplete))
    }

    /// Random sequences of responses, some with surplus bytes, in random chunks.
    @Test(arguments: 0..<20)
    func noBytesReachALaterResponse(seed: UInt64) throws {
        var random = RandomSource.seeded(seed)
        for _ in 0..<200 {
            var connection = try Connection()
            var isClosed = false
            for _ in 0..<Int.random(in: 1...4, using: &random) where !isClosed {
                let wireResponse = Self.wireResponses.randomElement(using: &random) ?? Self.wireResponses[0]
                let hasSurplus = Int.random(in: 0..<3, using: &random) == 0
                var bytes = Array(wireResponse.wire.utf8)
                if hasSurplus {
                    bytes += (Self.surpluses.randomElement(using: &random) ?? "").utf8
                    bytes += (0..<Int.random(in: 0..<4, using: &random))
                        .map { _ in .random(in: 0...255, using: &random) }
                }
                connection.send(wireResponse.method)
                while !bytes.isEmpty {
                    let count = Int.random(in: 1...bytes.count, using: &random)
                    connection.receive(bytes.prefix(count))
                    bytes.removeFirst(count)
                }
                let responses = try connection.takeResponses()
                #expect(responses.map(\.body) == [wireResponse.body] && responses.allSatisfy(\.isComplete))
                #expect(responses.allSatisfy { !$0.fields.contains(name: "X-Evil") })
                #expect(connection.channel.isActive == !hasSurplus)
                isClosed = hasSurplus
            }
        }
    }
}
#endif
