/// Compares received values with secrets.
package enum SecretComparison {
    /// Returns whether two texts are equal, in a time that does not depend on where they differ.
    package static func areEqual(_ text: some StringProtocol, _ other: some StringProtocol) -> Bool {
        areEqual(Array(text.utf8), Array(other.utf8))
    }

    /// Returns whether two byte arrays are equal, in a time that does not depend on where they differ.
    static func areEqual(_ bytes: [UInt8], _ others: [UInt8]) -> Bool {
        guard bytes.count == others.count else { return false }
        return zip(bytes, others).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
