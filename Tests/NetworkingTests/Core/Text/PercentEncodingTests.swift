import Foundation
import Networking
import TestSupport
import Testing

@Suite(.tags(.memory)) struct PercentEncodingTests {
    @Test(arguments: [
        ("", ""), ("plain", "plain"), ("%41%7e", "A~"), ("caf%C3%A9", "caf\u{E9}"), ("100%", "100%"), ("%", "%"),
        ("%4", "%4"), ("%zz", "%zz"), ("%+1", "%+1"), ("%%41", "%A"), ("%2541", "%41"), ("a+b", "a+b"),
        ("%FF", "\u{FFFD}"),
    ])
    func decodesEscapesAndKeepsTheRest(text: String, decoded: String) {
        #expect(PercentEncoding.decode(text) == decoded)
        #expect(PercentEncoding.decode(text[...]) == decoded)
    }

    @Test func plusSignIsASpaceInForms() {
        #expect(PercentEncoding.bytes(decoding: "a+b%2Bc", plusIsSpace: true) == Array("a b+c".utf8))
        #expect(PercentEncoding.bytes(decoding: "a+b%2Bc") == Array("a+b+c".utf8))
    }

    @Test(
        arguments: [("%e2%82%ac", [0xE2, 0x82, 0xAC]), ("a", [0x61]), ("", []), ("%FF", [0xFF])] as [(String, [UInt8])]
    )
    func strictDecodingReturnsBytes(text: String, bytes: [UInt8]) {
        #expect(PercentEncoding.bytes(strictlyDecoding: text) == bytes)
    }

    @Test(arguments: ["%", "%4", "a%", "%zz", "%4g", "%+1", "%%41"])
    func strictDecodingRefusesDamagedEscapes(text: String) {
        #expect(PercentEncoding.bytes(strictlyDecoding: text) == nil)
    }

    @Test func encodesDisallowedBytes() {
        #expect(PercentEncoding.unreserved.encode("a b/\u{E9}%41~") == "a%20b%2F%C3%A9%2541~")
        #expect(PercentEncoding.unreserved.encode("a b%41%4", keepsEscapes: true) == "a%20b%41%254")
        #expect(PercentEncoding.unreserved.encode([0xFF, 0x00, 0x41]) == "%FF%00A")
        #expect(PercentEncoding.escapedTarget.encode("/a b?c=%41|\r") == "/a%20b?c=%41%7C%0D")
    }

    @Test func everyByteSurvivesARoundTrip() {
        withSeed { random in
            for _ in 0..<500 {
                let bytes = random.bytes(maximumCount: 40)
                let encoded = PercentEncoding.unreserved.encode(bytes)
                #expect(encoded.utf8.allSatisfy { PercentEncoding.unreserved.allows($0) || $0 == UInt8(ascii: "%") })
                #expect(PercentEncoding.bytes(decoding: encoded) == bytes)
                #expect(PercentEncoding.bytes(strictlyDecoding: encoded) == bytes)
                // Foundation decodes only valid text.
                if let text = String(validating: bytes, as: UTF8.self) {
                    #expect(encoded.removingPercentEncoding == text)
                }
            }
        }
    }

    @Test func randomTextDoesNotCrash() {
        withSeed { random in
            for _ in 0..<2000 {
                let text = random.text(of: "%%%%0aF+g \u{E9}", maximumCount: 10)
                let lenient = PercentEncoding.bytes(decoding: text)
                #expect(lenient.count <= text.utf8.count)
                if let strict = PercentEncoding.bytes(strictlyDecoding: text) {
                    #expect(strict == lenient, "\(text)")
                } else {
                    #expect(text.contains("%"))
                }
            }
        }
    }
}
