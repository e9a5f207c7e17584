public import NetworkingCore

extension HTTPRequestData {
    /// Whether a ``FaultInjector`` may inject faults into this request; true by default.
    ///
    /// A request that does not allow faults takes no number.
    public var allowsFaults: Bool {
        get { self[option: AllowsFaults.self] }
        set { self[option: AllowsFaults.self] = newValue }
    }
}

enum AllowsFaults: SendingOption {
    static let defaultValue = true
    static let name = "allowsFaults"
}
