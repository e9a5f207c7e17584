import NetworkingCore

extension StackPlace {
    /// The rules about the place of a modifier that counts the failures of a server and refuses requests to it.
    ///
    /// - Parameters:
    ///   - modifier: The modifier.
    ///   - isTwice: Whether the same counts are also in a modifier further out.
    /// - Returns: A diagnostic for each rule that the place breaks.
    func diagnostics(
        ofFailureCounter modifier: some NetworkingModifier & CustomStringConvertible,
        isTwice: Bool
    ) -> [StackDiagnostic] {
        let rules: [(isBroken: Bool, message: String)] = [
            (isTwice, "is inside a modifier with the same counts, so requests pass it uncounted. Keep one of the two."),
            (
                isOutside(.retry),
                "is outside retry, so it does not see failed attempts, and retries reach a server that fails. Put it "
                    + "inside."
            ),
            (
                isOutside(.caching),
                "is outside cached, so it may refuse requests that the cache could answer. Put it inside."
            ),
            (
                isOutside(.deduplication),
                "is outside deduplicated, so each caller of a shared exchange counts. Put it inside."
            ),
            (
                isInside(.concurrencyLimit) || isInside(.rateLimit),
                "is inside throttled or rateLimited, so a request waits for a permit before it is refused. Put it "
                    + "outside."
            ),
            (
                isInside(.timeout),
                "is inside timeout, so an attempt that takes too long is a cancellation, which does not count. Put it "
                    + "outside."
            ),
        ]
        return rules.filter(\.isBroken).map { StackDiagnostic("\(modifier) \($0.message)", about: modifier) }
    }
}
