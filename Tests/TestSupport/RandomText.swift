extension SeededRandom {
    /// Returns random text for a test of garbage input.
    ///
    /// - Parameters:
    ///   - alphabet: The scalars to choose from. One that occurs several times is chosen more often.
    ///   - maximumCount: The maximum number of scalars.
    /// - Returns: Text of random length, which may be empty.
    package mutating func text(of alphabet: String, maximumCount: Int) -> String {
        let scalars = Array(alphabet.unicodeScalars)
        let count = Int.random(in: 0...maximumCount, using: &self)
        let chosen = (0..<count).map { _ in scalars[Int.random(in: scalars.indices, using: &self)] }
        return String(String.UnicodeScalarView(chosen))
    }

    /// Returns random bytes for a test of garbage input.
    ///
    /// - Parameters:
    ///   - alphabet: The bytes to choose from; `nil` for all.
    ///   - maximumCount: The maximum number of bytes.
    /// - Returns: Bytes, perhaps none.
    package mutating func bytes(of alphabet: [UInt8]? = nil, maximumCount: Int) -> [UInt8] {
        let count = Int.random(in: 0...maximumCount, using: &self)
        let bytes = alphabet ?? Array(UInt8.min ... .max)
        return (0..<count).map { _ in bytes[Int.random(in: bytes.indices, using: &self)] }
    }
}
