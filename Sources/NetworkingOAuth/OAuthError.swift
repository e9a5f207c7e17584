#if Crypto
public import Networking

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Why somebody could not be signed in, or a token not be got.
///
/// A token endpoint that cannot be reached is a `NetworkingError`, as any server. Neither the description nor a dump of
/// this error shows a secret.
public struct OAuthError: Error {
    /// What kind of failure it is; a bounded set, fit to label a metric.
    @nonexhaustive
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The system lacks something that the grant needs, or has it wrong: an endpoint, a redirect URI.
        case misconfigured
        /// The metadata of the provider could not be got, or cannot be true.
        case discovery
        /// The user said no, or closed the page.
        case denied
        /// The provider refused to sign the user in, for the reason that its ``OAuthError/code`` says.
        case authorizationRefused
        /// The callback is not the answer to what was asked: another state, another issuer, no code.
        case invalidCallback
        /// The token endpoint refused, for the reason that its ``OAuthError/code`` says.
        case tokenRefused
        /// The token endpoint answered with what is no token.
        case invalidResponse
        /// Nobody can get a token without the user, who has to sign in anew.
        case signInRequired
        /// The user took too long.
        case expired
        /// Somebody signed out, or began anew, meanwhile.
        case superseded
        /// The user is signed out here, and the provider could not be told.
        case revocation
    }

    /// What kind of failure it is.
    public let kind: Kind
    /// The error code of the provider, such as `invalid_grant` (RFC 6749 section 5.2); nil when it gave none.
    public let code: String?
    /// The status of its response, where it is about one.
    public let statusCode: Int?
    /// What happened and what to do about it, in one or two sentences, without secrets.
    public let reason: String
    /// The error beneath this one; it is never printed with it.
    public let underlying: (any Error)?
    package let isForeseen: Bool
    /// Method and URL of the request whose response it is about, without secrets.
    package let failedRequest: String?

    init(
        _ kind: Kind,
        code: String? = nil,
        statusCode: Int? = nil,
        of response: HTTPResponseData? = nil,
        underlying: (any Error)? = nil,
        isForeseen: Bool = false,
        _ reason: String
    ) {
        self.kind = kind
        self.code = code
        self.statusCode = statusCode
        self.underlying = underlying
        self.isForeseen = isForeseen
        failedRequest = response.map { "\($0.sentRequest)" } ?? (underlying as? OAuthError)?.failedRequest
        self.reason = reason
    }

    /// Whether the user decided so, which is nothing to report to them.
    public var isDenied: Bool {
        kind == .denied
    }
}

extension OAuthError: ReasonedError, LocalizedError, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The reason.
    public var description: String {
        reason
    }

    /// A success that holds no token has ended no session: it was damaged on the way, or came from something in
    /// between.
    package var kindOfRefusedRequests: NetworkingError.Kind {
        switch kind {
        case .invalidResponse where statusCode == 200, .discovery where statusCode == 200: .decoding
        default: .unauthorized
        }
    }

    /// The same as ``description``.
    public var debugDescription: String {
        "OAuthError(\(kind)): \(reason)"
    }

    /// One sentence for the user of the app, which `localizedDescription` returns: without URL.
    public var errorDescription: String? {
        isDenied ? "The sign-in was not allowed." : "The sign-in failed."
    }

    /// What a dump shows: no secret, and nothing of what lies beneath.
    public var customMirror: Mirror {
        Mirror(self, children: ["kind": kind, "code": code ?? "nil", "reason": reason])
    }
}
#endif
