/// The purpose of a modifier, by which the rules of other modifiers refer to it.
///
/// A rule such as "timeout belongs inside retry" names roles instead of types, so it also applies to the modifiers of
/// other packages. A package creates its own role with a name. Roles with equal names are the same role.
///
/// ```swift
/// extension StackRole {
///     static let compression = StackRole("compression")
/// }
/// ```
public struct StackRole: Sendable, Hashable, CustomStringConvertible {
    /// The name of the role.
    public let name: String

    /// Creates a role.
    ///
    /// - Parameter name: The name, which is different from those of other roles.
    public init(_ name: String) {
        self.name = name
    }

    /// The name.
    public var description: String {
        name
    }
}

extension StackRole {
    /// Sends a failed request again.
    public static let retry = StackRole("retry")
    /// Sends a second request while the first one is slow.
    public static let hedging = StackRole("hedging")
    /// Sends a request again, or with another method or to another server than the modifiers outside of it know.
    package static let resending = StackRole("resending")
    /// Returns another response in place of a failure.
    public static let fallback = StackRole("fallback")
    /// Adds credentials to requests when they are sent, on behalf of a principal.
    public static let authentication = StackRole("authentication")
    /// Signs requests when they are sent.
    public static let signing = StackRole("signing")
    /// Sets the `Authorization` field when it rewrites requests, without a principal.
    public static let authorizationField = StackRole("authorization field")
    /// Changes requests when they are sent, such as the interceptors of `intercepted(by:)`.
    ///
    /// A cache further out does not see the changes.
    public static let adaptation = StackRole("adaptation")
    /// Rewrites requests for a server.
    public static let server = StackRole("server")
    /// Stores responses and returns stored ones.
    public static let caching = StackRole("caching")
    /// Sends identical concurrent requests once.
    public static let deduplication = StackRole("deduplication")
    /// Limits the number of concurrent requests.
    public static let concurrencyLimit = StackRole("concurrency limit")
    /// Limits the number of requests in an interval.
    public static let rateLimit = StackRole("rate limit")
    /// Refuses requests to a server that is known to fail.
    public static let circuitBreaker = StackRole("circuit breaker")
    /// Fails requests, delays them or uses stored responses while there is no network.
    public static let connectivity = StackRole("connectivity")
    /// Limits the time of one attempt.
    public static let timeout = StackRole("timeout")
    /// Limits the time of a whole call.
    public static let deadline = StackRole("deadline")
    /// Follows redirects.
    public static let redirection = StackRole("redirection")
    /// Adds the header fields of a trace to requests.
    public static let tracing = StackRole("tracing")
    /// Logs requests.
    public static let logging = StackRole("logging")
}
