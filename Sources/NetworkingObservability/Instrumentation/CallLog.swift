import DequeModule
import NetworkingCore

/// What was recorded of a call, in the order in which it happened; ``CallMetrics`` is how it is read.
///
/// Of a call that never ends, such as one that is retried for ever, the first and the last entries are kept. Entries
/// are numbered from 0, those that were dropped included.
struct CallLog: Sendable {
    /// How many entries are kept of the beginning, and how many of the end: those of hundreds of attempts.
    static let keptEntries = 4_096

    struct Entry: Sendable {
        /// In nanoseconds of the environment's clock.
        let moment: Int64
        let change: Change
    }

    /// What of the events matters for where the time went.
    ///
    /// Types rather than names: making text of them takes longer than many a call.
    enum Change: Sendable {
        case enter(any Any.Type)
        /// With the number of the entry with which it came.
        case leave(Int32)
        // Indirect, since a name would make all entries longer.
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

    /// Boxes, since they are rare and would make all entries longer.
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

    /// A place in a log.
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
    /// The last entries, once there are too many.
    private(set) var lastEntries: Deque<Entry> = []
    /// How many entries there were between them.
    private(set) var dropped = 0
    /// How many of them began an attempt.
    private(set) var droppedAttempts = 0

    init(start: Int64) {
        self.start = start
        end = start
        // A stack of nine and an exchange.
        entries.reserveCapacity(24)
    }

    /// The number of the next entry.
    var count: Int {
        entries.count + dropped + lastEntries.count
    }

    /// Adds an entry.
    ///
    /// - Returns: Its number.
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

    /// About how many bytes of memory the log takes.
    var byteCount: Int {
        func branches(of sum: Int, _ entry: Entry) -> Int {
            guard case .branch(let branch) = entry.change else { return sum }
            return sum + branch.log.byteCount
        }
        let own = (entries.capacity + lastEntries.count) * MemoryLayout<Entry>.stride
        return lastEntries.reduce(entries.reduce(own, branches), branches)
    }

    /// What came after a position, as a call.
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
        part.lastEntries = Deque(lastEntries.dropFirst(max(0, offset - entries.count - dropped)).map(moved))
        return part
    }
}

extension CallLog.Change {
    // One cast for each type of event, the most frequent first: a pattern for each case would be a cast for each case.
    init?(_ event: any NetworkEvent) {
        switch event {
        case let event as ExchangeEvent: self.init(event)
        case let event as WaitEvent: self.init(event)
        case is CallEvent, is CredentialsEvent: return nil
        default:
            guard let mark = CallMetrics.Mark(event) else { return nil }
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
