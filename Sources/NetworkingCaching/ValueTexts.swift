import NetworkingCore
import Synchronization

/// The texts of environment values and options in the digests of a cache.
///
/// Values with a stable text have the same entries in each process. All other values get a random text, so that their
/// entries are used only by this cache.
final class ValueTexts: Sendable {
    private struct State {
        var texts: [ValueIdentities: String] = [:]
        var changes: UInt64 = 0
    }

    private let state = Mutex(State())
    /// The maximum number of texts; it limits the memory of an app that sets ever new values.
    private static let maximumCount = 1_000

    /// Returns the text of some values.
    func text(of identities: ValueIdentities) -> String {
        if let text = identities.stableText { return "=\(text)" }
        let random = "\(NetworkEnvironment.current.secureRandom.bytes(16))"
        // The dictionary is read and changed outside of the lock, because it compares values of the app.
        while true {
            let state = self.state.withLock { $0 }
            if let text = state.texts[identities] { return text }
            var texts = state.texts.count < Self.maximumCount ? state.texts : [:]
            texts[identities] = random
            // If another call has changed it meanwhile, it is read again.
            self.state.withLock { [texts] current in
                guard current.changes == state.changes else { return }
                current = State(texts: texts, changes: state.changes + 1)
            }
        }
    }
}
