import Foundation
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.memory))
struct ServerSentEventParserTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let stream: Data
        let events: [ServerSentEvent]
        var retry: Duration?

        init(_ name: String, _ stream: String, _ events: ServerSentEvent..., retry: Duration? = nil) {
            self.init(name, Data(stream.utf8), events, retry: retry)
        }

        init(_ name: String, _ stream: Data, _ events: [ServerSentEvent], retry: Duration? = nil) {
            testDescription = name
            self.stream = stream
            self.events = events
            self.retry = retry
        }
    }

    private static func event(_ data: String, _ type: String = "message", id: String = "") -> ServerSentEvent {
        ServerSentEvent(type: type, data: data, id: id)
    }

    /// The examples of the WHATWG HTML standard and the cases of the web platform tests.
    static let cases: [Case] = [
        Case("nothing", ""),
        Case("a stock", "data: YHOO\ndata: +2\ndata: 10\n\n", event("YHOO\n+2\n10")),
        Case(
            "comments, ids and their reset",
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n",
            event("first event", id: "1"),
            event("second event")
        ),
        Case("events without data", "data\n\ndata\ndata\n\ndata:", event(""), event("\n")),
        Case(
            "one space is taken off",
            "data:test\n\ndata: test\n\ndata:  test\n\n",
            event("test"),
            event("test"),
            event(" test")
        ),
        Case("LF", "data:a\ndata:b\n\n", event("a\nb")),
        Case("CR", "data:a\rdata:b\r\r", event("a\nb")),
        Case("CR LF", "data:a\r\ndata:b\r\n\r\n", event("a\nb")),
        Case("all kinds of line ends", "data:a\rdata:b\ndata:c\r\n\r\n", event("a\nb\nc")),
        Case("a byte order mark", "\u{FEFF}data:1\n\n\u{FEFF}data:2\n\ndata:3\n\n", event("1"), event("3")),
        Case("two byte order marks", "\u{FEFF}\u{FEFF}data:1\n\ndata:2\n\n", event("2")),
        Case("types", "event:a\ndata:1\n\ndata:2\n\nevent\ndata:3\n\n", event("1", "a"), event("2"), event("3")),
        Case("a type of an event without data is forgotten", "event:a\n\ndata:1\n\n", event("1")),
        Case("the last type counts", "event:a\nevent:b\ndata:1\n\n", event("1", "b")),
        Case(
            "an id stays",
            "id:1\ndata:a\n\ndata:b\n\nid:2\n\ndata:c\n\n",
            event("a", id: "1"),
            event("b", id: "1"),
            event("c", id: "2")
        ),
        Case("an id with NUL is none", "id:1\ndata:a\n\nid:2\0\ndata:b\n\n", event("a", id: "1"), event("b", id: "1")),
        Case("an id with a control byte is none", "id:1\nid:2\u{1b}\ndata:a\n\n", event("a", id: "1")),
        Case("an id with white space at its end is none", "id:1\nid:2 \ndata:a\n\n", event("a", id: "1")),
        Case("an id with two spaces before it is none", "id:1\nid:  2\ndata:a\n\n", event("a", id: "1")),
        Case("an id with white space inside", "id:1 2\ndata:a\n\n", event("a", id: "1 2")),
        Case(
            "an id that is not UTF-8",
            Data("id:".utf8) + [0xff] + Data("\ndata:a\n\n".utf8),
            [event("a", id: "\u{FFFD}")]
        ),
        Case("an empty id resets", "id:1\ndata:a\n\nid:\ndata:b\n\n", event("a", id: "1"), event("b")),
        Case("NUL elsewhere", "data:a\0b\n\n", event("a\0b")),
        Case("unknown fields", "datax:1\nDATA:2\n data:3\ndata :4\nfoo\ndata:5\n\n", event("5")),
        Case("a field without a name", ":data:1\n:\ndata:2\n\n", event("2")),
        Case("colons in the value", "data:a:b: c\n\n", event("a:b: c")),
        Case("Unicode", "data:ü😀\u{2028}\u{85}x\n\n", event("ü😀\u{2028}\u{85}x")),
        Case("what has not ended is none", "data:a\n\ndata:b\n", event("a")),
        Case("an end within a line", "data:a\n\nda", event("a")),
        Case("a time", "retry:3000\ndata:x\n\n", event("x"), retry: .seconds(3)),
        Case("a time with a space", "retry: 5\ndata:x\n\n", event("x"), retry: .milliseconds(5)),
        Case(
            "a bogus time",
            "retry:3000\nretry:1000x\nretry:-1\nretry:\nretry\ndata:x\n\n",
            event("x"),
            retry: .seconds(3)
        ),
        Case("times of ages", "retry:99999999999999999999999\n\n", retry: .milliseconds(1 << 50)),
        Case(
            "what is not UTF-8",
            Data("data:a".utf8) + Data([0xFF, 0xC3]) + Data("b\n\n".utf8),
            [event("a\u{FFFD}\u{FFFD}b")]
        ),
    ]

    private func parse(_ chunks: [Data]) throws -> (events: [ServerSentEvent], retry: Duration?) {
        var parser = ServerSentEventParser()
        var events: [ServerSentEvent] = []
        for chunk in chunks {
            events += try parser.parse(chunk)
        }
        return (events, parser.reconnectionTime)
    }

    @Test(arguments: cases)
    func followsTheStandard(_ example: Case) throws {
        let (events, retry) = try parse([example.stream])
        #expect(events == example.events)
        #expect(retry == example.retry)
    }

    @Test(arguments: cases)
    func chunkBoundariesDoNotMatter(_ example: Case) throws {
        let bytes = example.stream
        #expect(try parse(bytes.map { Data([$0]) }).events == example.events)
        for place in 0...bytes.count {
            let chunks = [bytes.prefix(place), bytes.dropFirst(place)]
            #expect(try parse(chunks.map { $0 }).events == example.events, "split at \(place)")
        }
    }

    @Test func randomChunkBoundariesDoNotMatter() throws {
        var random = RandomSource.seeded(7)
        let fragments = [
            "data", ":", " ", "\n", "\r", "\r\n", "\n\n", "id", "event", "retry", "x", "1", "\0", "ü", "data:y\n",
            "\u{FEFF}", ": c\n",
        ]
        for _ in 0..<2_000 {
            let count = Int.random(in: 0..<24, using: &random)
            let bytes = Data((0..<count).map { _ in fragments.randomElement(using: &random) ?? "" }.joined().utf8)
            var chunks: [Data] = []
            var rest = bytes
            while !rest.isEmpty {
                let size = Int.random(in: 1...8, using: &random)
                chunks.append(Data(rest.prefix(size)))
                rest = rest.dropFirst(size)
            }
            let whole = try parse([bytes])
            let split = try parse(chunks)
            #expect(whole.events == split.events)
            #expect(whole.retry == split.retry)
            #expect(whole.events == ReferenceParser.events(of: bytes))
        }
    }

    @Test func emptyChunksDoNotMatter() throws {
        #expect(
            try parse([Data(), Data("data:x\r".utf8), Data(), Data("\n\r\n".utf8), Data()]).events == [Self.event("x")]
        )
    }

    @Test(arguments: ["data: ", "data:x\n", ": comment ", "event:"])
    func eventWithoutAnEndIsLimited(line: String) throws {
        var parser = ServerSentEventParser(maximumEventBytes: 1_000)
        let chunk = Data(String(repeating: line, count: 10).utf8)
        #expect(throws: StreamTooLong.self) {
            for _ in 0..<10_000 {
                _ = try parser.parse(chunk)
            }
        }
    }

    /// Earlier events are returned, for one chunk, for single bytes and for any split.
    @Test func eventBeyondTheLimitIsAnErrorForAnyChunks() throws {
        let x = String(repeating: "x", count: 60)
        for long in ["data: \(x)\ndata: \(x)\ndata: tail\n\n", "data: \(x)\(x)\n\n", "id: \(x)\(x)\ndata: a\n\n"] {
            let bytes = Data("data: good\n\n\(long)".utf8)
            let parts = (1..<bytes.count).map { [bytes[..<$0], bytes[$0...]] } + [[bytes], bytes.map { Data([$0]) }]
            for parts in parts {
                var parser = ServerSentEventParser(maximumEventBytes: 100)
                var events: [String] = []
                #expect(throws: StreamTooLong.self) {
                    for part in parts {
                        events += try parser.parse(Data(part)).map(\.data)
                    }
                    events += try parser.parse(Data()).map(\.data)
                }
                #expect(events == ["good"])
            }
        }
    }

    @Test func endlessCommentsAreNoEvent() throws {
        var parser = ServerSentEventParser(maximumEventBytes: 1_000)
        for _ in 0..<1_000 {
            let events = try parser.parse(Data(": still here\n".utf8))
            #expect(events.isEmpty)
        }
    }

    /// The algorithm of the standard for a complete body.
    private enum ReferenceParser {
        static func events(of bytes: Data) -> [ServerSentEvent] {
            var text = String(decoding: bytes, as: UTF8.self).unicodeScalars[...]
            if text.first == "\u{FEFF}" {
                text.removeFirst()
            }
            var lines: [String] = []
            var line = String.UnicodeScalarView()
            var previous: Unicode.Scalar?
            for scalar in text {
                if scalar == "\n", previous == "\r" {
                    previous = scalar
                    continue
                }
                if scalar == "\n" || scalar == "\r" {
                    lines.append(String(line))
                    line = String.UnicodeScalarView()
                } else {
                    line.append(scalar)
                }
                previous = scalar
            }
            var (events, type, data, id, next): ([ServerSentEvent], String, [String]?, String, String) = (
                [], "", nil, "", ""
            )
            for line in lines {
                if line.isEmpty {
                    id = next
                    if let data {
                        events.append(
                            ServerSentEvent(
                                type: type.isEmpty ? "message" : type,
                                data: data.joined(separator: "\n"),
                                id: id
                            )
                        )
                    }
                    (type, data) = ("", nil)
                    continue
                }
                let scalars = line.unicodeScalars
                let colon = scalars.firstIndex(of: ":") ?? scalars.endIndex
                let name = String(scalars[..<colon])
                var value = colon == scalars.endIndex ? scalars[colon...] : scalars[scalars.index(after: colon)...]
                if value.first == " " {
                    value.removeFirst()
                }
                switch name {
                case "data": data = (data ?? []) + [String(value)]
                case "event": type = String(value)
                case "id" where !value.contains("\0") && value.first != " " && value.last != " ": next = String(value)
                default: break
                }
            }
            return events
        }
    }
}
