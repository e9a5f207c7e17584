#if URLSession && AsyncHTTPClient && SQLite && Telemetry
import Foundation
import HTTPTypes
import Networking

/// How fast streams and multipart bodies are read when no network limits them.
enum Streams {
    private static let chunks = 100
    private static let recordsPerChunk = 64

    static func measure() async throws -> [Row] {
        let event = "event: reading\ndata: \(String(repeating: "x", count: 980))\nid: 4711\n\n"
        let events = Data(String(repeating: event, count: recordsPerChunk).utf8)
        let line = #"{"id":4711,"text":"\#(String(repeating: "x", count: 1_000))"}"# + "\n"
        let lines = Data(String(repeating: line, count: recordsPerChunk).utf8)
        let text = ChunkTransport(chunk: lines, count: chunks, contentType: "text/plain")
        let documents = ChunkTransport(chunk: lines, count: chunks, contentType: "application/x-ndjson")
        let request = HTTPRequestData(url: URL(string: "https://api.example.com/readings")!)
        return [
            Row(
                name: "server-sent events of 1 KiB, parsed",
                value: try await rate(of: events.count * chunks) {
                    var parser = ServerSentEventParser()
                    var count = 0
                    for _ in 0..<chunks {
                        count += try parser.parse(events).count
                    }
                    return count
                },
                unit: "MB/s",
                gate: 200
            ),
            Row(
                name: "lines of 1 KiB through a stack",
                value: try await rate(of: lines.count * chunks) {
                    var count = 0
                    for try await _ in try await text.lines(request) {
                        count += 1
                    }
                    return count
                },
                unit: "MB/s"
            ),
            Row(
                name: "JSON lines of 1 KiB through a stack, decoded",
                value: try await rate(of: lines.count * chunks) {
                    var count = 0
                    for try await reading in try await documents.values(request, as: Reading.self) {
                        count += reading.id == 4_711 ? 1 : 0
                    }
                    return count
                },
                unit: "MB/s"
            ),
            Row(
                name: "the same lines, decoded by JSONDecoder alone",
                value: try await rate(of: lines.count * chunks) {
                    let line = Data(line.utf8)
                    let decoder = JSONDecoder()
                    var count = 0
                    for _ in 0..<(chunks * recordsPerChunk) {
                        count += try decoder.decode(Reading.self, from: line).id == 4_711 ? 1 : 0
                    }
                    return count
                },
                unit: "MB/s"
            ),
            Row(name: "a multipart body of 64 files of 100 KiB, read", value: try await multipart(), unit: "MB/s"),
        ]
    }

    private struct Reading: Decodable, Sendable {
        let id: Int
        let text: String
    }

    private static func multipart() async throws -> Double {
        let size = 100 << 10
        let file = URL.temporaryDirectory.appending(path: "multipart-\(UUID()).bin")
        try Data(repeating: 120, count: size).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let parts = (0..<recordsPerChunk).map { MultipartPart.file(file, name: "part\($0)") }
        return try await rate(of: size * parts.count) {
            var reader = try RequestBody.multipart(parts).openNow()!
            var bytes = 0
            while let chunk = try reader.nextNow() {
                bytes += chunk.count
            }
            precondition(bytes > size * parts.count, "all parts are read")
            return chunks * recordsPerChunk
        }
    }

    /// Measures the best rate of 20 runs, in megabytes a second.
    ///
    /// The operation reads a number of bytes, and returns the number of records in them.
    private static func rate(of bytes: Int, _ read: () async throws -> Int) async throws -> Double {
        let time = try await Measurement.measure(runs: 1, samples: 20) {
            let count = try await read()
            precondition(count == chunks * recordsPerChunk, "all records are read")
        }
        return Double(bytes) / time.minimum * 1_000
    }
}

/// A transport whose response has a number of equal chunks.
private struct ChunkTransport: NetworkingTransport {
    let chunk: Data
    let count: Int
    let contentType: String

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        let head = HTTPResponse(status: .ok, headerFields: [.contentType: contentType])
        return try await request.deliver(head) { delivery in
            for _ in 0..<count {
                try await delivery.receive(chunk)
            }
        }
    }
}
#endif
