import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.memory), .timeLimit(.minutes(20)))
struct ResponseLinesTests {
    private func lines(_ chunks: [Data], maximumLineBytes: Int = 1 << 20) async throws -> [String] {
        var lines: [String] = []
        for try await line in try await MockTransport([.chunks(chunks.map { .data($0) })])
            .lines(.lawful, maximumLineBytes: maximumLineBytes)
        {
            lines.append(line)
        }
        return lines
    }

    @Test(
        arguments: [
            ("", []), ("one", ["one"]), ("one\n", ["one"]), ("one\ntwo", ["one", "two"]), ("\n\n", ["", ""]),
            ("a\r\nb\rc\nd\r", ["a", "b", "c", "d"]), ("a\n\rb", ["a", "", "b"]),
            ("ü\u{2028}x\u{85}y\nz", ["ü\u{2028}x\u{85}y", "z"]),
            (
                "a line that is longer than a word, and another\r\none",
                ["a line that is longer than a word, and another", "one"]
            ),
        ] as [(String, [String])]
    )
    func splitsAtAnyLineEnd(text: String, expected: [String]) async throws {
        let bytes = Data(text.utf8)
        #expect(try await lines([bytes]) == expected)
        #expect(try await lines(bytes.map { Data([$0]) }) == expected)
        for place in 1..<max(2, bytes.count) where place < bytes.count {
            #expect(try await lines([bytes.prefix(place), Data(bytes.dropFirst(place))]) == expected)
        }
    }

    @Test func invalidUTF8IsReplaced() async throws {
        #expect(try await lines([Data([0x61, 0xFF, 0x0A, 0xC3])]) == ["a\u{FFFD}", "\u{FFFD}"])
    }

    @Test(arguments: [1, 1_000])
    func lineBeyondTheLimitIsAnError(chunk: Int) async throws {
        let chunks = (0..<200).map { _ in Data(repeating: 0x61, count: chunk) }
        let error = await #expect(throws: NetworkingError.self) { try await lines(chunks, maximumLineBytes: 100) }
        #expect(error?.kind == .tooLarge)
    }

    @Test func linesBeforeOneBeyondTheLimitAreReturned() async throws {
        for end in ["", "\n", "\ngood3\n"] {
            let text = "good1\ngood2\n\(String(repeating: "x", count: 200))\(end)"
            let transport = MockTransport([.chunks([.text(text)])])
            var lines = try await transport.lines(.lawful, maximumLineBytes: 100).makeAsyncIterator()
            #expect(try await lines.next() == "good1")
            #expect(try await lines.next() == "good2")
            await #expect(throws: NetworkingError.self) { try await lines.next() }
            #expect(try await lines.next() == nil)
        }
    }

    @Test func hasItsResponse() async throws {
        let lines = try await MockTransport([.chunks([.text("x")], headerFields: [.contentType: "text/plain"])])
            .lines(.lawful)
        #expect(lines.response.headerFields[.contentType] == "text/plain")
    }
}
