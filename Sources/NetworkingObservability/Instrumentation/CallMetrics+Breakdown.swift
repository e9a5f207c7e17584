public import NetworkingCore

extension CallMetrics {
    /// A part of a call: its kind, its start and its duration.
    public struct Span: Sendable, Hashable, Identifiable {
        /// The index of the span in ``CallMetrics/spans``.
        public let id: Int
        /// The index of the enclosing span; `nil` for the call.
        public let parent: Int?
        /// The kind of the span.
        public internal(set) var kind: Kind
        /// The start of the span, relative to the start of the call.
        public let offset: Duration
        /// The duration of the span, including all spans within it.
        public internal(set) var duration = Duration.zero
        /// The transport's information about the connection, for attempts only.
        public internal(set) var connection: ConnectionMetrics?

        /// The kind of a part of a call.
        @nonexhaustive
        public enum Kind: Sendable, Hashable {
            /// The call itself: the time that no other kind accounts for.
            case call
            /// A modifier, by the name of its type: `retry`, `throttled`.
            case modifier(String)
            /// A wait.
            case wait(Wait)
            /// An exchange of a transport, numbered from 1.
            case attempt(Int)
            /// The transport reads the request body to its end before it connects.
            case readingBody
            /// The transport connects; most transports do not report this and include the time in ``firstByte``.
            case connecting
            /// The transport sends the request and waits for the head of the response.
            case firstByte
            /// The transport receives the body of the response.
            case body
        }
    }

    /// The part of a call's time that was spent on one kind of work alone.
    public struct Share: Sendable, Hashable {
        /// The kind of work; all attempts count together, as ``Span/Kind/attempt(_:)`` of 1.
        public let kind: Span.Kind
        /// The total duration of all spans of this kind.
        public let duration: Duration
        /// The number of spans of this kind.
        public let count: Int
    }

    /// An event of a call with its time.
    public struct MarkedMoment: Sendable, Hashable {
        /// The event.
        public let mark: Mark
        /// The time of the event, relative to the start of the call.
        public let offset: Duration
    }

    /// All parts of the call in the order of their start, beginning with the call itself.
    ///
    /// For a call with hundreds of attempts, only the first and the last are kept. The time between them counts for the
    /// modifiers that were active then, and the numbers of the attempts show the gap.
    ///
    /// If a modifier sends several requests upstream at the same time, their spans are nested in the order of their
    /// start.
    public var spans: [Span] {
        CallReplay(log).spans
    }

    /// The other events of the call, in order.
    public var marks: [MarkedMoment] {
        CallReplay(log).marks
    }

    /// The elapsed time by kind of work, with each moment counted once, so that the shares add up to ``duration``.
    ///
    /// A moment belongs to the most recently started of the active parts. The share of a modifier is therefore its own
    /// time, without the time that it waited for upstream. The shares are in the order of their first start.
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

    /// Returns the time that each span took itself, without the spans within it.
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
            // The active spans are in the order of their start, so the last one is the most recent.
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
    /// The kind, the count and the duration: `wait (backoff) ×2: 20.4 ms`.
    public var description: String {
        let name = kind.isAttempt ? "attempts" : "\(kind)"
        return "\(name)\(count == 1 ? "" : " ×\(count)"): \(duration.milliseconds)"
    }
}

extension CallMetrics.Span.Kind: CustomStringConvertible {
    /// The name of the kind in a waterfall.
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
