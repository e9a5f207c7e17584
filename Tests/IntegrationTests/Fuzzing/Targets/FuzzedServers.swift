import Foundation
import HTTPTypes

@testable import NetworkingConnectivity
@testable import NetworkingTestServer
@testable import NetworkingTrust
@testable import NetworkingValkey

#if Valkey
import NIOCore
#endif

extension FuzzTarget {
    /// Bytes of servers, of clients and of the kernel.
    static let servers: [FuzzTarget] = {
        var targets = [certificates, netlink]
        #if Crypto
        targets.append(digests)
        #endif
        #if Valkey
        targets.append(replies)
        #endif
        #if TestServer
        targets.append(requests)
        #endif
        return targets
    }()

    private static let certificates = FuzzTarget(
        "certificates",
        of: "NetworkingTrust/DERReader.swift",
        "NetworkingTrust/Certificate.swift"
    ) { bytes in
        if let info = DERReader.publicKeyInfo(of: bytes) {
            try require(info.startIndex > 0 && info.endIndex <= bytes.count, "the key is outside of the certificate")
        }
        if let certificates = try? Certificate.pem(bytes.text) {
            try require(!certificates.isEmpty, "there is no certificate")
        }
    }

    private static let netlink = FuzzTarget("netlink", of: "NetworkingConnectivity/System/NetlinkMessage.swift") {
        bytes in
        // Bytes around the message, which must not be read.
        let surrounded = [0xAA] + bytes + [0xAA, 0xAA, 0xAA, 0xAA]
        let packets = NetlinkPacket.parse(bytes[...])
        try requireEqual(NetlinkPacket.parse(surrounded[1..<(1 + bytes.count)]), packets, "other bytes are read")
        try require(packets.count <= bytes.count / 16, "there are more messages than bytes")
    }

    #if Valkey
    private static let replies = FuzzTarget("resp", of: "NetworkingValkey/Connection/RESPDecoder.swift") { bytes in
        let whole = DecodedReplies(of: [bytes])
        try requireEqual(whole, DecodedReplies(of: bytes.chunks), "chunks change the replies")
        let text = whole.messages.flatMap { DecodedReplies.text(of: $0) }
        try requireEqual(
            DecodedReplies(of: [text]).messages.map { "\($0)" },
            whole.messages.map { "\($0)" },
            "the replies change"
        )
        let limited = DecodedReplies(of: [bytes], limit: 128)
        try requireEqual(limited, DecodedReplies(of: bytes.chunks, limit: 128), "chunks change the limit")
        try require(limited.messages.count <= whole.messages.count, "the limit adds replies")
    }
    #endif

    #if TestServer
    private static let requests = FuzzTarget("request-parser", of: "NetworkingTestServer/Internal/RequestParser.swift")
    { bytes in
        let whole = ParsedRequests(of: [bytes])
        try requireEqual(whole, ParsedRequests(of: bytes.chunks), "chunks change the requests")
        for request in whole.requests {
            try require(request.bodyByteCount <= bytes.count && request.body.count <= bytes.count, "the body is longer")
            try requireEqual(request.body.count, request.bodyByteCount, "bytes of the body are lost")
        }
        let limited = ParsedRequests(of: [bytes], bodyLimit: 4)
        try require(limited.requests.allSatisfy { $0.body.count <= 4 }, "the body exceeds the limit")
        try requireEqual(
            limited.requests.map(\.bodyByteCount),
            whole.requests.map(\.bodyByteCount),
            "the limit changes the count"
        )
    }
    #endif
}

#if Valkey
/// The replies in bytes that arrive in chunks.
private struct DecodedReplies: Equatable {
    var messages: [RESPDecoder.Message] = []
    var isMalformed = false

    init(of chunks: [[UInt8]], limit: Int = 1 << 20) {
        var decoder = RESPDecoder(maximumReplySize: limit)
        do {
            for chunk in chunks {
                decoder.append(ByteBuffer(bytes: chunk))
                while let message = try decoder.next() {
                    messages.append(message)
                }
            }
        } catch {
            isMalformed = true
        }
    }

    static func == (lhs: Self, rhs: Self) -> Bool {
        // A number may be NaN.
        lhs.isMalformed == rhs.isMalformed
            && lhs.messages.elementsEqual(rhs.messages) { $0 == $1 || "\($0)" == "\($1)" }
    }

    static func text(of message: RESPDecoder.Message) -> [UInt8] {
        switch message {
        case .reply(let value): text(of: value)
        case .push(let values): Array(">\(values.count)\r\n".utf8) + values.flatMap { text(of: $0) }
        }
    }

    private static func text(of value: ValkeyValue) -> [UInt8] {
        switch value {
        case .null: Array("_\r\n".utf8)
        case .integer(let number): Array(":\(number)\r\n".utf8)
        case .boolean(let value): Array("#\(value ? "t" : "f")\r\n".utf8)
        case .double(let number): Array(",\(number)\r\n".utf8)
        case .bytes(let bytes): Array("$\(bytes.count)\r\n".utf8) + bytes + [13, 10]
        case .error(let text): Array("!\(text.utf8.count)\r\n\(text)\r\n".utf8)
        case .array(let values): Array("*\(values.count)\r\n".utf8) + values.flatMap { Self.text(of: $0) }
        }
    }
}
#endif

#if TestServer
/// The requests in bytes that arrive in chunks.
private struct ParsedRequests: Equatable {
    var requests: [RecordedRequest] = []
    var incomplete: RecordedRequest?
    var isMalformed = false

    init(of chunks: [[UInt8]], bodyLimit: Int = .max) {
        var parser = RequestParser(connection: 1, bodyLimit: bodyLimit)
        do {
            for chunk in chunks {
                parser.append(chunk)
                while let arrival = try parser.next() {
                    if case .complete(let request) = arrival { requests.append(request) }
                }
            }
            incomplete = parser.incompleteRequest
        } catch {
            isMalformed = true
        }
    }
}
#endif
