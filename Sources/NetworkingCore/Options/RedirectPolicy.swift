public import HTTPTypes

/// What is done when a server sends a request elsewhere.
///
/// ```swift
/// request.redirects = .never
/// request.redirects = .follow(upTo: 5).deciding { redirect in
///     redirect.next.authority?.hasSuffix(".example.com") == true ? .follow : .stop
/// }
/// ```
///
/// The rules themselves are those of the Fetch standard and RFC 9110 section 15.4: 301 and 302 make a GET of a POST,
/// 303 of everything but HEAD, and 307 and 308 send method and body again. A redirect to another origin (scheme, host
/// or port) goes without credentials, and they do not come back on a later hop. What cannot be followed is returned as
/// the response it is: a location that is missing, no http URL, one with userinfo or longer than 64 KiB, a way from
/// https to http, and a body that would have to be sent again and cannot be.
public struct RedirectPolicy: Sendable {
    /// How many redirects are followed before the next is an error; nil follows none and returns the response.
    public let limit: Int?

    /// Whether a way from https to http is followed.
    ///
    /// It is not by default: what was asked for in private would be answered in the open.
    public private(set) var allowsDowngrade = false

    /// The names, in lower case, of further fields to treat as credentials.
    package private(set) var credentials: Set<String> = []

    package private(set) var decide: (@Sendable (RedirectProposal) throws -> RedirectDecision)?

    private init(limit: Int?) {
        self.limit = limit
    }

    /// Follows up to 20 redirects, as browsers do.
    public static let follow = RedirectPolicy(limit: 20)

    /// Returns a redirect as the response it is.
    public static let never = RedirectPolicy(limit: nil)

    /// Follows a number of redirects.
    ///
    /// - Parameter limit: The most that are followed; one more is ``NetworkingError/Kind/tooManyRedirects``.
    /// - Returns: The policy.
    /// - Precondition: `limit` is greater than zero.
    public static func follow(upTo limit: Int) -> RedirectPolicy {
        precondition(limit > 0, "limit must be greater than zero (is \(limit))")
        return RedirectPolicy(limit: limit)
    }

    /// Follows ways from https to http, too.
    ///
    /// They are another origin, so credentials stay behind.
    ///
    /// - Returns: The policy with that permission.
    public func allowingDowngrade() -> RedirectPolicy {
        var policy = self
        policy.allowsDowngrade = true
        return policy
    }

    /// Leaves further header fields behind at another origin.
    ///
    /// Every field that ``HTTPTypes/HTTPField/isCredential`` is left behind already.
    ///
    /// - Parameter names: The names of the fields.
    /// - Returns: The policy that treats them as credentials.
    public func strippingCredentials(_ names: HTTPField.Name...) -> RedirectPolicy {
        var policy = self
        policy.credentials.formUnion(names.map(\.canonicalName))
        return policy
    }

    /// Asks a closure about each redirect that the rules would follow.
    ///
    /// - Parameter decide: Answers whether to follow, or throws what the call is to fail with.
    /// - Returns: The policy that asks it.
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

extension RedirectPolicy: CustomStringConvertible {
    /// The policy as an outline shows it: `up to 20`, `never`.
    public var description: String {
        guard let limit else { return "never" }
        return "up to \(limit)" + (allowsDowngrade ? ", to http too" : "")
            + (decide == nil ? "" : ", if the app agrees")
    }
}

/// A redirect that may be followed, for a policy to decide about.
public struct RedirectProposal: Sendable {
    /// The request that was answered with the redirect.
    public let request: HTTPRequestData
    /// The head of the answer.
    public let response: HTTPResponse
    /// The request that would be made next.
    public let next: HTTPRequestData
    /// The redirects that were followed before, oldest first.
    public let history: [HTTPResponseData.Redirect]
}

/// What a policy decides about a redirect.
public enum RedirectDecision: Sendable, Hashable {
    /// Make the next request.
    case follow
    /// Return the redirect as the response it is.
    case stop
}
