/// Hexadecimal digits (RFC 4648 section 8).
package enum Hexadecimal {
    /// Returns the digit for the low four bits of a number.
    static func digit(for number: UInt8, uppercase: Bool = false) -> UInt8 {
        let bits = number & 15
        return bits < 10 ? UInt8(ascii: "0") + bits : UInt8(ascii: uppercase ? "A" : "a") + bits - 10
    }

    /// Returns the value of a digit, or `nil` if the byte is not a digit.
    package static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Returns the value of a digit, or `nil` if the byte is a letter in upper case or not a digit.
    static func lowercaseValue(of digit: UInt8) -> UInt8? {
        (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(digit) ? nil : value(of: digit)
    }

    /// Returns the number that digits represent.
    ///
    /// - Parameters:
    ///   - digits: The digits, without a prefix or a sign.
    ///   - lowercaseOnly: Whether letters in upper case are rejected.
    /// - Returns: The number, or `nil` if there is no digit, another character, or a number of more than 64 bits.
    package static func number(_ digits: some Collection<UInt8>, lowercaseOnly: Bool = false) -> UInt64? {
        guard !digits.isEmpty else { return nil }
        var number: UInt64 = 0
        for digit in digits {
            guard number >> 60 == 0, let value = lowercaseOnly ? lowercaseValue(of: digit) : value(of: digit) else {
                return nil
            }
            number = number << 4 | UInt64(value)
        }
        return number
    }

    /// Returns the bytes that pairs of digits represent.
    ///
    /// `nil` if there is another character or an odd number of digits.
    package static func bytes(_ digits: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.utf8.count / 2)
        var rest = digits.utf8[...]
        while let first = rest.popFirst() {
            guard let high = value(of: first), let low = rest.popFirst().flatMap({ value(of: $0) }) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }
}

extension Sequence<UInt8> {
    /// The bytes as hexadecimal digits in lower case, two for each byte.
    package var hexadecimal: String {
        var digits: [UInt8] = []
        digits.reserveCapacity(underestimatedCount * 2)
        for byte in self {
            digits.append(Hexadecimal.digit(for: byte >> 4))
            digits.append(Hexadecimal.digit(for: byte))
        }
        return String(decoding: digits, as: UTF8.self)
    }
}

extension FixedWidthInteger where Self: UnsignedInteger {
    /// The number as hexadecimal digits in lower case, with leading zeros up to the width of the type.
    package var hexadecimal: String {
        let count = Self.bitWidth / 4
        return String(unsafeUninitializedCapacity: count) { digits in
            for index in 0..<count {
                let bits = UInt8(truncatingIfNeeded: self >> ((count - 1 - index) * 4))
                digits.initializeElement(at: index, to: Hexadecimal.digit(for: bits))
            }
            return count
        }
    }
}
