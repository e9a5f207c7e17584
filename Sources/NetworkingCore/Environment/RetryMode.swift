/// Controls whether a stack retries requests, for tests and tools.
///
/// ```swift
/// let network = URLSession.shared.retry().environment(\.retries, .withoutWaiting)
/// ```
public enum RetryMode: Sendable, Hashable {
    /// Retries as the policies specify.
    case enabled
    /// Retries as the policies specify, but without waiting.
    case withoutWaiting
    /// Never retries.
    case off
}

extension NetworkEnvironment {
    /// Controls whether modifiers upstream retry requests; `.enabled` by default.
    public var retries: RetryMode {
        get { self[RetryModeKey.self] }
        set { self[RetryModeKey.self] = newValue }
    }

    private enum RetryModeKey: NetworkEnvironmentKey {
        static let defaultValue = RetryMode.enabled
        static let affectsResponses = false
    }
}
