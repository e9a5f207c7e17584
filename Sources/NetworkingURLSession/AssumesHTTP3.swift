public import NetworkingCore

extension HTTPRequestData {
    /// Whether URLSession may try HTTP/3 without having learned from an earlier response that the server speaks it.
    ///
    /// `false` by default. URLSession on Apple's platforms reads it (`URLRequest.assumesHTTP3Capable`) and falls back
    /// to HTTP/2. Other transports do not speak HTTP/3, and the stack's diagnostics report the option.
    public var assumesHTTP3: Bool {
        get { self[.assumesHTTP3] }
        set { self[.assumesHTTP3] = newValue }
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/assumesHTTP3``.
    public static let assumesHTTP3 = RequestOption("assumesHTTP3", default: false, affects: .sending)
}
