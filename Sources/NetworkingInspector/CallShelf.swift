import NetworkingCore
import Synchronization

/// The recorded calls of an inspector, oldest first, and the tasks that wait for changes.
final class CallShelf: Sendable {
    private let maximumCalls: Int
    private let maximumBytes: Int
    private let state = Mutex(State())

    init(maximumCalls: Int, maximumBytes: Int) {
        self.maximumCalls = maximumCalls
        self.maximumBytes = maximumBytes
    }

    private struct Record {
        let capture: CallCapture
        /// The revision of the last change.
        var revision: Int
        var size: CaptureSize
    }

    private struct State {
        /// The IDs are consecutive, because calls are removed only at the front.
        var records: Queue<Record> = []
        var lastID = 0
        var revision = 0
        /// A random value that changes with each clearing and differs between processes.
        var epoch = RandomToken.make()
        var isPaused = false
        /// The total size of all records.
        var size = CaptureSize()
        var waiters: [Suspension<Void>] = []

        /// Returns the next revision, which at most one record has, so that a page can continue from any revision.
        mutating func next() -> Int {
            revision += 1
            return revision
        }

        /// Changes the size of a record's call.
        mutating func set(_ size: CaptureSize, at index: Int) {
            count(records[index].size, times: -1)
            records[index].size = size
            count(size, times: 1)
        }

        /// Removes the oldest call.
        mutating func popFirst() -> CallCapture? {
            guard let record = records.popFirst() else { return nil }
            count(record.size, times: -1)
            return record.capture
        }

        mutating func count(_ size: CaptureSize, times factor: Int) {
            self.size.bodies += factor * size.bodies
            self.size.rest += factor * size.rest
        }
    }

    var captures: [CallCapture] {
        state.withLock { $0.records.map(\.capture) }
    }

    var isPaused: Bool {
        state.withLock { $0.isPaused }
    }

    func setPaused(_ isPaused: Bool) {
        change { state in
            guard state.isPaused != isPaused else { return }
            state.isPaused = isPaused
            _ = state.next()
        }
    }

    /// The approximate number of bytes of memory that all calls take together.
    var size: CaptureSize {
        state.withLock { $0.size }
    }

    func clear() {
        // Released after unlocking, because releasing the calls may run code of other components.
        let records = change { state in
            defer {
                state.records = []
                state.size = CaptureSize()
                state.epoch = RandomToken.make()
                _ = state.next()
            }
            return state.records
        }
        for record in records {
            record.capture.forget()
        }
    }

    /// Adds a call, and removes others if necessary; `nil` while recording is paused.
    func add(_ make: (_ id: Int) -> CallCapture) -> CallCapture? {
        let (capture, excess) = change { state -> (CallCapture?, Excess) in
            guard !state.isPaused else { return (nil, Excess()) }
            let oldest = state.records.count == maximumCalls ? state.popFirst() : nil
            state.lastID += 1
            let capture = make(state.lastID)
            let size = capture.size
            state.records.append(Record(capture: capture, revision: state.next(), size: size))
            state.count(size, times: 1)
            var excess = takeExcess(from: &state)
            excess.removed += oldest.map { [$0] } ?? []
            return (capture, excess)
        }
        excess.drop()
        return capture
    }

    /// Records progress of a call, and its new size.
    func update(_ id: Int, size: CaptureSize) {
        let excess = change { state -> Excess in
            guard let first = state.records.first?.capture.id, id >= first, id - first < state.records.count else {
                // The call has been removed.
                return Excess()
            }
            state.records[id - first].revision = state.next()
            state.set(size, at: id - first)
            return takeExcess(from: &state)
        }
        excess.drop()
    }

    /// The calls and bodies that exceed the limits.
    ///
    /// They no longer count, and are released after unlocking.
    private struct Excess {
        var emptied: [CallCapture] = []
        var removed: [CallCapture] = []

        func drop() {
            for capture in emptied {
                capture.dropBodies()
            }
            for capture in removed {
                capture.forget()
            }
        }
    }

    /// Takes the oldest calls out while everything except bodies exceeds half of the limit, so that space for bodies
    /// remains, and then the oldest bodies while the total exceeds the limit.
    private func takeExcess(from state: inout State) -> Excess {
        var excess = Excess()
        while state.size.rest > maximumBytes / 2, let oldest = state.popFirst() {
            excess.removed.append(oldest)
        }
        var index = 0
        while state.size.bodies + state.size.rest > maximumBytes, index < state.records.count {
            let size = state.records[index].size
            if size.bodies > 0 {
                state.set(CaptureSize(bodies: 0, rest: size.rest), at: index)
                state.records[index].revision = state.next()
                excess.emptied.append(state.records[index].capture)
            }
            index += 1
        }
        return excess
    }

    /// Changes the state, and resumes waiting tasks after unlocking.
    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, waiters) = state.withLock { state in
            let before = state.revision
            let result = body(&state)
            guard state.revision != before else { return (result, [Suspension<Void>]()) }
            defer { state.waiters = [] }
            return (result, state.waiters)
        }
        for waiter in waiters {
            waiter.resume()
        }
        return result
    }
}

// MARK: - Changes for a page

extension CallShelf {
    /// The changes since the last request of a page.
    struct Changes {
        let epoch: String
        let revision: Int
        /// Whether more changes are available already.
        let hasMore: Bool
        let isPaused: Bool
        /// The ID of the oldest remaining call; earlier ones have been removed.
        let oldest: Int
        let captures: [CallCapture]
    }

    /// Returns the calls that have changed since a revision, the earliest change first; all calls for a page of another
    /// epoch.
    func changes(since revision: Int, of epoch: String, upTo limit: Int) -> Changes {
        state.withLock { state in
            let known = epoch == state.epoch ? revision : 0
            let changed = state.records.filter { $0.revision > known }.sorted { $0.revision < $1.revision }
            let taken = changed.prefix(limit)
            let hasMore = taken.count < changed.count
            return Changes(
                epoch: state.epoch,
                revision: hasMore ? taken.last?.revision ?? known : state.revision,
                hasMore: hasMore,
                isPaused: state.isPaused,
                oldest: state.records.first?.capture.id ?? state.lastID + 1,
                captures: taken.map(\.capture)
            )
        }
    }

    /// Waits until there are changes for a page, or until a deadline.
    func waitForChange(
        since revision: Int,
        of epoch: String,
        until deadline: Duration,
        on clock: NetworkClock
    ) async throws {
        let waiter = Suspension<Void>()
        let isNew = state.withLock { state in
            guard state.epoch == epoch, state.revision == revision else { return true }
            state.waiters.append(waiter)
            return false
        }
        if isNew { return }
        defer { state.withLock { $0.waiters.removeAll { $0 === waiter } } }
        try await waiter.value(until: nil, or: WaitDeadline(deadline, on: clock, with: .success(())))
    }
}
