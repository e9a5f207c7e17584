/// Whether the stack's `server` modifiers apply to a request.
public enum ServerMutations: Sendable, Hashable {
    /// The modifiers apply.
    case enabled
    /// The request is sent exactly as specified.
    case disabled
}
