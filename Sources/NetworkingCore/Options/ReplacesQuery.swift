extension HTTPRequestData {
    /// Whether a part of the stack sends this POST in place of a QUERY; `false` by default.
    ///
    /// A redirect with 301 or 302 then keeps the method and the body, as it does for the QUERY: without its body, the
    /// request would ask for something else.
    package var replacesQuery: Bool {
        get { self[.replacesQuery] }
        set { self[.replacesQuery] = newValue }
    }
}

extension RequestOptionKey {
    fileprivate static let replacesQuery = RequestOption(
        "replacesQuery",
        default: false,
        affects: .sending,
        isSetByStack: true
    )
}
