public import NetworkingCore

extension HTTPRequestData {
    /// Whether URLSession may try HTTP/3 without having learned from an earlier response that the server speaks it.
    ///
    /// `false` by default. URLSession on Apple's platforms reads it (`URLRequest.assumesHTTP3Capable`) and falls back
    /// to HTTP/2. Other transports do not speak HTTP/3, and the stack's diagnostics report the option.
    public var assumesHTTP3: Bool {
        get { self[option: AssumesHTTP3.self] }
        set { self[option: AssumesHTTP3.self] = newValue }
    }

    fileprivate enum AssumesHTTP3: SendingOption {
        static let name = "assumesHTTP3"
        static let defaultValue = false
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/assumesHTTP3``.
    public static let assumesHTTP3 = RequestOptionKey(HTTPRequestData.AssumesHTTP3.self)
}
