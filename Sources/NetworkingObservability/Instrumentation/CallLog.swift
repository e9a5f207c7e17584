import NetworkingCore

/// The recorded entries of a call in chronological order, which ``CallMetrics`` interprets.
///
/// If a call never ends, such as one that is retried forever, the first and the last entries are kept. Entries are
/// numbered from 0, and dropped entries count.
struct CallLog: Sendable {
    /// The maximum number of entries at the start, and of those at the end: enough for hundreds of attempts.
    static let keptEntries = 4_096

    struct Entry: Sendable {
        /// The time in nanoseconds of the environment's clock.
        let moment: Int64
        let change: Change
    }

    /// The events that affect the timing of a call.
    ///
    /// Modifiers are recorded as types and not as names, because formatting a name takes longer than many calls.
    enum Change: Sendable {
        case enter(any Any.Type)
        /// With the number of the matching `enter` entry.
        case leave(Int32)
        // Indirect, because a name in place would enlarge every entry.
        indirect case waiting(Wait)
        indirect case waited(Wait)
        case attemptStarted
        case attemptEnded(Traffic)
        case attemptFailed
        case phase(Phase)
        case connection(Connection)
        case mark(CallMetrics.Mark)
        case branch(Branch)
    }

    enum Phase: Sendable {
        case readingBody
        case connecting
        case firstByte
        case body
    }

    /// A class, because such entries are rare and would enlarge every entry.
    final class Traffic: Sendable {
        let sent: Int64
        let received: Int64

        init(sent: Int64, received: Int64) {
            self.sent = sent
            self.received = received
        }
    }

    final class Connection: Sendable {
        let metrics: ConnectionMetrics

        init(_ metrics: ConnectionMetrics) {
            self.metrics = metrics
        }
    }

    final class Branch: Sendable {
        let log: CallLog

        init(_ log: CallLog) {
            self.log = log
        }
    }

    /// A position in a log.
    struct Position: Sendable {
        let index: Int
        let tally: CallTally
        let moment: Int64
    }

    let start: Int64
    var end: Int64
    var tally = CallTally()

    /// The first entries.
    private(set) var entries: [Entry] = []
    /// The last entries, if there are too many for the first list.
    private(set) var lastEntries: Queue<Entry> = []
    /// The number of dropped entries between the two lists.
    private(set) var dropped = 0
    /// The number of dropped entries that began an attempt.
    private(set) var droppedAttempts = 0

    init(start: Int64) {
        self.start = start
        end = start
        // Enough for a stack of nine components and an exchange.
        entries.reserveCapacity(24)
    }

    /// The number of the next entry.
    var count: Int {
        entries.count + dropped + lastEntries.count
    }

    /// Adds an entry.
    ///
    /// - Returns: The number of the entry.
    @discardableResult
    mutating func add(_ change: Change, at moment: Int64) -> Int32 {
        let number = Int32(clamping: count)
        let entry = Entry(moment: moment, change: change)
        if entries.count < Self.keptEntries {
            entries.append(entry)
            return number
        }
        if lastEntries.count >= Self.keptEntries, let first = lastEntries.popFirst() {
            dropped += 1
            if case .attemptStarted = first.change { droppedAttempts += 1 }
        }
        lastEntries.append(entry)
        return number
    }

    /// The approximate size of the log in memory, in bytes.
    var byteCount: Int {
        func branches(of sum: Int, _ entry: Entry) -> Int {
            guard case .branch(let branch) = entry.change else { return sum }
            return sum + branch.log.byteCount
        }
        let own = (entries.capacity + lastEntries.count) * MemoryLayout<Entry>.stride
        return lastEntries.reduce(entries.reduce(own, branches), branches)
    }

    /// Returns the entries after a position as a separate call.
    func part(from position: Position) -> CallLog {
        var part = CallLog(start: position.moment)
        part.end = end
        part.tally = tally - position.tally
        let offset = position.index
        func moved(_ entry: Entry) -> Entry {
            guard case .leave(let number) = entry.change else { return entry }
            return Entry(moment: entry.moment, change: .leave(number - Int32(clamping: offset)))
        }
        part.entries = entries.dropFirst(offset).map(moved)
        part.dropped = dropped - min(dropped, max(0, offset - entries.count))
        part.droppedAttempts = part.dropped == dropped ? droppedAttempts : min(droppedAttempts, part.dropped)
        part.lastEntries = Queue(lastEntries.dropFirst(max(0, offset - entries.count - dropped)).map(moved))
        return part
    }
}

extension CallLog.Change {
    // One cast for each type of event, the most frequent first; matching each case would need a cast for each case.
    init?(_ event: any NetworkEvent) {
        switch event {
        case let event as ExchangeEvent: self.init(event)
        case let event as WaitEvent: self.init(event)
        default:
            guard let mark = event.record.mark else { return nil }
            self = .mark(mark)
        }
    }

    private init?(_ event: ExchangeEvent) {
        switch event {
        case .started: self = .attemptStarted
        case .ended(let sent, let received): self = .attemptEnded(CallLog.Traffic(sent: sent, received: received))
        case .failed: self = .attemptFailed
        case .readingBody: self = .phase(.readingBody)
        case .connecting: self = .phase(.connecting)
        case .bodyRead, .connected: self = .phase(.firstByte)
        case .headReceived(let head) where head.status.kind != .informational: self = .phase(.body)
        case .connectionMeasured(let metrics): self = .connection(CallLog.Connection(metrics))
        case .headReceived, .responseReceived: return nil
        }
    }

    private init(_ event: WaitEvent) {
        switch event {
        case .waiting(let wait, _): self = .waiting(wait)
        case .waited(let wait, _): self = .waited(wait)
        }
    }
}
