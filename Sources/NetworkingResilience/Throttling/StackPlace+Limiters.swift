import NetworkingCore

extension StackPlace {
    /// The rules that `throttled` and `rateLimited` have in common.
    ///
    /// - Parameters:
    ///   - modifier: The modifier.
    ///   - isRepeated: Whether a modifier further out has the same limiter.
    ///   - outsideRetry: The consequence of a place outside `retry`: "so …".
    /// - Returns: A diagnostic for each rule that the place breaks.
    func diagnostics(
        ofLimiter modifier: some NetworkingModifier & CustomStringConvertible,
        isRepeated: Bool,
        outsideRetry: String
    ) -> [StackDiagnostic] {
        var messages: [String] = []
        if isRepeated {
            messages.append(
                "\(modifier) is inside a modifier with the same limiter, so requests pass it without another permit. "
                    + "Keep one of the two, or give each its own limiter."
            )
        }
        if isOutside(.retry) {
            messages.append("\(modifier) is outside retry, \(outsideRetry).")
        }
        if isOutside(.caching) {
            messages.append("\(modifier) is outside cached, so cached responses need a permit too. Put it inside.")
        }
        if isOutside(.deduplication) {
            messages.append(
                "\(modifier) is outside deduplicated, so each caller of a shared exchange needs a permit. Put it inside."
            )
        }
        return messages.map { StackDiagnostic($0, about: modifier) }
    }
}
