#if TestServer
import Foundation
import HTTPTypes
import NetworkingTestServer

/// A file on a server that sends all of it or what follows a byte, as it is asked.
struct ServedFile: Sendable {
    let bytes: Data
    var eTag = "\"1\""

    /// Makes a file in which no two places look alike.
    init(byteCount: Int, eTag: String = "\"1\"", salt: UInt64 = 0) {
        let pattern = Data(
            (0..<(1 << 13))
                .flatMap { (place: UInt64) in
                    withUnsafeBytes(of: (place &+ 1) &* 0x9e37_79b9_7f4a_7c15 ^ salt, Array.init)
                }
        )
        var bytes = Data(capacity: byteCount + pattern.count + 8)
        var number: UInt64 = 0
        while bytes.count < byteCount {
            withUnsafeBytes(of: number) { bytes.append(contentsOf: $0) }
            bytes.append(pattern)
            number += 1
        }
        self.bytes = bytes.prefix(byteCount)
        self.eTag = eTag
    }

    var count: Int {
        bytes.count
    }

    /// The fields of an answer with the whole.
    var headerFields: HTTPFields {
        [.eTag: eTag, .acceptRanges: "bytes", .contentType: "application/octet-stream"]
    }

    /// Answers a request as servers should (RFC 9110 section 14).
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - stop: The first byte that waits for the gate; nil when nothing waits.
    ///   - gate: The gate.
    /// - Returns: The answer.
    func answer(to request: RecordedRequest, stoppingAt stop: Int? = nil, for gate: Gate = Gate()) -> TestResponse {
        let isSame = request.headerFields[.ifRange].map { $0 == eTag && !$0.hasPrefix("W/") } ?? true
        guard isSame, let start = request.firstByte else {
            return TestResponse(headerFields: headerFields, body: .sized(pieces(from: 0, stop, gate)))
        }
        var fields = headerFields
        guard start < count else {
            fields[.contentRange] = "bytes */\(count)"
            return TestResponse(status: .rangeNotSatisfiable, headerFields: fields)
        }
        fields[.contentRange] = "bytes \(start)-\(count - 1)/\(count)"
        return TestResponse(
            status: .partialContent,
            headerFields: fields,
            body: .sized(pieces(from: start, stop, gate))
        )
    }

    /// Answers with the whole, and loses the connection behind so many bytes once the gate is open.
    ///
    /// A reset takes with it what the client has not read yet; so a test opens the gate when it has.
    func lost(after count: Int, for gate: Gate, adding fields: HTTPFields = [:]) -> TestResponse {
        var head = "HTTP/1.1 200 OK\r\nContent-Length: \(self.count)\r\n"
        for field in headerFields + fields {
            head += "\(field.name.rawName): \(field.value)\r\n"
        }
        return .raw(.text(head + "\r\n"), .bytes(bytes.prefix(count)), .gate(gate), .reset)
    }

    private func pieces(from start: Int, _ stop: Int?, _ gate: Gate) -> [TestResponse.Chunk] {
        let stop = max(start, stop ?? count)
        let before = stride(from: start, to: stop, by: 256 << 10)
            .map { TestResponse.Chunk(bytes[$0..<min($0 + 256 << 10, stop)]) }
        return stop < count ? before + [TestResponse.Chunk(bytes[stop...], gate: gate)] : before
    }
}

extension RecordedRequest {
    /// Where the part begins that it asks for; nil when it asks for the whole.
    var firstByte: Int? {
        guard let range = headerFields[.range], range.hasPrefix("bytes="), range.hasSuffix("-") else { return nil }
        return Int(range.dropFirst(6).dropLast())
    }
}
#endif
