extension CallMetrics {
    /// A part of a call: what it was, and from when to when.
    public struct Span: Sendable, Hashable, Identifiable {
        /// Its place in ``CallMetrics/spans``.
        public let id: Int
        /// The span that it began in; nil for the call.
        public let parent: Int?
        /// What it was.
        public let kind: Kind
        /// When it began, since the call did.
        public let offset: Duration
        /// How long it took, with all that began in it.
        public let duration: Duration
        /// What its transport knows of its connection; attempts only.
        public let connection: ConnectionMetrics?

        /// What a part of a call was.
        @nonexhaustive
        public enum Kind: Sendable, Hashable {
            /// The call: what none of the others accounts for.
            case call
            /// A modifier, by the name of its type: `retry`, `throttled`.
            case modifier(String)
            /// A wait.
            case wait(NetworkEvent.Wait)
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
        /// What it was spent on. Attempts count together with ``Span/Kind/firstByte`` and the like.
        public let kind: Span.Kind
        /// How long, all times that it was begun taken together.
        public let duration: Duration
        /// How often it was begun.
        public let count: Int
    }

    /// All parts of the call in the order of their beginning, the call itself first.
    public var spans: [Span] {
        var attempts = 0
        return log.spans.indices.map { index in
            let span = log.spans[index]
            if span.kind == .attempt { attempts += 1 }
            return Span(
                id: index,
                parent: index == 0 ? nil : Int(span.parent),
                kind: span.kind.named(attempt: attempts),
                offset: span.start - start,
                duration: (span.end ?? span.start) - span.start,
                connection: log.connections[CallLog.Frame(index)]
            )
        }
    }

    /// What the elapsed time was spent on, each moment counted once: the shares add up to ``duration``.
    ///
    /// A moment belongs to the part that began last of those under way: a modifier's share is what it took itself, without what it
    /// waited for upstream. They are in the order in which they were first begun; attempts have theirs together.
    public var breakdown: [Share] {
        let own = ownDurations
        var order: [Span.Kind] = []
        var shares: [Span.Kind: (Duration, Int)] = [:]
        for (index, span) in log.spans.enumerated() {
            let kind = span.kind.named(attempt: 1)
            if shares[kind] == nil { order.append(kind) }
            let (duration, count) = shares[kind] ?? (.zero, 0)
            shares[kind] = (duration + own[index], count + 1)
        }
        return order.map { kind in
            let (duration, count) = shares[kind] ?? (.zero, 0)
            return Share(kind: kind, duration: duration, count: count)
        }
    }

    /// What each span took itself.
    var ownDurations: [Duration] {
        let end = log.spans[0].end ?? start
        // At one moment, what ends does so before what begins.
        let changes = log.spans.indices
            .flatMap { index -> [Change] in
                let span = log.spans[index]
                return [
                    Change(moment: span.start, isBeginning: true, span: index),
                    Change(moment: min(span.end ?? end, end), isBeginning: false, span: index),
                ]
            }
            .sorted()
        var own = [Duration](repeating: .zero, count: log.spans.count)
        var underWay: [Int] = []
        var last = start
        for change in changes {
            if let latest = underWay.max() { own[latest] += change.moment - last }
            last = change.moment
            if change.isBeginning {
                underWay.append(change.span)
            } else {
                underWay.removeAll { $0 == change.span }
            }
        }
        return own
    }

    private struct Change: Comparable {
        let moment: Duration
        let isBeginning: Bool
        let span: Int

        static func < (lhs: Change, rhs: Change) -> Bool {
            guard lhs.moment == rhs.moment else { return lhs.moment < rhs.moment }
            // One that ends when it begins ends after that.
            return lhs.span == rhs.span ? lhs.isBeginning && !rhs.isBeginning : !lhs.isBeginning && rhs.isBeginning
        }
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

extension CallLog.Kind {
    fileprivate func named(attempt: Int) -> CallMetrics.Span.Kind {
        switch self {
        case .call: .call
        case .modifier(let type): .modifier(Self.name(of: type))
        case .wait(let wait): .wait(wait)
        case .attempt: .attempt(attempt)
        case .readingBody: .readingBody
        case .connecting: .connecting
        case .firstByte: .firstByte
        case .body: .body
        }
    }

    /// The name of a modifier's call: that of its type, in lower case and without what it is generic over.
    private static func name(of type: Any.Type) -> String {
        var name = "\(type)"[...]
        if name.hasPrefix("Optional<") { name = name.dropFirst("Optional<".count) }
        name = name.prefix { $0 != "<" && $0 != ">" }
        return name.prefix(1).lowercased() + name.dropFirst()
    }
}
