public import NetworkingCore

/// Signs each request with a key as it is about to be sent, so that the server can authenticate it.
///
/// Signers include ``DigestSigner``, ``AWSSigner``, ``MessageSigner`` and ``HMACSigner``. An app can also define its
/// own:
///
/// ```swift
/// struct TicketSigner: RequestSigner {
///     let ticket: Ticket
///
///     var keyID: String { ticket.number }
///
///     func sign(_ request: inout HTTPRequestData) async throws {
///         let text = "\(request.method) \(request.requestTarget)"
///         request.setCredential(ticket.signature(of: text), for: HTTPField.Name("X-Ticket")!)
///     }
/// }
///
/// let network = URLSession.shared
///     .signed(with: TicketSigner(ticket: ticket))
///     .server(authority: "api.example.com")
/// ```
///
/// Take dates and nonces from `NetworkEnvironment.current`, so that tests can set them. A signer may be called
/// concurrently. If it has state, it keeps the state in one object protected by a lock.
///
/// By default, descriptions, dumps and mirrors of a signer are redacted.
public protocol RequestSigner: StackDescribing, Sendable, RedactedDescription {
    /// The name of the key or of its owner, which is not secret.
    ///
    /// Caches and deduplication do not share the responses of one key with another.
    var keyID: String { get }

    /// The scheme of the Authorization field that contains the signature (RFC 9110 section 11.4); `nil`, the default,
    /// if the signer uses other fields.
    ///
    /// A request has only one such field. A request that already has it, or receives it from a modifier further out, is
    /// not signed.
    var scheme: String? { get }

    /// The method by which a request selects this signer, if it uses the Authorization field; by default derived from
    /// the scheme.
    var method: AuthenticationMethod { get }

    /// Signs a request with the URL, header fields and body that will be sent.
    ///
    /// It is called for each attempt and each hop, always on the request without earlier signatures. It must return
    /// promptly when it is cancelled.
    ///
    /// - Parameter request: The request. Use `HTTPRequestData.setCredential(_:for:)` for values that no log may
    ///   contain.
    /// - Throws: `NetworkingError` if the request cannot be signed; it is then not sent.
    func sign(_ request: inout HTTPRequestData) async throws

    /// Processes the response to a signed request.
    ///
    /// The default implementation does nothing.
    ///
    /// - Parameter response: The response; its `sentRequest` is the signed request.
    /// - Returns: `true` to sign the request again and resend it. This happens at most twice, and not with a body that
    ///   can be sent only once.
    /// - Throws: The reason why the response must not be used.
    func signsAgain(after response: HTTPResponseData) async throws -> Bool
}

extension RequestSigner {
    /// No scheme: the signature is in other fields.
    public var scheme: String? {
        nil
    }

    /// The method of the scheme.
    public var method: AuthenticationMethod {
        AuthenticationMethod(rawValue: scheme?.lowercased() ?? "signature")
    }

    /// Does nothing, and returns `false`.
    public func signsAgain(after response: HTTPResponseData) async throws -> Bool {
        false
    }
}
