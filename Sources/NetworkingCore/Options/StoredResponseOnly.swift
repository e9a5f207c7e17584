extension HTTPRequestData {
    /// Whether the response must come from a cache, because the request must not be sent.
    ///
    /// `whenOffline(.cached)` sets it while there is no network. A cache returns a stored response of any age, or
    /// throws a ``NetworkingError`` of kind ``NetworkingError/Kind/offline``. A cache of your own reads it too.
    public var requiresStoredResponse: Bool {
        get { self[option: StoredResponseOption.self] }
        set { self[option: StoredResponseOption.self] = newValue }
    }

    // A request that may be sent must not share the failure of one that may not.
    private enum StoredResponseOption: LibraryRequestOption, SendingOption {
        static let name = "requiresStoredResponse"
        static let defaultValue = false
    }
}
