/// A short text that represents a long or secret one and is the same in every process.
///
/// It distinguishes texts, but is not cryptographically secure. It consists of two FNV-1a hashes.
package enum StableDigest {
    /// Returns the two hashes of texts, in order.
    package static func numbers(of texts: [String]) -> (UInt64, UInt64) {
        var numbers: (UInt64, UInt64) = (0xcbf2_9ce4_8422_2325, 0x6c62_272e_07bb_0142)
        for text in texts {
            // A zero ends each text.
            for byte in text.utf8 + [0] {
                numbers.0 = (numbers.0 ^ UInt64(byte)) &* 0x100_0000_01b3
                numbers.1 = (numbers.1 ^ UInt64(byte)) &* 0x100_0000_01b3
            }
        }
        return numbers
    }

    /// Returns the digest of texts, in order, as 32 hexadecimal digits.
    package static func hex(of texts: [String]) -> String {
        let numbers = numbers(of: texts)
        return numbers.0.hexadecimal + numbers.1.hexadecimal
    }
}
