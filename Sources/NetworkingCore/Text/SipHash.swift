/// SipHash-2-4 with a result of 128 bits: a hash that only the holder of its key can compute.
///
/// Without the key, it is not possible to guess a short input from its result, or to find two inputs with the same
/// result. Defined by Aumasson and Bernstein in "SipHash: a fast short-input PRF".
package struct SipHash {
    private var v0: UInt64
    private var v1: UInt64
    private var v2: UInt64
    private var v3: UInt64

    /// Returns the hash of bytes as two numbers.
    ///
    /// Their bytes in little-endian order are the result of the reference implementation.
    ///
    /// - Parameters:
    ///   - bytes: The input.
    ///   - key: The key, as two numbers of 64 bits.
    /// - Returns: The hash.
    package static func hash(_ bytes: [UInt8], key: (UInt64, UInt64)) -> (UInt64, UInt64) {
        var state = SipHash(key: key)
        var word: UInt64 = 0
        for (index, byte) in bytes.enumerated() {
            word |= UInt64(byte) << UInt64(index % 8 * 8)
            if index % 8 == 7 {
                state.add(word)
                word = 0
            }
        }
        state.add(word | UInt64(truncatingIfNeeded: bytes.count) << 56)
        state.v2 ^= 0xee
        let first = state.finish()
        state.v1 ^= 0xdd
        return (first, state.finish())
    }

    private init(key: (UInt64, UInt64)) {
        v0 = key.0 ^ 0x736f_6d65_7073_6575
        v1 = key.1 ^ 0x646f_7261_6e64_6f6d ^ 0xee
        v2 = key.0 ^ 0x6c79_6765_6e65_7261
        v3 = key.1 ^ 0x7465_6462_7974_6573
    }

    private mutating func add(_ word: UInt64) {
        v3 ^= word
        mix()
        mix()
        v0 ^= word
    }

    private mutating func finish() -> UInt64 {
        for _ in 0..<4 {
            mix()
        }
        return v0 ^ v1 ^ v2 ^ v3
    }

    private mutating func mix() {
        v0 &+= v1
        v1 = v1.rotated(left: 13) ^ v0
        v0 = v0.rotated(left: 32)
        v2 &+= v3
        v3 = v3.rotated(left: 16) ^ v2
        v0 &+= v3
        v3 = v3.rotated(left: 21) ^ v0
        v2 &+= v1
        v1 = v1.rotated(left: 17) ^ v2
        v2 = v2.rotated(left: 32)
    }
}

extension UInt64 {
    fileprivate func rotated(left count: UInt64) -> UInt64 {
        self << count | self >> (64 - count)
    }
}
