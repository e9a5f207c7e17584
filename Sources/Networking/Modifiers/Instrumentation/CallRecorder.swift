import Synchronization

/// Writes down what happens in one call, as it happens: which part of the stack has the request, what it waits for, and
/// how far its exchanges are.
///
/// It is a tree of spans. Each knows the one that it began in, since a shared exchange may outlive the part that began it:
/// what happens in a span that has ended is somebody else's and is not recorded.
final class CallRecorder: Sendable {
    /// The number of a span in its call.
    typealias Frame = UInt16

    /// What stands for a span that is not recorded.
    fileprivate static let nowhere = Frame.max

    let clock: NetworkClock
    private let state: Mutex<State>

    init(on clock: NetworkClock) {
        self.clock = clock
        state = Mutex(State(now: clock.now))
    }

    /// A part of the stack gets the request.
    func enter(_ part: Any.Type, from parent: Frame) -> Frame {
        // The clock is read under the lock, so that the spans are in its order.
        state.withLock { $0.begin(.modifier(part), in: parent, at: clock.now) }
    }

    /// It has returned or thrown.
    func leave(_ frame: Frame) {
        state.withLock { $0.end(frame, at: clock.now) }
    }

    func record(_ event: NetworkEvent, in frame: Frame) {
        state.withLock { $0.record(event, in: frame, at: clock.now) }
    }

    /// Ends the call, and with it all that is recorded.
    func finish() -> CallLog {
        state.withLock { state in
            state.end(0, at: clock.now)
            return state.log(of: 0)
        }
    }

    /// What was recorded in a span, which need not be the whole call's.
    func log(of frame: Frame) -> CallLog {
        state.withLock { state in
            // One that is not recorded has nothing in it.
            guard frame != Self.nowhere else { return CallLog(now: clock.now) }
            state.end(frame, at: clock.now)
            return state.log(of: frame)
        }
    }

    /// Whether a part of the stack that measures does so within another's call.
    static func isRoot(_ frame: Frame) -> Bool {
        frame == 0
    }

    private struct State {
        /// More than that is an endless call, whose beginning tells enough.
        private static let mostSpans = 4_096
        private static let mostMarks = 1_024

        private var log: CallLog
        /// The spans that have not ended, in the order of their beginning.
        private var open: [Frame] = [0]

        init(now: Duration) {
            log = CallLog(now: now)
            // A stack of nine, its attempt and the phases of that.
            log.spans.reserveCapacity(16)
            open.reserveCapacity(16)
        }

        mutating func begin(_ kind: CallLog.Kind, in parent: Frame, at now: Duration) -> Frame {
            guard isOpen(parent), log.spans.count < Self.mostSpans else { return CallRecorder.nowhere }
            let frame = Frame(log.spans.count)
            log.spans.append(CallLog.Span(kind: kind, parent: parent, start: now))
            open.append(frame)
            return frame
        }

        /// Ends a span and what began in it and goes on.
        mutating func end(_ frame: Frame, at now: Duration) {
            if open.last == frame {
                open.removeLast()
                log.spans[Int(frame)].end = now
                return
            }
            guard isOpen(frame) else { return }
            open.removeAll { other in
                guard log.isIn(other, frame) else { return false }
                log.spans[Int(other)].end = now
                return true
            }
        }

        private func isOpen(_ frame: Frame) -> Bool {
            frame < log.spans.count && log.spans[Int(frame)].end == nil
        }

        func log(of frame: Frame) -> CallLog {
            frame == 0 ? log : log.part(frame)
        }

        mutating func record(_ event: NetworkEvent, in frame: Frame, at now: Duration) {
            guard isOpen(frame) else { return }
            switch event {
            case .waiting(let wait, _): _ = begin(.wait(wait), in: frame, at: now)
            case .waited(let wait, _): endLast(.wait(wait), in: frame, at: now)
            case .attemptStarted: beginAttempt(in: frame, at: now)
            case .readingBody: phase(.readingBody, in: frame, at: now)
            case .bodyRead, .connected: phase(.firstByte, in: frame, at: now)
            case .connecting: phase(.connecting, in: frame, at: now)
            case .headReceived(let head) where head.status.kind != .informational: phase(.body, in: frame, at: now)
            case .attemptEnded(let sent, let received): endAttempt(in: frame, at: now, sent: sent, received: received)
            case .attemptFailed: endAttempt(in: frame, at: now, sent: 0, received: 0)
            case .connectionMeasured(let metrics):
                if let attempt = last(where: { $0 == .attempt }, in: frame) { log.connections[attempt] = metrics }
            default:
                guard let mark = CallMetrics.Mark(event), log.marks.count < Self.mostMarks else { return }
                log.marks.append(CallLog.Mark(mark: mark, frame: frame, moment: now))
            }
        }

        private mutating func beginAttempt(in frame: Frame, at now: Duration) {
            let attempt = begin(.attempt, in: frame, at: now)
            _ = begin(.firstByte, in: attempt, at: now)
        }

        private mutating func endAttempt(in frame: Frame, at now: Duration, sent: Int64, received: Int64) {
            guard let attempt = last(where: { $0 == .attempt }, in: frame) else { return }
            if sent > 0 || received > 0 {
                log.traffic.append(CallLog.Traffic(frame: attempt, sent: sent, received: received))
            }
            end(attempt, at: now)
        }

        /// An exchange comes into another phase.
        private mutating func phase(_ kind: CallLog.Kind, in frame: Frame, at now: Duration) {
            guard let attempt = last(where: { $0 == .attempt }, in: frame) else { return }
            guard let current = last(where: { $0.isPhase }, in: attempt) else {
                _ = begin(kind, in: attempt, at: now)
                return
            }
            // What comes before the first phase that the transport tells of belongs to it.
            if current == attempt + 1, log.spans[Int(current)].kind == .firstByte, kind != .body {
                log.spans[Int(current)].kind = kind
            } else if log.spans[Int(current)].kind != kind {
                end(current, at: now)
                _ = begin(kind, in: attempt, at: now)
            }
        }

        private mutating func endLast(_ kind: CallLog.Kind, in frame: Frame, at now: Duration) {
            if let last = last(where: { $0 == kind }, in: frame) { end(last, at: now) }
        }

        private func last(where isWanted: (CallLog.Kind) -> Bool, in parent: Frame) -> Frame? {
            open.last { frame in
                let span = log.spans[Int(frame)]
                return span.parent == parent && frame != 0 && isWanted(span.kind)
            }
        }
    }
}
