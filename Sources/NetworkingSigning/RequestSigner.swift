public import Networking

/// Signs requests, each as it is about to be sent: with a key, for whoever has the key to check.
///
/// ``DigestSigner``, ``AWSSigner``, ``MessageSigner`` and ``HMACSigner`` are some; here is one of an app's own:
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
/// Take dates and nonces from `NetworkEnvironment.current`, so that tests can set them. A signer that remembers
/// something between requests keeps it in one object behind a lock: it is asked for several requests at a time.
///
/// Nothing of a signer shows in a description, a dump or a mirror, unless a type of your own says otherwise.
public protocol RequestSigner: RequestOptionReader, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// Names the key or its owner, and is no secret: what was fetched with one key is not shared with another.
    var keyID: String { get }

    /// The scheme of the Authorization field that the signature goes into (RFC 9110 section 11.4); nil, the default,
    /// for fields of its own.
    ///
    /// There is one such field. A request that has it, or gets it further out, is not signed.
    var scheme: String? { get }

    /// The method by which a request names this signer, where it takes the Authorization field; by default that of the
    /// scheme.
    var method: AuthenticationMethod { get }

    /// Signs a request, whose URL, header fields and body are those that will be sent.
    ///
    /// It is called for each attempt and each hop, on the request without what an earlier call did to it. Cancelling it
    /// has to end it at once.
    ///
    /// - Parameter request: The request. Use `HTTPRequestData.setCredential(_:for:)` for what no log may show.
    /// - Throws: `NetworkingError` when it cannot be signed; then it is not sent.
    func sign(_ request: inout HTTPRequestData) async throws

    /// Looks at the response to a request that it has signed. By default it does nothing.
    ///
    /// - Parameter response: The response; its `sentRequest` is the request as it was signed.
    /// - Returns: Whether to sign the request anew and send it again, which happens twice at most, and not with a body
    ///   that can be sent only once.
    /// - Throws: Why the response must not be used.
    func signsAgain(after response: HTTPResponseData) async throws -> Bool
}

extension RequestSigner {
    /// None: the signature goes into fields of its own.
    public var scheme: String? {
        nil
    }

    /// That of the scheme.
    public var method: AuthenticationMethod {
        AuthenticationMethod(rawValue: scheme?.lowercased() ?? "signature")
    }

    /// Leaves the response as it is.
    public func signsAgain(after response: HTTPResponseData) async throws -> Bool {
        false
    }

    /// The type, and nothing of what is in it.
    public var description: String {
        "\(Self.self)(<redacted>)"
    }

    /// The same as the description.
    public var debugDescription: String {
        description
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: [:])
    }
}
