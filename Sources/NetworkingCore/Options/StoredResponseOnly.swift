extension HTTPRequestData {
    /// Whether the response must come from a cache, because the request must not be sent.
    ///
    /// `whenOffline(.cached)` sets it while there is no network. A cache returns a stored response of any age, or
    /// throws a ``NetworkingError`` of kind ``NetworkingError/Kind/offline``. A cache of your own reads it too.
    public var requiresStoredResponse: Bool {
        get { self[.requiresStoredResponse] }
        set { self[.requiresStoredResponse] = newValue }
    }
}

extension RequestOptionKey {
    // A request that may be sent must not share the failure of one that may not.
    fileprivate static let requiresStoredResponse = RequestOption(
        "requiresStoredResponse",
        default: false,
        affects: .sending,
        isReported: false
    )
}
