extension HTTPRequestData {
    /// The progress of a request through a stack.
    @usableFromInline
    package struct State: OptionSet, Sendable {
        @usableFromInline package let rawValue: UInt16

        @usableFromInline
        package init(rawValue: UInt16) {
            self.rawValue = rawValue
        }

        /// The outermost part of a stack has taken charge of the request; the parts upstream only pass it on.
        @usableFromInline static let isUnderway = State(rawValue: 1)
        /// A chain has rewritten the request.
        ///
        /// This happens once, even if the request is sent again.
        static let isResolved = State(rawValue: 2)
        /// The request is valid and has not been changed since it was checked.
        @usableFromInline static let isChecked = State(rawValue: 4)
        /// A chain is rewriting the request.
        static let isResolving = State(rawValue: 8)
        /// The caller left the authority open, so the request belongs to the stack's server.
        static let isRelative = State(rawValue: 16)
        /// The authority is one that the stack names.
        static let isForServer = State(rawValue: 32)
        /// A modifier follows the redirects, so the transport does not need to.
        package static let hasRedirectsFollowed = State(rawValue: 64)
        /// A modifier ends an exchange that is silent for too long, so the transport does not need to.
        package static let hasSilenceLimited = State(rawValue: 128)
        /// The stack names a server.
        static let hasServer = State(rawValue: 256)
        /// A modifier handles the Authorization field itself.
        package static let isAuthorized = State(rawValue: 512)
        /// The time that each part of a stack takes is measured.
        @usableFromInline package static let isMeasured = State(rawValue: 1_024)
        /// An interpolated value made a segment of the path empty or a dot segment.
        ///
        /// It stays when the path is changed, because a prefix does not make the value valid.
        static let hasInvalidSegment = State(rawValue: 2_048)
        /// A modifier handles the cookies, so the transport does not use its own storage.
        static let hasCookiesHandled = State(rawValue: 4_096)
        /// The request has been on its way through a stack, and may have parts of that way.
        ///
        /// It stays when the request leaves the way at the side, for example to a listener, and is not underway there.
        static let hasEntered = State(rawValue: 8_192)
        /// The path was set to a URL.
        static let hasSchemeInPath = State(rawValue: 32_768)
    }

    /// Whether a modifier of the stack sends and stores the cookies of the request, as `cookies(in:)` does.
    ///
    /// If it is `true`, a transport with its own cookie storage adds no cookie to the request and stores none of
    /// its response.
    public package(set) var areCookiesHandled: Bool {
        get { state.contains(.hasCookiesHandled) }
        set { if newValue { state.insert(.hasCookiesHandled) } else { state.remove(.hasCookiesHandled) } }
    }

    /// Whether a modifier of the stack cancels an exchange that is silent for too long.
    ///
    /// If it is `true`, a transport does not need its own timeout. Otherwise a transport ends an exchange in which no
    /// byte moves in either direction for ``allowedSilence``, with a ``NetworkingError`` of kind
    /// ``NetworkingError/Kind/timeout``. The time in which the request's sink is busy does not count. `timeout(_:)` and
    /// `timeout(head:idle:)` set it for the transport below them.
    public var isSilenceLimited: Bool {
        state.contains(.hasSilenceLimited)
    }

    /// Whether the authority is one that the stack names.
    var isForServer: Bool {
        state.contains(.isForServer)
    }

    /// Whether the stack names a server.
    var hasServer: Bool {
        state.contains(.hasServer)
    }

    /// Whether a modifier handles the Authorization field itself.
    package var isAuthorized: Bool {
        get { state.contains(.isAuthorized) }
        set { if newValue { state.insert(.isAuthorized) } else { state.remove(.isAuthorized) } }
    }

    @usableFromInline var isUnderway: Bool {
        state.contains(.isUnderway)
    }

    /// Records that a part of the stack receives the request.
    ///
    /// - Returns: The number for ``leave(_:)``.
    @usableFromInline
    func enter(_ part: any Any.Type) -> Int32 {
        recorder?.enter(part) ?? -1
    }

    @usableFromInline
    func leave(_ number: Int32) {
        recorder?.leave(number)
    }

    /// Whether the request is on its way through a stack and is not measured.
    @usableFromInline var isMerelyUnderway: Bool {
        state.intersection([.isUnderway, .isMeasured]) == .isUnderway
    }
}

extension HTTPRequestData {
    /// Throws `CancellationError` if the current task is cancelled or the time limit of the request has passed.
    package func checkCancellation() throws {
        try Task.checkCancellation()
        try exchangeLimit?.check()
    }
}
