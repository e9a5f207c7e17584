import Synchronization

/// The limiters that stacks contain inside of a limiter, by which opposite orders are found.
///
/// A request that holds the permit of an outer limiter waits for that of an inner one. If another stack nests the two
/// the other way round, both requests can wait for each other.
final class LimiterOrder: Sendable {
    /// The maximum number of limiters to remember; the oldest are forgotten first.
    private static let limit = 1_000

    // Weak, because an app may create stacks with short-lived limiters around or inside of a shared one.
    private struct Inner {
        weak var order: LimiterOrder?
    }

    private let inner = Mutex<[Inner]>([])

    /// Records that a stack contains a limiter inside of this one.
    func note(_ other: LimiterOrder) {
        guard other !== self else { return }
        inner.withLock { inner in
            inner.removeAll { $0.order == nil || $0.order === other }
            inner.append(Inner(order: other))
            inner.removeFirst(max(0, inner.count - Self.limit))
        }
    }

    /// Returns whether a stack contains a limiter inside of this one, directly or inside of a limiter in it.
    func contains(_ other: LimiterOrder) -> Bool {
        var seen: Set<ObjectIdentifier> = []
        var rest = [self]
        while let next = rest.popLast() {
            let inner = next.inner.withLock { $0.compactMap(\.order) }
            if inner.contains(where: { $0 === other }) { return true }
            rest += inner.filter { seen.insert(ObjectIdentifier($0)).inserted }
        }
        return false
    }
}
