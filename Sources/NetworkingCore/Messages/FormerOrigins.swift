extension HTTPRequestData {
    /// The origins that redirected the request to another origin, oldest first.
    package internal(set) var formerOrigins: [[String]] {
        get { self[.formerOrigins] }
        set { self[.formerOrigins] = newValue }
    }
}

extension RequestOptionKey {
    // A jar sends fewer cookies with a request that another site has redirected.
    fileprivate static let formerOrigins = RequestOption<[[String]]>(
        "formerOrigins",
        default: [],
        affects: .sending,
        isSetByStack: true
    )
}
