public import NetworkingCore

extension HTTPRequestData {
    /// The maximum time that an attempt may take to connect; `nil`, the default, leaves it to the stack's `timeout`.
    ///
    /// It needs a `timeout` modifier in the stack, as do `headTimeout` and `idleTimeout`. The documentation of that
    /// modifier says which of these limits a transport supports.
    public var connectTimeout: Duration? {
        get { self[option: ConnectTimeout.self] }
        set { self[option: ConnectTimeout.self] = newValue }
    }

    /// The maximum time until the head of a response arrives; `nil`, the default, leaves it to the stack's `timeout`.
    public var headTimeout: Duration? {
        get { self[option: HeadTimeout.self] }
        set { self[option: HeadTimeout.self] = newValue }
    }
}

enum ConnectTimeout: SendingOption {
    static let name = "connectTimeout"
    static let defaultValue: Duration? = nil
}

enum HeadTimeout: SendingOption {
    static let name = "headTimeout"
    static let defaultValue: Duration? = nil
}

extension RequestOptionKey {
    /// ``HTTPRequestData/connectTimeout``.
    public static let connectTimeout = RequestOptionKey(ConnectTimeout.self)
    /// ``HTTPRequestData/headTimeout``.
    public static let headTimeout = RequestOptionKey(HeadTimeout.self)
}
