extension HTTPRequestData {
    /// The origins that redirected the request to another origin, oldest first.
    package internal(set) var formerOrigins: [[String]] {
        get { self[option: FormerOriginsOption.self] }
        set { self[option: FormerOriginsOption.self] = newValue }
    }

    // A jar sends fewer cookies with a request that another site has redirected.
    private enum FormerOriginsOption: SendingOption {
        static let defaultValue: [[String]] = []
        static let isSetByStack = true
    }
}
