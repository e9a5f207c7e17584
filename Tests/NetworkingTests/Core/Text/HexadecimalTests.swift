import Networking
import TestSupport
import Testing

@testable import NetworkingCore

@Suite(.tags(.memory)) struct HexadecimalTests {
    @Test func everyByteHasTwoDigits() {
        for byte in UInt8.min ... .max {
            let digits = String(byte, radix: 16)
            let expected = digits.count == 1 ? "0\(digits)" : digits
            #expect([byte].hexadecimal == expected)
            #expect(byte.hexadecimal == expected)
            #expect(Hexadecimal.bytes(expected) == [byte])
            #expect(Hexadecimal.bytes(expected.uppercased()) == [byte])
            #expect(Hexadecimal.number(expected.uppercased().utf8) == UInt64(byte))
            #expect(
                Hexadecimal.digit(for: byte, uppercase: true)
                    == String(byte & 15, radix: 16, uppercase: true).utf8.first
            )
        }
    }

    @Test func onlyDigitsHaveAValue() {
        for byte in UInt8.min ... .max {
            let isDigit = "0123456789abcdefABCDEF".utf8.contains(byte)
            let isLowercase = "0123456789abcdef".utf8.contains(byte)
            let expected = isDigit ? UInt8(String(Unicode.Scalar(byte)), radix: 16) : nil
            #expect(Hexadecimal.value(of: byte) == expected)
            #expect(Hexadecimal.lowercaseValue(of: byte) == (isLowercase ? expected : nil))
        }
    }

    @Test(
        arguments: [
            ("0", 0), ("00000000000000000000ff", 0xFF), ("FFFFFFFFFFFFFFFF", .max), ("cafe", 0xCAFE),
            ("10000000000000000", nil), ("", nil), ("+1", nil), ("-0", nil), ("0x1", nil), (" 1", nil), ("1g", nil),
            ("é", nil),
        ] as [(String, UInt64?)]
    )
    func numbersHaveNeitherSignNorPrefix(digits: String, number: UInt64?) {
        #expect(Hexadecimal.number(digits.utf8) == number)
    }

    @Test func lettersCanBeRestrictedToLowerCase() {
        #expect(Hexadecimal.number("cafe".utf8, lowercaseOnly: true) == 0xCAFE)
        #expect(Hexadecimal.number("caFe".utf8, lowercaseOnly: true) == nil)
    }

    @Test func numbersHaveTheWidthOfTheirType() {
        #expect(UInt16(0x0A).hexadecimal == "000a")
        #expect(UInt32.max.hexadecimal == "ffffffff")
        #expect(UInt64(1 << 60).hexadecimal == "1000000000000000")
    }

    @Test(arguments: ["0", "abc", "0g", "g0", "é", "0 ", "-1"])
    func bytesNeedPairsOfDigits(digits: String) {
        #expect(Hexadecimal.bytes(digits) == nil)
    }

    @Test func randomBytesSurviveARoundTrip() {
        withSeed { random in
            for count in 0..<200 {
                let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
                #expect(Hexadecimal.bytes(bytes.hexadecimal) == bytes)
                #expect(Hexadecimal.bytes(bytes.hexadecimal.uppercased()) == bytes)
                let number = random.next()
                #expect(Hexadecimal.number(number.hexadecimal.utf8) == number)
            }
        }
    }

    @Test func randomTextHasBytesOnlyIfItIsPairsOfDigits() {
        withSeed { random in
            for _ in 0..<2000 {
                let text = random.text(of: "0189afAFgG%+- é\u{0}", maximumCount: 8)
                let isPlain = text.utf8.allSatisfy { "0123456789abcdefABCDEF".utf8.contains($0) }
                #expect((Hexadecimal.bytes(text) != nil) == (isPlain && text.utf8.count.isMultiple(of: 2)), "\(text)")
                #expect((Hexadecimal.number(text.utf8) != nil) == (isPlain && !text.isEmpty), "\(text)")
            }
        }
    }
}
