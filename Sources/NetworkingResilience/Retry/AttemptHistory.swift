/// The attempts of a call: all of them if there are few, otherwise the first and the last ones.
struct AttemptHistory {
    private static let (firstKept, allKept) = (10, 100)

    private(set) var attempts: [Attempt] = []
    private var dropped = 0
    /// The attempt that made room for the last one, and its place.
    private var displaced: (attempt: Attempt, index: Int)?

    /// The number of attempts.
    var count: Int {
        attempts.count + dropped
    }

    mutating func append(_ attempt: Attempt) {
        // An attempt between the first and the last ones makes room, unless its status is retried only once: a later
        // decision has to find it.
        let index =
            attempts.count < Self.allKept
            ? nil : attempts.indices.dropFirst(Self.firstKept).first { !attempts[$0].isRetriedOnce }
        displaced = index.map { (attempts.remove(at: $0), $0) }
        dropped += displaced == nil ? 0 : 1
        attempts.append(attempt)
    }

    /// Removes the last attempt, and restores the one that made room for it.
    mutating func removeLast() {
        attempts.removeLast()
        guard let (attempt, index) = displaced else { return }
        attempts.insert(attempt, at: index)
        dropped -= 1
        displaced = nil
    }

    mutating func replaceLast(by attempt: Attempt) {
        attempts[attempts.count - 1] = attempt
    }
}
