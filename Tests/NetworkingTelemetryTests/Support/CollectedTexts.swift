#if Telemetry
import Synchronization

/// Texts from any thread, in their order.
final class CollectedTexts: Sendable {
    private let texts = Mutex<[String]>([])

    var all: [String] {
        texts.withLock { $0 }
    }

    func add(_ text: String) {
        texts.withLock { $0.append(text) }
    }
}
#endif
