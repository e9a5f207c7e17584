public import HTTPTypes

extension HTTPRequestData {
    /// Whether proxies should pass the bodies of this exchange on as they arrive, instead of collecting them.
    ///
    /// It is the field `Incremental` (draft-ietf-httpbis-incremental-04): `?1` if the value is `true`, and no field
    /// otherwise. Set it for streams whose pieces must arrive at once: server-sent events, the tokens of a language
    /// model, an upload that the server processes while it is sent. A proxy that cannot do so may refuse the request.
    ///
    /// ```swift
    /// let request = HTTPRequestData(path: "news").with(\.isIncremental, true)
    /// for try await event in try await network.events(request) {
    ///     print(event.data)
    /// }
    /// ```
    public var isIncremental: Bool {
        get {
            guard let field = headerFields[.incremental] else { return false }
            return StructuredItem.item(field)?.value == .boolean(true)
        }
        set { headerFields[.incremental] = newValue ? "?1" : nil }
    }
}

extension HTTPField.Name {
    // The name is valid, so the value is not `nil`.
    /// `Incremental`: whether proxies should pass a message on as it arrives.
    public static let incremental = HTTPField.Name("Incremental")!
}
