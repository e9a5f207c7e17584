/// What a transport does when a server sends it elsewhere.
public struct RedirectPolicy: Sendable, Hashable {
    /// How many redirects are followed before the next is an error; nil follows none and returns the response.
    public let limit: Int?

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
}
