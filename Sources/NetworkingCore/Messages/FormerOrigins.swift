extension HTTPRequestData {
    /// The origins that redirected the request to another origin, oldest first.
    package internal(set) var formerOrigins: [[String]] {
        get { self[option: FormerOriginsOption.self] }
        set { self[option: FormerOriginsOption.self] = newValue }
    }

    private enum FormerOriginsOption: RequestOption {
        static let defaultValue: [[String]] = []
        static let isSetByStack = true
    }
}
