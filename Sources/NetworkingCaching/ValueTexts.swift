import NetworkingCore
import Synchronization

/// The texts of environment values and options in the digests of a cache.
///
/// Values with a stable text have the same entries in each process. All other values get a random text, so that their
/// entries are used only by this cache.
struct ValueTexts: ~Copyable, Sendable {
    private let texts = Mutex<[ValueIdentities: String]>([:])
    /// The maximum number of texts; it limits the memory of an app that sets ever new values.
    private static let maximumCount = 1_000

    /// Returns the text of some values.
    func text(of identities: ValueIdentities) -> String {
        if let text = texts.withLock({ $0[identities] }) { return text }
        // Outside of the lock, because a type of the app may compute it.
        let new = identities.stableText.map { "=\($0)" } ?? Self.random
        return texts.withLock { texts in
            if let text = texts[identities] { return text }
            if texts.count >= Self.maximumCount {
                texts.removeAll()
            }
            texts[identities] = new
            return new
        }
    }

    private static var random: String {
        "\(NetworkEnvironment.current.secureRandom.bytes(16))"
    }
}
