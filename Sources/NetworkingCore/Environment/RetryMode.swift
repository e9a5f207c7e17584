/// Whether the retries of a stack happen, for tests and tools.
///
/// ```swift
/// let network = client.environment(\.retries, .withoutWaiting)
/// ```
public enum RetryMode: Sendable, Hashable {
    /// As the policies say.
    case enabled
    /// As the policies say, but at once.
    case withoutWaiting
    /// Not at all.
    case off
}

extension NetworkEnvironment {
    /// Whether the retries upstream happen.
    public var retries: RetryMode {
        get { self[RetryModeKey.self] }
        set { self[RetryModeKey.self] = newValue }
    }

    private enum RetryModeKey: NetworkEnvironmentKey {
        static let defaultValue = RetryMode.enabled
    }
}
