import Foundation
import Networking
import TestSupport
import Testing

@testable import NetworkingCore
@testable import NetworkingMocking

@Suite(.tags(.memory), .timeLimit(.minutes(20))) struct JSONTokenizerTests {
    /// Returns the tokens up to the end or the first fault, and whether the end was reached.
    private func tokens(_ source: [UInt8]) -> (tokens: [JSONTokenizer.Token], isWhole: Bool) {
        var tokenizer = JSONTokenizer(source)
        var tokens: [JSONTokenizer.Token] = []
        while let token = tokenizer.next() {
            if token == .documentEnd { return (tokens, true) }
            tokens.append(token)
        }
        return (tokens, false)
    }

    @Test func tokensHaveTheirPositions() {
        let (tokens, isWhole) = tokens(Array(#" {"a": [1, -2.5e+3 ,"x\n"], "b":{}, "c":[true,false,null]} "#.utf8))
        #expect(isWhole)
        #expect(
            tokens == [
                .start(.object), .name(2..<5), .start(.array), .number(8..<9), .comma, .number(11..<18), .comma,
                .string(20..<25), .end(.array), .comma, .name(28..<31), .start(.object), .end(.object), .comma,
                .name(36..<39), .start(.array), .boolean(true), .comma, .boolean(false), .comma, .null, .end(.array),
                .end(.object),
            ]
        )
    }

    @Test(arguments: [
        (#""plain""#, "plain"), ("\"\"", ""), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
        (#""\u00e4""#, "\u{E4}"),
        (#""\ud83d\ude00""#, "\u{1F600}"), (#""\ud83d""#, "\u{FFFD}"), (#""a\ude00b""#, "a\u{FFFD}b"),
        (#""\u0000""#, "\u{0}"), (#""ä\u00C4é""#, "ä\u{C4}é"),
    ])
    func escapesInTextAreDecoded(source: String, text: String) throws {
        let source = Array(source.utf8)
        var tokenizer = JSONTokenizer(source)
        #expect(tokenizer.next() == .string(0..<source.count))
        #expect(tokenizer.text(of: 0..<source.count).unicodeScalars.elementsEqual(text.unicodeScalars))
    }

    @Test(arguments: [
        ("", 0), (" ", 1), ("[1,]", 3), ("[1 2]", 3), ("{\"a\" 1}", 5), ("{\"a\":1,}", 7), ("[1}", 2), ("1 2", 2),
        ("nul", 0),
        ("01", 1), ("1.", 2), ("1e", 2), ("\"a\nb\"", 2), (#""\x""#, 1), (#""\u12g4""#, 1), ("\"a", 2), ("[[]", 3),
        ("[]]", 2),
        ("{a:1}", 1), ("+1", 0),
    ])
    func faultsHaveTheirPosition(text: String, place: Int) {
        #expect(JSONTokenizer.fault(in: Array(text.utf8)) == place)
    }

    @Test func documentsHaveNoFault() {
        for text in ["1", "\u{FEFF}[]", "\"\"", "-0.0E-0", "[[],{}]", "\t\r\n null "] {
            #expect(JSONTokenizer.fault(in: Array(text.utf8)) == nil, "\(text)")
        }
    }

    @Test func deepNestingDoesNotOverflowTheCallStack() {
        let depth = 1_000_000
        for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
            let start = Array(String(repeating: open, count: depth).utf8)
            #expect(JSONTokenizer.fault(in: start) == start.count)
            let value = open == "[" ? "" : "1"
            #expect(
                JSONTokenizer.fault(in: start + Array((value + String(repeating: close, count: depth)).utf8)) == nil
            )
            #expect(JSONDocument(Data(start)) == nil)
        }
    }

    @Test func documentsAreReadToALimitedDepth() {
        func document(_ depth: Int) -> JSONDocument? {
            JSONDocument(Data((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8))
        }
        #expect(document(256) != nil)
        #expect(document(257) == nil)
    }

    @Test func generatedDocumentsAreReadAndTheirPrefixesAreFaults() throws {
        try withSeed { random in
            for _ in 0..<200 {
                let text = "[\(Self.value(depth: 0, &random))]"
                let source = Array(text.utf8)
                #expect(JSONTokenizer.fault(in: source) == nil, "\(text)")
                let shown = try #require(JSONRedactor.redact(source) { _ in false }, "\(text)")
                let document = try #require(JSONDocument(Data(source)), "\(text)")
                let again = try #require(JSONDocument(Data(shown.text.utf8)), "\(text)")
                #expect(document.says(again, .equal) && again.says(document, .equal), "\(text)")
                #expect((try? JSONSerialization.jsonObject(with: Data(source))) != nil, "\(text)")
                let end = Int.random(in: 0..<source.count, using: &random)
                #expect(JSONTokenizer.fault(in: Array(source[..<end])) != nil, "\(text)")
            }
        }
    }

    @Test func randomBytesDoNotCrash() {
        let alphabet = Array(#"{}[]",:\u12eE+-.0 tfn"#.utf8) + [0x00, 0x1F, 0x80, 0xC3, 0xFF]
        withSeed { random in
            for round in 0..<4000 {
                let source = random.bytes(of: round.isMultiple(of: 2) ? alphabet : nil, maximumCount: 30)
                let fault = JSONTokenizer.fault(in: source)
                #expect((0...source.count).contains(fault ?? 0), "\(source)")
                let isText = String(validating: source, as: UTF8.self) != nil
                #expect((JSONDocument(Data(source)) != nil) == (fault == nil && isText), "\(source)")
                if let shown = JSONRedactor.redact(source, isRedacted: { $0.contains("u") }) {
                    #expect(fault == nil, "\(source)")
                    #expect(JSONTokenizer.fault(in: Array(shown.text.utf8)) == nil, "\(source)")
                }
                for index in source.indices {
                    _ = JSONEscape(in: source, at: index)
                }
            }
        }
    }

    /// Returns a random value as JSON.
    private static func value(depth: Int, _ random: inout SeededRandom) -> String {
        let space = [" ", "", "", "\n"].randomElement(using: &random) ?? ""
        let strings = ["\"\"", #""a""#, #""\u00e4\n""#, #""\ud83d\ude00""#, #""é👩‍🚀""#, #""\\\"{[""#]
        let string = strings.randomElement(using: &random) ?? ""
        switch Int.random(in: 0..<(depth > 4 ? 4 : 6), using: &random) {
        case 0: return space + "\(Int.random(in: -1000...1000, using: &random))"
        case 1: return ["0.10", "-0", "1e5", "1E+5", "12345678901.5e-3"].randomElement(using: &random) ?? ""
        case 2: return ["true", "false", "null"].randomElement(using: &random) ?? ""
        case 3: return string + space
        case 4:
            let count = Int.random(in: 0..<4, using: &random)
            return "[\((0..<count).map { _ in value(depth: depth + 1, &random) }.joined(separator: ","))\(space)]"
        default:
            let count = Int.random(in: 0..<4, using: &random)
            let members = (0..<count).map { "\"\($0)é\"\(space):\(value(depth: depth + 1, &random))" }
            return "{\(space)\(members.joined(separator: ",\(space)"))}"
        }
    }
}
