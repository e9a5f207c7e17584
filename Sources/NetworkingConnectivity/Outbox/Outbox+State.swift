import NetworkingCore

extension Outbox {
    /// The mutable state of an outbox.
    struct State {
        var lastID: UInt64 = 0
        var hasReadIDs = false
        var isDelivering = false
        /// The number of deliveries in a row that found another outbox sending.
        var refusals = 0
        /// The number of deliveries so far, and the last one that has passed all entries.
        var started: UInt64 = 0
        var finished: UInt64 = 0
        /// The calls of `flush()` that wait for the end of a delivery.
        var flushes: [ObjectIdentifier: Suspension<Void>] = [:]
        /// The entries that are being removed from the store, once for each call that does so.
        var cancelling: [OutboxEntry.ID] = []
        /// The entries that the app has cancelled since the current delivery started.
        var cancelled: Set<OutboxEntry.ID> = []
        var sending: (id: OutboxEntry.ID, task: OwnedTask<HTTPResponseData>)?
        /// The number of calls of `wake()` so far.
        var wakes: UInt64 = 0
        var waiters: [ObjectIdentifier: Suspension<Void>] = [:]

        func isCancelled(_ id: OutboxEntry.ID) -> Bool {
            cancelling.contains(id) || cancelled.contains(id)
        }

        /// Ends a call that cancels an entry, and returns the task that sends the entry.
        mutating func endCancelling(_ id: OutboxEntry.ID, isRemoved: Bool) -> OwnedTask<HTTPResponseData>? {
            if let index = cancelling.firstIndex(of: id) {
                cancelling.remove(at: index)
            }
            guard isRemoved else { return nil }
            if isDelivering {
                cancelled.insert(id)
            }
            return sending?.id == id ? sending?.task : nil
        }
    }
}
