/// What was recorded of a call, as it was recorded; ``CallMetrics`` is how it is read.
struct CallLog: Sendable {
    typealias Frame = CallRecorder.Frame

    /// Types rather than names: making text of them takes longer than many a call.
    enum Kind: Sendable, Equatable {
        case call
        case modifier(any Any.Type)
        case wait(NetworkEvent.Wait)
        case attempt
        case readingBody
        case connecting
        case firstByte
        case body

        static func == (lhs: Kind, rhs: Kind) -> Bool {
            switch (lhs, rhs) {
            case (.modifier(let left), .modifier(let right)): left == right
            case (.wait(let left), .wait(let right)): left == right
            case (.call, .call), (.attempt, .attempt), (.readingBody, .readingBody), (.connecting, .connecting),
                (.firstByte, .firstByte), (.body, .body):
                true
            default: false
            }
        }

        var isPhase: Bool {
            switch self {
            case .readingBody, .connecting, .firstByte, .body: true
            case .call, .modifier, .wait, .attempt: false
            }
        }
    }

    struct Span: Sendable {
        var kind: Kind
        let parent: Frame
        let start: Duration
        /// Nil while it goes on.
        var end: Duration?
    }

    struct Mark: Sendable {
        let mark: CallMetrics.Mark
        let frame: Frame
        let moment: Duration
    }

    struct Traffic: Sendable {
        let frame: Frame
        let sent: Int64
        let received: Int64
    }

    /// In the order of their beginning; the first is the call.
    var spans: [Span]
    var marks: [Mark] = []
    var traffic: [Traffic] = []
    var connections: [Frame: ConnectionMetrics] = [:]

    init(now: Duration) {
        spans = [Span(kind: .call, parent: 0, start: now)]
    }

    /// Whether a span began in another, or is that one.
    func isIn(_ frame: Frame, _ ancestor: Frame) -> Bool {
        var frame = frame
        // Parents have lower numbers than what began in them.
        while frame > ancestor {
            frame = spans[Int(frame)].parent
        }
        return frame == ancestor
    }

    /// A span and all that began in it, as a call.
    func part(_ root: Frame) -> CallLog {
        var part = self
        var numbers: [Frame: Frame] = [:]
        part.spans = []
        for frame in spans.indices.map({ Frame($0) }) where isIn(frame, root) {
            numbers[frame] = Frame(part.spans.count)
            let span = spans[Int(frame)]
            part.spans.append(
                Span(
                    kind: frame == root ? .call : span.kind,
                    parent: numbers[span.parent] ?? 0,
                    start: span.start,
                    end: span.end
                )
            )
        }
        part.marks = marks.compactMap { mark in
            numbers[mark.frame].map { Mark(mark: mark.mark, frame: $0, moment: mark.moment) }
        }
        part.traffic = traffic.compactMap { traffic in
            numbers[traffic.frame].map { Traffic(frame: $0, sent: traffic.sent, received: traffic.received) }
        }
        part.connections = connections.reduce(into: [:]) { result, connection in
            if let number = numbers[connection.key] { result[number] = connection.value }
        }
        return part
    }
}
