import Synchronization

/// The number of extra attempts of calls whose attempts have not all ended.
///
/// An attempt that lost is cancelled, and usually ends at once. If attempts ignore the cancellation, no further extra
/// attempts are made at the limit.
final class HedgeLosers: Sendable {
    private static let limit = 10_000

    private let number = Atomic(0)

    /// The number of extra attempts with a place.
    var count: Int {
        number.load(ordering: .relaxed)
    }

    /// Returns a place for an extra attempt; `nil` at the limit.
    func place() -> Place? {
        guard number.add(1, ordering: .relaxed).oldValue < Self.limit else {
            number.subtract(1, ordering: .relaxed)
            return nil
        }
        return Place(self)
    }

    /// A place, which is free again when it is released: each attempt of its call retains it until its end.
    final class Place: Sendable {
        private let losers: HedgeLosers

        fileprivate init(_ losers: HedgeLosers) {
            self.losers = losers
        }

        deinit {
            losers.number.subtract(1, ordering: .relaxed)
        }
    }
}
