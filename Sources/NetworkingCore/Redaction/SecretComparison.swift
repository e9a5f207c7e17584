/// Compares what somebody has sent with a secret.
package enum SecretComparison {
    /// Whether two texts are the same, in a time that does not tell where they differ.
    package static func areEqual(_ text: some StringProtocol, _ other: some StringProtocol) -> Bool {
        areEqual(Array(text.utf8), Array(other.utf8))
    }

    /// Whether bytes are the same, in a time that does not tell where they differ.
    package static func areEqual(_ bytes: [UInt8], _ others: [UInt8]) -> Bool {
        guard bytes.count == others.count else { return false }
        return zip(bytes, others).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
