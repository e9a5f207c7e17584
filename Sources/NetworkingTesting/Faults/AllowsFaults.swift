public import Networking

extension HTTPRequestData {
    /// Whether a ``FaultInjector`` may have something go wrong with this request; true unless it is set.
    ///
    /// One that allows none takes no number.
    public var allowsFaults: Bool {
        get { self[option: AllowsFaults.self] }
        set { self[option: AllowsFaults.self] = newValue }
    }
}

enum AllowsFaults: RequestOption {
    static let defaultValue = true
    static let name = "allowsFaults"
}
