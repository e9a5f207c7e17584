/// Whether the stack's `server` modifiers apply to a request.
public enum ServerMutations: Sendable, Hashable {
    /// They do.
    case enabled
    /// The request is sent exactly as it was specified.
    case disabled
}
