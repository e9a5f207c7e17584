extension HTTPRequestData {
    /// Whether a limiter may let the request wait for a permit; `true` by default.
    ///
    /// `hedged` sets it to `false` for an extra attempt, which is worth sending only at once. A limiter further in then
    /// refuses the request with a ``NetworkingError`` of kind ``NetworkingError/Kind/rejected`` instead of letting it
    /// wait, as `throttled` and `rateLimited` do. A limiter of your own reads it too.
    public var waitsForPermits: Bool {
        get { self[.waitsForPermits] }
        set { self[.waitsForPermits] = newValue }
    }
}

extension RequestOptionKey {
    // A request that must not wait does not join an exchange that may: the attempt that it hedges.
    fileprivate static let waitsForPermits = RequestOption(
        "waitsForPermits",
        default: true,
        affects: .sending,
        isSetByStack: true
    )
}
