public import NetworkingCore

extension HTTPRequestData {
    /// The maximum time that an attempt may take to connect; `nil`, the default, leaves it to the stack's `timeout`.
    ///
    /// It needs a `timeout` modifier in the stack, as do `headTimeout` and `idleTimeout`. The documentation of that
    /// modifier says which of these limits a transport supports.
    public var connectTimeout: Duration? {
        get { self[.connectTimeout] }
        set { self[.connectTimeout] = newValue }
    }

    /// The maximum time until the head of a response arrives; `nil`, the default, leaves it to the stack's `timeout`.
    public var headTimeout: Duration? {
        get { self[.headTimeout] }
        set { self[.headTimeout] = newValue }
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/connectTimeout``.
    public static let connectTimeout = RequestOption<Duration?>("connectTimeout", default: nil, affects: .sending)
    /// ``HTTPRequestData/headTimeout``.
    public static let headTimeout = RequestOption<Duration?>("headTimeout", default: nil, affects: .sending)
}
