import Synchronization

/// What happened, in order, whoever tells.
final class Journal: Sendable {
    private let state = Mutex<[String]>([])

    var entries: [String] {
        state.withLock { $0 }
    }

    func note(_ entry: String) {
        state.withLock { $0.append(entry) }
    }
}
