public import HTTPTypes

/// A policy for the redirects of a request.
///
/// ```swift
/// request.redirects = .never
/// request.redirects = .follow(upTo: 5).deciding { redirect in
///     redirect.next.authority?.hasSuffix(".example.com") == true ? .follow : .stop
/// }
/// ```
///
/// The rules are those of the Fetch standard and RFC 9110 section 15.4. 301 and 302 change POST to GET. 303 changes
/// every method except HEAD to GET. 307 and 308 send the same method and body again. A redirect to another origin
/// (scheme, host or port) is sent without credentials, and later hops do not get them back.
///
/// A redirect that cannot be followed is returned as a response:
/// - The location is missing, is not an http URL, contains userinfo, or is longer than 64 KiB.
/// - The redirect leads from https to http, and the policy does not allow that.
/// - The body would have to be sent again, but can be sent only once.
public struct RedirectPolicy: Sendable {
    /// The maximum number of redirects, after which the next one is an error; `nil` returns every redirect as a
    /// response.
    public let limit: Int?

    /// Whether a redirect from https to http is followed.
    ///
    /// `false` by default, because the next request and its response would be sent in plain text.
    public private(set) var allowsDowngrade = false

    /// The names, in lower case, of additional header fields to treat as credentials.
    package private(set) var credentials: Set<String> = []

    package private(set) var decide: (@Sendable (RedirectProposal) throws -> RedirectDecision)?

    private init(limit: Int?) {
        self.limit = limit
    }

    /// Follows up to 20 redirects, as browsers do.
    public static let follow = RedirectPolicy(limit: 20)

    /// Returns every redirect as a response.
    public static let never = RedirectPolicy(limit: nil)

    /// Follows a limited number of redirects.
    ///
    /// - Parameter limit: The maximum number of redirects; one more fails with
    ///   ``NetworkingError/Kind/tooManyRedirects``.
    /// - Returns: The policy.
    /// - Precondition: `limit` is greater than zero.
    public static func follow(upTo limit: Int) -> RedirectPolicy {
        precondition(limit > 0, "limit must be greater than zero (is \(limit))")
        return RedirectPolicy(limit: limit)
    }

    /// Follows redirects from https to http, too.
    ///
    /// They lead to another origin, so the next request is sent without credentials.
    ///
    /// - Returns: A policy that follows them.
    public func allowingDowngrade() -> RedirectPolicy {
        var policy = self
        policy.allowsDowngrade = true
        return policy
    }

    /// Removes additional header fields when a redirect leads to another origin.
    ///
    /// A field that is a credential (``HTTPTypes/HTTPField/isCredential``) is always removed.
    ///
    /// - Parameter names: The names of the fields.
    /// - Returns: A policy that treats them as credentials.
    public func strippingCredentials(_ names: HTTPField.Name...) -> RedirectPolicy {
        var policy = self
        policy.credentials.formUnion(names.map(\.canonicalName))
        return policy
    }

    /// Calls a closure for each redirect that the rules would follow.
    ///
    /// - Parameter decide: Returns whether to follow the redirect, or throws the error that the call fails with.
    /// - Returns: A policy that calls the closure.
    public func deciding(
        _ decide: @escaping @Sendable (_ redirect: RedirectProposal) throws -> RedirectDecision
    ) -> RedirectPolicy {
        var policy = self
        policy.decide = decide
        return policy
    }

    func treatsAsCredential(_ field: HTTPField) -> Bool {
        field.isCredential || credentials.contains(field.name.canonicalName)
    }
}

extension RedirectPolicy {
    /// The identity of the policy, by which requests are compared; a policy with a closure equals no other.
    var identity: Identity {
        guard decide == nil else { return Identity(instanceOf: self) }
        return Identity(Rules(limit: limit, allowsDowngrade: allowsDowngrade, credentials: credentials))
    }

    private struct Rules: Hashable {
        let limit: Int?
        let allowsDowngrade: Bool
        let credentials: Set<String>
    }
}

extension RedirectPolicy: CustomStringConvertible {
    /// The policy as an outline prints it: `up to 20`, `never`.
    public var description: String {
        guard let limit else { return "never" }
        return "up to \(limit)" + (allowsDowngrade ? ", to http too" : "")
            + (decide == nil ? "" : ", if the app agrees")
    }
}

/// A redirect that a policy may follow or refuse.
public struct RedirectProposal: Sendable {
    /// The request that was redirected.
    public let request: HTTPRequestData
    /// The head of the redirect response.
    public let response: HTTPResponse
    /// The request to send next.
    public let next: HTTPRequestData
    /// The redirects that were followed before, oldest first.
    public let history: [HTTPResponseData.Redirect]
}

/// The decision of a policy about a redirect.
public enum RedirectDecision: Sendable, Hashable {
    /// Sends the next request.
    case follow
    /// Returns the redirect as a response.
    case stop
}

extension HTTPResponseData {
    /// Whether the response redirects its request.
    var isRedirect: Bool {
        status.isRedirection && http.isRedirect
    }
}

extension HTTPResponse {
    /// Whether the response redirects the request (RFC 9110 section 15.4).
    package var isRedirect: Bool {
        switch status.code {
        case 301, 302, 303, 307, 308: headerFields.contains(.location)
        default: false
        }
    }
}
