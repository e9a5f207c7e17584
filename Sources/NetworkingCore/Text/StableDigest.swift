/// A short text that represents a long or secret one and is the same in every process.
///
/// It distinguishes texts, but is not cryptographically secure. It consists of two FNV-1a hashes.
package struct StableDigest {
    package private(set) var numbers: (UInt64, UInt64) = (0xcbf2_9ce4_8422_2325, 0x6c62_272e_07bb_0142)

    package init() {}

    /// Adds a text and its end.
    package mutating func add(_ text: String) {
        for byte in text.utf8 {
            add(byte)
        }
        add(0)
    }

    private mutating func add(_ byte: UInt8) {
        numbers.0 = (numbers.0 ^ UInt64(byte)) &* 0x100_0000_01b3
        numbers.1 = (numbers.1 ^ UInt64(byte)) &* 0x100_0000_01b3
    }

    /// Returns the digest of texts, in order, as 32 hexadecimal digits.
    package static func hex(of texts: [String]) -> String {
        var digest = StableDigest()
        for text in texts {
            digest.add(text)
        }
        return digest.numbers.0.hexadecimal + digest.numbers.1.hexadecimal
    }
}
