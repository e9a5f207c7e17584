/// What was recorded of a call, in the order in which it happened; ``CallMetrics`` is how it is read.
struct CallLog: Sendable {
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
        case waiting(NetworkEvent.Wait)
        case waited(NetworkEvent.Wait)
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
    var entries: [Entry] = []
    var tally = CallTally()

    init(start: Int64) {
        self.start = start
        end = start
        // A stack of nine and an exchange.
        entries.reserveCapacity(24)
    }

    /// About how many bytes of memory the log takes.
    var byteCount: Int {
        entries.reduce(entries.capacity * MemoryLayout<Entry>.stride) { sum, entry in
            guard case .branch(let branch) = entry.change else { return sum }
            return sum + branch.log.byteCount
        }
    }

    /// What came after a position, as a call.
    func part(from position: Position) -> CallLog {
        var part = CallLog(start: position.moment)
        part.end = end
        part.tally = tally - position.tally
        let offset = Int32(position.index)
        for entry in entries[position.index...] {
            if case .leave(let number) = entry.change {
                part.entries.append(Entry(moment: entry.moment, change: .leave(number - offset)))
            } else {
                part.entries.append(entry)
            }
        }
        return part
    }
}

extension CallLog.Change {
    init?(_ event: NetworkEvent) {
        switch event {
        case .waiting(let wait, _): self = .waiting(wait)
        case .waited(let wait, _): self = .waited(wait)
        case .attemptStarted: self = .attemptStarted
        case .attemptEnded(let sent, let received):
            self = .attemptEnded(CallLog.Traffic(sent: sent, received: received))
        case .attemptFailed: self = .attemptFailed
        case .readingBody: self = .phase(.readingBody)
        case .connecting: self = .phase(.connecting)
        case .bodyRead, .connected: self = .phase(.firstByte)
        case .headReceived(let head) where head.status.kind != .informational: self = .phase(.body)
        case .connectionMeasured(let metrics): self = .connection(CallLog.Connection(metrics))
        default:
            guard let mark = CallMetrics.Mark(event) else { return nil }
            self = .mark(mark)
        }
    }
}
