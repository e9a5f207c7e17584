/// Text that nobody can guess: 128 bits from the system.
enum RandomToken {
    static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2)
            .map { _ in
                let digits = String(UInt64.random(in: .min ... .max, using: &generator), radix: 16)
                return String(repeating: "0", count: 16 - digits.count) + digits
            }
            .joined()
    }

    /// Whether two texts are the same, in a time that does not tell where they differ.
    static func areEqual(_ text: some StringProtocol, _ other: some StringProtocol) -> Bool {
        let (left, right) = (Array(text.utf8), Array(other.utf8))
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
