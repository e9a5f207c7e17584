import Networking
import TestSupport
import Testing

@Suite(.tags(.memory)) struct DecimalDigitsTests {
    @Test(
        arguments: [
            ("0", 0), ("007", 7), ("9223372036854775807", .max), ("9223372036854775808", nil),
            ("9999999999999999999999", nil),
            ("00000000000000000000000001", 1), ("", nil), ("+1", nil), ("-1", nil), (" 1", nil), ("1 ", nil),
            ("1.0", nil),
            ("1e3", nil), ("0x1", nil), ("\u{661}", nil), ("99999999999999999999x", nil),
        ] as [(String, Int64?)]
    )
    func numbersHaveDigitsOnly(text: String, number: Int64?) {
        #expect(DecimalDigits.number(text.utf8) == number)
    }

    @Test(
        arguments: [
            ("99", 99), ("100", 100), ("101", 100), ("9223372036854775808", 100), ("99999999999999999999999", 100),
            ("x", nil),
            ("99999999999999999999999x", nil),
        ] as [(String, Int64?)]
    )
    func numberBeyondTheLimitIsClamped(text: String, number: Int64?) {
        #expect(DecimalDigits.number(text.utf8, limit: 100) == number)
    }

    @Test func randomTextIsReadAsTheStandardLibraryReadsIt() {
        withSeed { random in
            for round in 0..<4000 {
                let digits = "00123456789999"
                let alphabet = round.isMultiple(of: 2) ? digits : digits + "+-x \u{661}"
                let text = random.text(of: alphabet, maximumCount: 24)
                let isPlain = text.utf8.allSatisfy { "0123456789".utf8.contains($0) }
                #expect(DecimalDigits.number(text.utf8) == (isPlain ? Int64(text) : nil), "\(text)")
                let limited = isPlain && !text.isEmpty ? min(Int64(text) ?? .max, 1 << 31) : nil
                #expect(DecimalDigits.number(text.utf8, limit: 1 << 31) == limited, "\(text)")
            }
        }
    }
}
