import Foundation
import Networking
import TestSupport
import Testing

@testable import NetworkingCore

@Suite(.tags(.memory))
struct JSONRedactorTests {
    private func redact(_ text: String, _ layout: JSONRedactor.Layout = .compact) -> String? {
        JSONRedactor.redact(Array(text.utf8), layout: layout) { $0 == "secret" }?.text
    }

    @Test(arguments: [
        (#" { "b" : 1 , "a" : [ true , false , null ] } "#, #"{"b":1,"a":[true,false,null]}"#),
        (#"{"a":1,"a":2}"#, #"{"a":1,"a":2}"#),
        (#"{"secret":1,"secret":{"x":[1,{}]},"a":2}"#, #"{"secret":"<redacted>","secret":"<redacted>","a":2}"#),
        ("12345678901234567890.10E-0400", "12345678901234567890.10E-0400"),
        ("[0.10,-0,1e5,1E+5]", "[0.10,-0,1e5,1E+5]"),
        (#""\u00e4\/\ud83d""#, #""\u00e4\/\ud83d""#),
        (#"{"s\u0065cret":"x"}"#, #"{"s\u0065cret":"<redacted>"}"#),
        (#"{"a":{"secret":[[],{"a":"}"}]},"b":"]"}"#, #"{"a":{"secret":"<redacted>"},"b":"]"}"#),
        (#"[{"secret":""},[]]"#, #"[{"secret":"<redacted>"},[]]"#),
        ("\"a\u{85}b\u{202E}c\u{2028}\u{7F}ü👩‍🚀\"", #""a\u0085b\u202ec\u2028\u007fü👩‍🚀""#),
        ("\u{FEFF}[1]", "[1]"),
        ("\r\n\t 1 ", "1"),
    ])
    func tokensAreUnchanged(text: String, shown: String) {
        #expect(redact(text) == shown)
    }

    /// 0xEF may start an unprintable character; 0xFF never starts a character.
    @Test(arguments: [[0xEF], [0xEF, 0xBB], [0xC2], [0xFF], [0x61, 0xE2, 0x80]] as [[UInt8]])
    func stringThatIsNotUTF8IsNoJSON(bytes: [UInt8]) {
        let document = Array(#"{"a":""#.utf8) + bytes + Array(#""}"#.utf8)
        #expect(JSONRedactor.redact(document) { _ in false } == nil)
    }

    @Test(arguments: [
        "", " ", "{", "}", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}",
        "{\"a\":1", "{\"a\" 1}", "[1}", "{\"a\":1]", "1 2", "nul", "nulll", "tru", "01", "-", "1.", ".5", "1e", "+1",
        "NaN",
        "'a'", "\"", "\"a", "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"a\nb\"", "\"\u{0}\"", "[1]]",
        "{\"secret\":[1,2",
        "{\"secret\":[}", "{\"secret\"", "\u{A0}1", "[1],", "// 1",
    ])
    func malformedDocumentIsNotPrinted(text: String) {
        #expect(redact(text) == nil)
    }

    @Test func textThatIsNotUTF8IsNotPrinted() {
        for bytes in [[0x22, 0xFF, 0x22], Array("{\"secret\":\"".utf8) + [0xC3] + Array("\"}".utf8)] as [[UInt8]] {
            #expect(JSONRedactor.redact(bytes, isRedacted: { $0 == "secret" }) == nil)
        }
    }

    /// For every prefix of a document and every changed byte, the redactor returns `nil` or a document that Foundation
    /// parses.
    @Test func damagedDocumentsAreNotPrintedOrStayValid() throws {
        let document = Array(#"{"a":[1.5e3,"x\n\u00e4",{"secret":"s"}],"b":null,"c":-0}"#.utf8)
        var shown = 0
        for index in document.indices {
            var damaged = document
            damaged[index] ^= 1
            for bytes in [Array(document[..<index]), damaged] {
                guard let redacted = JSONRedactor.redact(bytes, isRedacted: { $0 == "secret" }) else { continue }
                shown += 1
                for text in [bytes, Array(redacted.text.utf8)] {
                    #expect(
                        (try? JSONSerialization.jsonObject(with: Data(text), options: .fragmentsAllowed)) != nil,
                        "\(String(decoding: text, as: UTF8.self))"
                    )
                }
            }
        }
        #expect((1..<document.count).contains(shown))
    }

    @Test(arguments: [JSONRedactor.Layout.compact, .pretty])
    func deepNestingIsSupported(layout: JSONRedactor.Layout) throws {
        let depth = 50_000
        let open = String(repeating: #"[{"a":"#, count: depth)
        let document = open + "1" + String(repeating: "}]", count: depth)
        let redacted = try #require(redact(document, layout))
        #expect(redacted.utf8.count < 2 * document.utf8.count)
        #expect(redact(open + "1", layout) == nil)
    }

    /// The indentation of a deeply nested document would be larger than the document.
    @Test(arguments: [(1, 2), (16, 32), (17, 32), (40, 32)])
    func indentationEndsAtADepth(depth: Int, indentation: Int) throws {
        let document = String(repeating: "[", count: depth) + "1" + String(repeating: "]", count: depth)
        let lines = try #require(redact(document, .pretty)).split(separator: "\n")
        #expect(lines.map { $0.prefix { $0 == " " }.count }.max() == indentation)
        #expect(lines.contains { $0.drop { $0 == " " } == "1" } == (depth <= 16))
    }

    @Test func documentCanBePrettyPrinted() {
        let pretty = redact(#"{"name":"Emily","secret":[1],"tags":["a","b"],"none":[],"n":{"x":1}}"#, .pretty)
        #expect(
            pretty == """
                {
                  "name": "Emily",
                  "secret": "<redacted>",
                  "tags": [
                    "a",
                    "b"
                  ],
                  "none": [],
                  "n": {
                    "x": 1
                  }
                }
                """
        )
    }
}
