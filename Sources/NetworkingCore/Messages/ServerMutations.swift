/// Whether the stack's `server` modifiers apply to a request.
public enum ServerMutations: Sendable, Hashable {
    /// The modifiers apply.
    case enabled
    /// The modifiers do not change the request.
    case disabled
}
