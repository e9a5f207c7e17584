extension Duration {
    /// A time limit that is never reached, to switch off a limit of the stack for one request.
    ///
    /// ```swift
    /// let export = HTTPRequestData.get("export").with(\.deadline, .unlimited)
    /// ```
    public static let unlimited = Duration.farthest
}

extension HTTPRequestData {
    /// The maximum duration of one attempt; `nil` leaves it to the stack's `timeout`.
    ///
    /// It needs a `timeout` modifier in the stack. If it is zero or less, the attempt fails as if it had exceeded the
    /// limit. ``Swift/Duration/unlimited`` switches the stack's limit off. Limits of more than a century are shortened
    /// to a century.
    public var timeout: Duration? {
        get { self[.timeout] }
        set { self[.timeout] = newValue }
    }

    /// The maximum time without progress while a body is transferred; `nil` leaves it to the stack's `timeout`.
    ///
    /// It needs a `timeout` modifier in the stack. The documentation of that modifier says whether a transport supports
    /// it.
    public var idleTimeout: Duration? {
        get { self[.idleTimeout] }
        set { self[.idleTimeout] = newValue }
    }

    /// The maximum duration of the whole call, with every attempt and wait; `nil` leaves it to the stack's `deadline`.
    ///
    /// It starts when the request reaches a `deadline` modifier, and needs one in the stack. If it is zero or less, the
    /// call fails as if it had exceeded the limit. ``Swift/Duration/unlimited`` switches the stack's limit off.
    public var deadline: Duration? {
        get { self[.deadline] }
        set { self[.deadline] = newValue }
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/timeout``.
    public static let timeout = RequestOption<Duration?>(
        "timeout",
        default: nil,
        affects: .sending,
        stored: .always,
        normalized: { $0?.bounded }
    )
    /// ``HTTPRequestData/idleTimeout``.
    public static let idleTimeout = RequestOption<Duration?>(
        "idleTimeout",
        default: nil,
        affects: .sending,
        normalized: { $0?.bounded }
    )
    /// ``HTTPRequestData/deadline``.
    public static let deadline = RequestOption<Duration?>(
        "deadline",
        default: nil,
        affects: .sending,
        stored: .always,
        normalized: { $0?.bounded }
    )
}
