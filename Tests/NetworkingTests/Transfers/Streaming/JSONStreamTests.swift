import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.memory), .timeLimit(.minutes(20)))
struct JSONStreamTests {
    /// Any JSON, for comparisons.
    private enum JSON: Decodable, Sendable, Equatable {
        case number(Double)
        case text(String)
        case flag(Bool)
        case nothing
        case list([JSON])
        case object([String: JSON])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .nothing
            } else if let flag = try? container.decode(Bool.self) {
                self = .flag(flag)
            } else if let number = try? container.decode(Double.self) {
                self = .number(number)
            } else if let text = try? container.decode(String.self) {
                self = .text(text)
            } else if let list = try? container.decode([JSON].self) {
                self = .list(list)
            } else {
                self = .object(try container.decode([String: JSON].self))
            }
        }
    }

    private func values(
        _ chunks: [Data],
        _ format: JSONStreamFormat? = nil,
        type: String? = nil,
        onDecodingFailure failures: DecodingFailures = .fail,
        limit: Int = 1 << 20
    ) async throws -> [JSON] {
        let fields: HTTPFields = type.map { [.contentType: $0] } ?? [:]
        let stream = try await MockTransport([.chunks(chunks.map { .data($0) }, headerFields: fields)])
            .values(
                .lawful,
                as: JSON.self,
                format: format,
                onDecodingFailure: failures,
                maximumDocumentBytes: limit
            )
        var values: [JSON] = []
        for try await value in stream {
            values.append(value)
        }
        return values
    }

    /// After a change of the model, the stream would otherwise be empty.
    @Test func documentThatDoesNotDecodeIsAnErrorByDefault() async throws {
        let transport = MockTransport([.chunks([.text("1\n\"two\"\n3\n")])])
        var numbers: [Int] = []
        let error = await #expect(throws: NetworkingError.self) {
            for try await number in try await transport.values(.lawful, as: Int.self) { numbers.append(number) }
        }
        #expect(numbers == [1])
        #expect(error?.kind == .decoding)
    }

    /// RFC 7464, section 2.4: the scalar may be the start of a longer one.
    @Test(arguments: ["\u{1E}12\u{1E}{}\n", "\u{1E}{}\n\u{1E}12", "\u{1E}{}\n\u{1E}tru"])
    func scalarWithoutAnEndIsAnError(text: String) async throws {
        let data = Data(text.utf8)
        #expect(try await values([data], .sequence, onDecodingFailure: .skip) == [.object([:])])
        let error = await #expect(throws: NetworkingError.self) { try await values([data], .sequence) }
        #expect(error?.kind == .decoding)
    }

    @Test(arguments: ["text/html; charset=utf-8", "application/xhtml+xml", "text/xml"])
    func pageIsAnError(type: String) async throws {
        let page = Data("1 2 <html></html>".utf8)
        let error = await #expect(throws: NetworkingError.self) { try await values([page], type: type) }
        #expect(error?.kind == .invalidResponse)
        // An explicit format takes precedence.
        #expect(try await values([page], .concatenated, type: type, onDecodingFailure: .skip).isEmpty == false)
    }

    @Test(
        arguments: [
            ("", .lines, []), ("1\n2\n", .lines, [.number(1), .number(2)]),
            ("{\"a\":\"\\n\"}\r\n\n[1]", .lines, [.object(["a": .text("\n")]), .list([.number(1)])]),
            ("\u{1E}1\n\u{1E}{\"a\":\n2}\n", .sequence, [.number(1), .object(["a": .number(2)])]),
            ("\u{1E}\u{1E}\u{1E}true\n", .sequence, [.flag(true)]),
            ("{}{}[][1]", .concatenated, [.object([:]), .object([:]), .list([]), .list([.number(1)])]),
            (
                "1 2\n\"a\"\"b\"null{\"x\":\"}{\\\"\"} 3", .concatenated,
                [.number(1), .number(2), .text("a"), .text("b"), .nothing, .object(["x": .text("}{\"")]), .number(3)]
            ),
            (" \n\t\r\n ", .concatenated, []), ("\u{FEFF}{}1", .concatenated, [.object([:]), .number(1)]),
            ("\u{FEFF}1\n2\n", .lines, [.number(1), .number(2)]),
            (
                "[\n  {\"a\": [1, [2]]},\n  \"]\"\n]\n\n{}", .concatenated,
                [.list([.object(["a": .list([.number(1), .list([.number(2)])])]), .text("]")]), .object([:])]
            ),
        ] as [(String, JSONStreamFormat, [JSON])]
    )
    private func separatesDocuments(text: String, format: JSONStreamFormat, expected: [JSON]) async throws {
        let bytes = Data(text.utf8)
        #expect(try await values(bytes.isEmpty ? [] : [bytes], format) == expected)
        #expect(try await values(bytes.map { Data([$0]) }, format) == expected)
        for place in 1..<max(2, bytes.count) where place < bytes.count {
            #expect(try await values([bytes.prefix(place), Data(bytes.dropFirst(place))], format) == expected)
        }
    }

    @Test(
        arguments: [
            ("application/x-ndjson", "1\n2"), ("Application/JSONL; charset=utf-8", "1\n2"),
            ("application/json-seq", "\u{1E}1\n\u{1E}2\n"),
            ("application/geo+json-seq", "\u{1E}1\n\u{1E}2\n"), ("application/json", "1 2"), (nil, "1\n2"),
        ] as [(String?, String)]
    )
    func mediaTypeSelectsTheFormat(type: String?, text: String) async throws {
        #expect(try await values([Data(text.utf8)], type: type) == [.number(1), .number(2)])
    }

    @Test func documentThatDoesNotDecodeCanBeSkipped() async throws {
        let text = Data("1\nnonsense\n2\n".utf8)
        #expect(try await values([text], .lines, onDecodingFailure: .skip) == [.number(1), .number(2)])
        let error = await #expect(throws: NetworkingError.self) { try await values([text], .lines) }
        #expect(error?.kind == .decoding)
        #expect(error?.underlying is DecodingError)
    }

    @Test(arguments: [JSONStreamFormat.lines, .sequence, .concatenated])
    func documentWithoutAnEndIsAnError(format: JSONStreamFormat) async throws {
        let chunks = (0..<100).map { _ in Data("[1,".utf8) }
        let error = await #expect(throws: NetworkingError.self) { try await values(chunks, format, limit: 100) }
        #expect(error?.kind == .tooLarge)
    }
}
