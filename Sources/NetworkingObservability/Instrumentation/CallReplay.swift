import NetworkingCore

/// Converts a log into spans, each time that a call's metrics are read.
struct CallReplay {
    private(set) var spans: [CallMetrics.Span] = []
    private(set) var marks: [CallMetrics.MarkedMoment] = []

    private let start: Int64
    private var open: [Int] = []
    private var attempts = 0

    init(_ log: CallLog) {
        start = log.start
        begin(.call, at: log.start)
        play(log)
        while !open.isEmpty {
            end(open[open.count - 1], at: log.end)
        }
    }

    private mutating func play(_ log: CallLog) {
        // The span that each `enter` entry began, for its `leave` entry.
        var begun: [Int: Int] = [:]
        let root = open.count
        for (number, entry) in log.entries.enumerated() {
            play(entry, number, root, &begun)
        }
        if log.dropped > 0, let last = log.entries.last {
            bridgeGap(of: log, at: last.moment, root, begun)
        }
        for (index, entry) in log.lastEntries.enumerated() {
            play(entry, log.entries.count + log.dropped + index, root, &begun)
        }
    }

    /// Ends the spans that ended in dropped entries: all open spans, except modifiers that end later in the log.
    private mutating func bridgeGap(of log: CallLog, at moment: Int64, _ root: Int, _ begun: [Int: Int]) {
        var continued: Set<Int> = []
        for entry in log.lastEntries {
            if case .leave(let number) = entry.change, let span = begun[Int(number)] { continued.insert(span) }
        }
        for span in open[root...].reversed() where !continued.contains(span) {
            end(span, at: moment)
        }
        attempts += log.droppedAttempts
    }

    private mutating func play(_ entry: CallLog.Entry, _ number: Int, _ root: Int, _ begun: inout [Int: Int]) {
        let now = entry.moment
        switch entry.change {
        case .enter(let type): begun[number] = begin(.modifier(Self.name(of: type)), at: now)
        case .leave(let number):
            if let span = begun[Int(number)] { leave(span, at: now) }
        case .waiting(let wait): begin(.wait(wait), at: now)
        case .waited(let wait): endLast(at: now) { $0 == .wait(wait) }
        case .attemptStarted:
            attempts += 1
            begin(.attempt(attempts), at: now)
            begin(.firstByte, at: now)
        case .phase(let phase): enter(phase.kind, at: now)
        case .connection(let connection):
            if let attempt = last(where: \.isAttempt) { spans[attempt].connection = connection.metrics }
        case .attemptEnded, .attemptFailed: endLast(at: now, where: \.isAttempt)
        case .mark(let mark): marks.append(CallMetrics.MarkedMoment(mark: mark, offset: .nanoseconds(now - start)))
        case .branch(let branch):
            // A branch starts at its first entry, within the spans that are open here, and ends here.
            play(branch.log)
            while open.count > root, let last = open.last, !begun.values.contains(last) {
                end(last, at: now)
            }
        }
    }

    @discardableResult
    private mutating func begin(_ kind: CallMetrics.Span.Kind, at moment: Int64) -> Int {
        let offset = Duration.nanoseconds(moment - start)
        spans.append(CallMetrics.Span(id: spans.count, parent: open.last, kind: kind, offset: offset))
        open.append(spans.count - 1)
        return spans.count - 1
    }

    private mutating func end(_ span: Int, at moment: Int64) {
        open.removeAll { $0 == span }
        spans[span].duration = .nanoseconds(moment - start) - spans[span].offset
    }

    /// Ends a modifier's span, and the waits and exchanges in it that were abandoned.
    ///
    /// Modifiers upstream record their own end, even if several were active at the same time.
    private mutating func leave(_ span: Int, at moment: Int64) {
        for other in open.reversed() where other > span && isIn(other, span) && !spans[other].kind.isModifier {
            end(other, at: moment)
        }
        end(span, at: moment)
    }

    private func isIn(_ span: Int, _ ancestor: Int) -> Bool {
        var current = spans[span].parent
        while let parent = current, parent > ancestor {
            current = spans[parent].parent
        }
        return current == ancestor
    }

    /// Records that an exchange enters another phase.
    private mutating func enter(_ phase: CallMetrics.Span.Kind, at moment: Int64) {
        guard let attempt = last(where: \.isAttempt) else { return }
        guard let current = open.last(where: { spans[$0].parent == attempt && spans[$0].kind.isPhase }) else {
            begin(phase, at: moment)
            return
        }
        // The time before the first reported phase belongs to that phase.
        if current == attempt + 1, spans[current].kind == .firstByte, phase != .body {
            spans[current].kind = phase
        } else if spans[current].kind != phase {
            end(current, at: moment)
            begin(phase, at: moment)
        }
    }

    private mutating func endLast(at moment: Int64, where isWanted: (CallMetrics.Span.Kind) -> Bool) {
        guard let span = last(where: isWanted) else { return }
        for other in open.reversed() where other > span && isIn(other, span) {
            end(other, at: moment)
        }
        end(span, at: moment)
    }

    private func last(where isWanted: (CallMetrics.Span.Kind) -> Bool) -> Int? {
        open.last { isWanted(spans[$0].kind) }
    }

    /// Returns the display name of a modifier: the name of its type, in lower case and without generic parameters.
    private static func name(of type: Any.Type) -> String {
        var name = "\(type)"[...]
        if name.hasPrefix("Optional<") { name = name.dropFirst("Optional<".count) }
        name = name.prefix { $0 != "<" && $0 != ">" }
        return name.prefix(1).lowercased() + name.dropFirst()
    }
}

extension CallLog.Phase {
    fileprivate var kind: CallMetrics.Span.Kind {
        switch self {
        case .readingBody: .readingBody
        case .connecting: .connecting
        case .firstByte: .firstByte
        case .body: .body
        }
    }
}

extension CallMetrics.Span.Kind {
    var isAttempt: Bool {
        if case .attempt = self { true } else { false }
    }

    var isModifier: Bool {
        if case .modifier = self { true } else { false }
    }

    var isPhase: Bool {
        switch self {
        case .readingBody, .connecting, .firstByte, .body: true
        case .call, .modifier, .wait, .attempt: false
        }
    }
}
