public import NetworkingCore

extension HTTPRequestData {
    /// Whether a ``FaultInjector`` may inject faults into this request; true by default.
    ///
    /// A request that does not allow faults takes no number.
    public var allowsFaults: Bool {
        get { self[.allowsFaults] }
        set { self[.allowsFaults] = newValue }
    }
}

extension RequestOptionKey {
    static let allowsFaults = RequestOption("allowsFaults", default: true, affects: .sending)
}
