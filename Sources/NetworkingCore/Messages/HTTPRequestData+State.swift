extension HTTPRequestData {
    /// What is known about the message of a request.
    @usableFromInline
    struct State: OptionSet, Sendable {
        @usableFromInline let rawValue: UInt8

        @usableFromInline
        init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// The request is valid and has not been changed since it was checked.
        @usableFromInline static let isChecked = State(rawValue: 1)
        /// An interpolated value made a segment of the path empty or a dot segment.
        ///
        /// It stays when the path is changed, because a prefix does not make the value valid.
        static let hasInvalidSegment = State(rawValue: 2)
        /// The path was set to a URL.
        static let hasSchemeInPath = State(rawValue: 4)
    }

    /// How far a chain has rewritten the request, and whether it goes to the server of the chain.
    @usableFromInline
    struct Destination: Sendable {
        enum Stage: Sendable, Equatable {
            /// No chain has rewritten the request.
            case open
            /// A chain is rewriting the request.
            ///
            /// If it is relative, its caller left the authority open, so it belongs to the stack's server.
            case resolving(isRelative: Bool)
            /// A chain has rewritten the request.
            ///
            /// This happens once, even if the request is sent again.
            case resolved
        }

        enum Kind: Sendable {
            /// The stack names no server.
            case unnamed
            /// The request goes to another server than those that the stack names.
            case other
            /// The request goes to a server that the stack names.
            case named
        }

        var stage = Stage.open
        var server = Kind.unnamed

        /// Records that the request may go to another server now.
        mutating func leaveServer() {
            if server == .named { server = .other }
        }
    }

    /// The places of a request in relation to a stack.
    @usableFromInline
    enum Place: Sendable {
        case outside
        /// The outermost part has taken charge of the request; the parts upstream only pass it on.
        case underway
        /// The request has left its way at the side, for example to a listener, and may have parts of that way.
        case beside
    }

    /// Whether the request is on its way through a stack.
    @inlinable var isUnderway: Bool {
        place == .underway
    }

    /// Whether the request is on its way through a stack, is not measured and has no time limit.
    @inlinable var isMerelyUnderway: Bool {
        guard let passage else { return place == .underway }
        return place == .underway && passage.value.recorder == nil && passage.value.limit == nil
    }

    /// Whether a chain is rewriting the request.
    var isResolving: Bool {
        if case .resolving = destination.stage { true } else { false }
    }

    /// Whether a chain has rewritten the request, which is now sent again.
    var isResolved: Bool {
        destination.stage == .resolved
    }

    /// Whether the request belongs to the stack's server, because its caller left the authority open.
    ///
    /// A request with its own authority is sent there, and the stack only adds header fields.
    var isRelative: Bool {
        if case .resolving(let isRelative) = destination.stage { isRelative } else { authority == nil }
    }

    /// Whether the authority is one that the stack names.
    var isForServer: Bool {
        destination.server == .named
    }

    /// Whether the request is still for the stack's server, because its authority is the name of a server with members
    /// or that of a member.
    var isAtMember: Bool {
        guard isForServer, let authority, let credentialServers else { return false }
        return credentialServers.value.hasMember(authority, isPlain: scheme == "http")
    }

    /// Whether the stack names a server.
    var hasServer: Bool {
        destination.server != .unnamed
    }
}
