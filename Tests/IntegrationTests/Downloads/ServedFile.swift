#if TestServer
import Foundation
import HTTPTypes
import NetworkingTestServer

/// A file on a server that supports range requests.
struct ServedFile: Sendable {
    let bytes: Data
    var eTag = "\"1\""

    /// Creates a file of bytes that do not repeat.
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

    /// The header fields of a response with the whole file.
    var headerFields: HTTPFields {
        [.eTag: eTag, .acceptRanges: "bytes", .contentType: "application/octet-stream"]
    }

    /// Returns the response to a request, with range support (RFC 9110 section 14).
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - stop: The first byte that waits for the gate, or `nil` if the response does not wait.
    ///   - gate: The gate.
    /// - Returns: The response.
    func response(to request: RecordedRequest, stoppingAt stop: Int? = nil, for gate: Gate = Gate()) -> TestResponse {
        let isSame = request.headerFields[.ifRange].map { $0 == eTag && !$0.hasPrefix("W/") } ?? true
        guard isSame, let start = request.firstByte else {
            return TestResponse(headerFields: headerFields, body: .sized(chunks(from: 0, stop, gate)))
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
            body: .sized(chunks(from: start, stop, gate))
        )
    }

    /// Returns a response with the whole file that resets its connection after `count` bytes, once the gate is open.
    ///
    /// A reset discards the bytes that the client has not read yet, so a test opens the gate after the client has read
    /// them.
    func lost(after count: Int, for gate: Gate, adding fields: HTTPFields = [:]) -> TestResponse {
        var head = "HTTP/1.1 200 OK\r\nContent-Length: \(self.count)\r\n"
        for field in headerFields + fields {
            head += "\(field.name.rawName): \(field.value)\r\n"
        }
        return .raw(.text(head + "\r\n"), .bytes(bytes.prefix(count)), .gate(gate), .reset)
    }

    private func chunks(from start: Int, _ stop: Int?, _ gate: Gate) -> [TestResponse.Chunk] {
        let stop = max(start, stop ?? count)
        let before = stride(from: start, to: stop, by: 256 << 10)
            .map { TestResponse.Chunk(bytes[$0..<min($0 + 256 << 10, stop)]) }
        return stop < count ? before + [TestResponse.Chunk(bytes[stop...], gate: gate)] : before
    }
}

extension RecordedRequest {
    /// The first byte of the requested range, or `nil` if the request asks for the whole file.
    var firstByte: Int? {
        guard let range = headerFields[.range], range.hasPrefix("bytes="), range.hasSuffix("-") else { return nil }
        return Int(range.dropFirst(6).dropLast())
    }
}
#endif
