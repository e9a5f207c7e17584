import DequeModule
import Networking
import Synchronization

/// The calls that an inspector has, oldest first, and who waits for something new among them.
final class CallShelf: Sendable {
    private let mostCalls: Int
    private let mostBodyBytes: Int
    private let state = Mutex(State())

    init(mostCalls: Int, mostBodyBytes: Int) {
        self.mostCalls = mostCalls
        self.mostBodyBytes = mostBodyBytes
    }

    private struct Slot {
        let capture: CallCapture
        /// When it changed last.
        var revision: Int
        var bodyBytes = 0
    }

    private struct State {
        /// With consecutive ids, since calls leave at the front alone.
        var slots: Deque<Slot> = []
        var lastID = 0
        var revision = 0
        /// Another one after each clearing, and in each process.
        var epoch = RandomToken.make()
        var isPaused = false
        var bodyBytes = 0
        var waiters: [Suspension<Void>] = []

        /// The next revision, each of which one slot has at most: pages read on from one.
        mutating func next() -> Int {
            revision += 1
            return revision
        }
    }

    var captures: [CallCapture] {
        state.withLock { $0.slots.map(\.capture) }
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

    func clear() {
        // They go when the lock is open again: whoever made what they hold may do something then.
        let slots = change { state in
            defer {
                state.slots = []
                state.bodyBytes = 0
                state.epoch = RandomToken.make()
                _ = state.next()
            }
            return state.slots
        }
        withExtendedLifetime(slots) {}
    }

    /// Makes room for a call and puts it there; nil while calls pass.
    func add(_ make: (_ id: Int) -> CallCapture) -> CallCapture? {
        let (capture, oldest) = change { state -> (CallCapture?, Slot?) in
            guard !state.isPaused else { return (nil, nil) }
            let oldest = state.slots.count == mostCalls ? state.slots.popFirst() : nil
            state.bodyBytes -= oldest?.bodyBytes ?? 0
            state.lastID += 1
            let capture = make(state.lastID)
            state.slots.append(Slot(capture: capture, revision: state.next()))
            return (capture, oldest)
        }
        withExtendedLifetime(oldest) {}
        return capture
    }

    /// A call has come further, and has so many bytes of bodies.
    func update(_ id: Int, bodyBytes: Int) {
        let emptied = change { state -> [CallCapture] in
            guard let first = state.slots.first?.capture.id, id >= first, id - first < state.slots.count else {
                // It made room, or everything was forgotten.
                return []
            }
            let index = id - first
            state.slots[index].revision = state.next()
            state.bodyBytes += bodyBytes - state.slots[index].bodyBytes
            state.slots[index].bodyBytes = bodyBytes
            return takeBodies(from: &state)
        }
        for capture in emptied {
            capture.dropBodies()
        }
    }

    /// The oldest calls whose bodies are too many; they count as gone.
    private func takeBodies(from state: inout State) -> [CallCapture] {
        var emptied: [CallCapture] = []
        var index = 0
        while state.bodyBytes > mostBodyBytes, index < state.slots.count {
            if state.slots[index].bodyBytes > 0 {
                state.bodyBytes -= state.slots[index].bodyBytes
                state.slots[index].bodyBytes = 0
                state.slots[index].revision = state.next()
                emptied.append(state.slots[index].capture)
            }
            index += 1
        }
        return emptied
    }

    /// Changes what there is, and wakes who waits for that, outside of the lock.
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

// MARK: - What a page asks for

extension CallShelf {
    /// What has changed since a page asked last.
    struct Changes {
        let epoch: String
        let revision: Int
        /// Whether there is more already.
        let hasMore: Bool
        let isPaused: Bool
        /// The id of the oldest call that is still there; those before it have made room.
        let oldest: Int
        let captures: [CallCapture]
    }

    /// The calls that have changed since a revision, the earliest change first; all of them for a page of another epoch.
    func changes(since revision: Int, of epoch: String, upTo limit: Int) -> Changes {
        state.withLock { state in
            let known = epoch == state.epoch ? revision : 0
            let changed = state.slots.filter { $0.revision > known }.sorted { $0.revision < $1.revision }
            let taken = changed.prefix(limit)
            let hasMore = taken.count < changed.count
            return Changes(
                epoch: state.epoch,
                revision: hasMore ? taken.last?.revision ?? known : state.revision,
                hasMore: hasMore,
                isPaused: state.isPaused,
                oldest: state.slots.first?.capture.id ?? state.lastID + 1,
                captures: taken.map(\.capture)
            )
        }
    }

    /// Waits until something is new to a page, or until a moment.
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
        let alarm = clock.alarm(at: deadline) { waiter.resume() }
        defer {
            alarm.cancel()
            state.withLock { $0.waiters.removeAll { $0 === waiter } }
        }
        try await waiter.value()
    }
}
