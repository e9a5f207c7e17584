public import HTTPTypes

extension HTTPRequestData {
    /// Whether sending the request twice has the same effect as sending it once.
    ///
    /// `nil`, the default, means `true` for a request with an idempotent method or an `Idempotency-Key` field.
    ///
    /// Retries and other modifiers that repeat requests read this.
    public var isIdempotent: Bool? {
        get { self[.isIdempotent] }
        set { self[.isIdempotent] = newValue }
    }

    /// The number of the attempt, starting at 1; `retry` counts it.
    public package(set) var attempt: Int {
        get { self[.attempt] }
        set { self[.attempt] = newValue }
    }

    /// Whether the request may be sent again, according to its method, its header fields and its caller.
    ///
    /// ``isIdempotent`` decides if it is set; otherwise the method and an `Idempotency-Key` field do.
    public var mayBeSentTwice: Bool {
        if let isIdempotent { return isIdempotent }
        return method.isIdempotent || headerFields.contains(.idempotencyKey)
    }
}

/// The statement of a server about the `Idempotency-Key` of a request (draft-ietf-httpapi-idempotency-key-header-07
/// section 2.7).
///
/// ```swift
/// if response.idempotencyKeyOutcome == .reused { show("Sent before") }
/// ```
///
/// `retry` and the outbox wait after ``inProgress`` and repeat the request with the same key. They never repeat a
/// request after ``reused``.
@nonexhaustive
public enum IdempotencyKeyOutcome: String, Sendable, Hashable {
    /// 409: the server is still processing an earlier request with this key.
    case inProgress
    /// 422: the server has processed another request with this key. Repeating this one cannot succeed.
    case reused
}

extension HTTPResponseData {
    /// The server's statement about the request's `Idempotency-Key`; `nil` if it made none, or if the request had no
    /// key.
    ///
    /// It depends on the status alone, so a server that uses 409 or 422 for other conflicts is misunderstood. The first
    /// attempt of a call cannot be ``IdempotencyKeyOutcome/inProgress`` if its key is new; `retry` considers this.
    public var idempotencyKeyOutcome: IdempotencyKeyOutcome? {
        let outcome: IdempotencyKeyOutcome
        switch status.code {
        case 409: outcome = .inProgress
        case 422: outcome = .reused
        default: return nil
        }
        return sentRequest.headerFields.contains(.idempotencyKey) ? outcome : nil
    }
}

extension RequestOptionKey {
    fileprivate static let isIdempotent = RequestOption<Bool?>(
        "isIdempotent",
        default: nil,
        affects: .sending,
        stored: .always(ifDamaged: false),
        isReported: false
    )
    fileprivate static let attempt = RequestOption("attempt", default: 1, affects: .nothing, isReported: false)
}

extension HTTPField.Name {
    // The name is valid, so the value is not `nil`.
    /// `Idempotency-Key`: a label by which a server recognises a repeated request.
    public static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
}

extension String {
    /// Returns a new key as the string that the field's syntax requires: 128 random bits, in quotes.
    package static func idempotencyKey(from random: SecureRandomSource) -> String {
        "\"\(random.bytes(16).hexadecimal)\""
    }
}
