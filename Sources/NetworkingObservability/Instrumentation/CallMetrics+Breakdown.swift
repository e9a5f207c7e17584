public import NetworkingCore

extension CallMetrics {
    /// A part of a call: what it was, and from when to when.
    public struct Span: Sendable, Hashable, Identifiable {
        /// Its place in ``CallMetrics/spans``.
        public let id: Int
        /// The span that it began in; nil for the call.
        public let parent: Int?
        /// What it was.
        public internal(set) var kind: Kind
        /// When it began, since the call did.
        public let offset: Duration
        /// How long it took, with all that began in it.
        public internal(set) var duration = Duration.zero
        /// What its transport knows of its connection; attempts only.
        public internal(set) var connection: ConnectionMetrics?

        /// What a part of a call was.
        @nonexhaustive
        public enum Kind: Sendable, Hashable {
            /// The call: what none of the others accounts for.
            case call
            /// A modifier, by the name of its type: `retry`, `throttled`.
            case modifier(String)
            /// A wait.
            case wait(Wait)
            /// An exchange of a transport, counted from 1.
            case attempt(Int)
            /// A transport reads the body to its end before it connects.
            case readingBody
            /// A transport connects. Few tell; for the others that is a part of ``firstByte``.
            case connecting
            /// The request is sent, and the head of its response awaited.
            case firstByte
            /// The body of the response arrives.
            case body
        }
    }

    /// How much of a call was spent on one thing alone.
    public struct Share: Sendable, Hashable {
        /// What it was spent on; attempts are taken together, as ``Span/Kind/attempt(_:)`` of 1.
        public let kind: Span.Kind
        /// How long, all times that it was begun taken together.
        public let duration: Duration
        /// How often it was begun.
        public let count: Int
    }

    /// What happened, and when that was since the call began.
    public struct MarkedMoment: Sendable, Hashable {
        /// What happened.
        public let mark: Mark
        /// When it did, since the call began.
        public let offset: Duration
    }

    /// All parts of the call in the order of their beginning, the call itself first.
    ///
    /// Of a call with hundreds of attempts the first and the last are kept. The time between them belongs to the
    /// modifiers that were under way then, and the numbers of the attempts show the gap.
    ///
    /// What a modifier sends upstream several times at once is nested in the order of its beginning.
    public var spans: [Span] {
        CallReplay(log).spans
    }

    /// What happened besides, in order.
    public var marks: [MarkedMoment] {
        CallReplay(log).marks
    }

    /// What the elapsed time was spent on, each moment counted once: the shares add up to ``duration``.
    ///
    /// A moment belongs to the part that began last of those under way: a modifier's share is what it took itself,
    /// without what it waited for upstream. They are in the order in which they were first begun.
    public var breakdown: [Share] {
        let spans = spans
        let own = Self.ownDurations(of: spans)
        var order: [Span.Kind] = []
        var shares: [Span.Kind: (Duration, Int)] = [:]
        for span in spans {
            var kind = span.kind
            if case .attempt = kind { kind = .attempt(1) }
            if shares[kind] == nil { order.append(kind) }
            let (duration, count) = shares[kind] ?? (.zero, 0)
            shares[kind] = (duration + own[span.id], count + 1)
        }
        return order.map { kind in
            let (duration, count) = shares[kind] ?? (.zero, 0)
            return Share(kind: kind, duration: duration, count: count)
        }
    }

    /// What each span took itself.
    package static func ownDurations(of spans: [Span]) -> [Duration] {
        let changes =
            spans.flatMap { span in
                [
                    Change(moment: span.offset, isBeginning: true, span: span.id),
                    Change(moment: span.offset + span.duration, isBeginning: false, span: span.id),
                ]
            }
            .sorted()
        var own = [Duration](repeating: .zero, count: spans.count)
        var underWay: [Int] = []
        var last = Duration.zero
        for change in changes {
            // In the order of their beginning, so the last began last.
            if let latest = underWay.last { own[latest] += change.moment - last }
            last = change.moment
            if change.isBeginning {
                underWay.append(change.span)
            } else if let index = underWay.lastIndex(of: change.span) {
                underWay.remove(at: index)
            }
        }
        return own
    }

    private struct Change: Comparable {
        let moment: Duration
        let isBeginning: Bool
        let span: Int

        static func < (lhs: Change, rhs: Change) -> Bool {
            if lhs.moment != rhs.moment { return lhs.moment < rhs.moment }
            if lhs.isBeginning != rhs.isBeginning { return lhs.isBeginning }
            return lhs.span < rhs.span
        }
    }
}

extension CallMetrics.Share: CustomStringConvertible {
    /// What, how often and how long: `wait (backoff) ×2: 20.4 ms`.
    public var description: String {
        let name = kind.isAttempt ? "attempts" : "\(kind)"
        return "\(name)\(count == 1 ? "" : " ×\(count)"): \(duration.milliseconds)"
    }
}

extension CallMetrics.Span.Kind: CustomStringConvertible {
    /// What it was, as a waterfall shows it.
    public var description: String {
        switch self {
        case .call: "call"
        case .modifier(let name): name
        case .wait(let wait): "wait (\(wait))"
        case .attempt(let number): "attempt \(number)"
        case .readingBody: "reading body"
        case .connecting: "connecting"
        case .firstByte: "first byte"
        case .body: "body"
        }
    }
}
