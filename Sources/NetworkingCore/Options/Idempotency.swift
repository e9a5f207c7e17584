public import HTTPTypes

extension HTTPRequestData {
    /// Whether the request may be sent twice with the effect of once; nil leaves that to its method.
    ///
    /// Retries and what else repeats requests ask this.
    public var isIdempotent: Bool? {
        get { box?.value.isIdempotent }
        set { settings.isIdempotent = newValue }
    }

    /// Which attempt this is, from 1; `retry` counts.
    public package(set) var attempt: Int {
        get { box?.value.attempt ?? 1 }
        set { settings.attempt = newValue }
    }

    /// Whether it may be sent again, as far as its method, its fields and its caller say.
    package var mayBeSentTwice: Bool {
        if let isIdempotent { return isIdempotent }
        switch method {
        case .get, .head, .options, .trace, .put, .delete: return true
        default: return method.rawValue == "QUERY" || headerFields.contains(.idempotencyKey)
        }
    }
}

extension HTTPField.Name {
    // A valid name, so there is a value.
    /// `Idempotency-Key`: the label by which a server tells a repeated request from a new one.
    public static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
}
