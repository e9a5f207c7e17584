import Synchronization

/// Lines from several threads.
final class LockedLines: Sendable {
    private let lines = Mutex<[String]>([])

    var text: String { lines.withLock { $0.joined(separator: "\n") } }

    func add(_ line: String) {
        lines.withLock { $0.append(line) }
    }
}
