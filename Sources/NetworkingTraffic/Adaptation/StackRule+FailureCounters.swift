import NetworkingCore

extension StackRule {
    /// The rules about the place of a modifier that counts the failures of a server and refuses requests to it.
    ///
    /// - Parameter isTwice: Returns whether the same counts are also in a modifier further out.
    /// - Returns: The rules.
    static func ofFailureCounter(isTwice: @escaping @Sendable (StackPlace) -> Bool) -> [StackRule] {
        [
            .not(
                "is inside a modifier with the same counts, so requests pass it uncounted. Keep one of the two.",
                when: isTwice
            ),
            .notOutside(
                .retry,
                "is outside retry, so it does not see failed attempts, and retries reach a server that fails. Put it "
                    + "inside."
            ),
            .notOutside(
                .caching,
                "is outside cached, so it may refuse requests that the cache could answer. Put it inside."
            ),
            .notOutside(
                .deduplication,
                "is outside deduplicated, so each caller of a shared exchange counts. Put it inside."
            ),
            .not(
                "is inside throttled or rateLimited, so a request waits for a permit before it is refused. Put it "
                    + "outside."
            ) { $0.isInside(.concurrencyLimit) || $0.isInside(.rateLimit) },
            .notInside(
                .timeout,
                "is inside timeout, so an attempt that takes too long is a cancellation, which does not count. Put it "
                    + "outside."
            ),
        ]
    }
}
