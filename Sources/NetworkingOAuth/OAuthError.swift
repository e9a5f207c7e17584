#if Crypto
public import FoundationForNetworking
public import NetworkingAuthentication
public import NetworkingCore

/// The reason why a sign-in failed or a token could not be obtained.
///
/// If the token endpoint cannot be reached, the error is a `NetworkingError`, as for any server. The description and
/// the dump of this error contain no secrets.
public struct OAuthError: Error {
    /// The kind of a failure: a bounded set, suitable as a label of a metric.
    @nonexhaustive
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The system lacks a setting that the grant needs, or the setting is wrong: an endpoint, a redirect URI.
        case misconfigured
        /// The metadata of the provider could not be loaded, or is not plausible.
        case discovery
        /// The provider did not register the app; its ``OAuthError/code`` gives the reason.
        case registration
        /// The user declined, or closed the page.
        case denied
        /// The provider refused to sign the user in; its ``OAuthError/code`` gives the reason.
        case authorizationRefused
        /// The callback does not match the authorization request: wrong state, wrong issuer or no code.
        case invalidCallback
        /// The token endpoint refused the request; its ``OAuthError/code`` gives the reason.
        case tokenRefused
        /// The response of the token endpoint is not a token response.
        case invalidResponse
        /// No token is available until the user signs in again.
        case signInRequired
        /// The user took too long.
        case expired
        /// Another sign-in or a sign-out replaced this one.
        case superseded
        /// The user is signed out locally, but the provider did not confirm the revocation.
        case revocation
    }

    /// The kind of the failure.
    public let kind: Kind
    /// The error code of the provider, such as `invalid_grant` (RFC 6749 section 5.2); `nil` if it gave none.
    public let code: String?
    /// The status of the response that the error is about, if there is one.
    public let statusCode: Int?
    /// The failure and its remedy, in one or two sentences without secrets.
    public let reason: String
    /// The underlying error; the description does not include it.
    public let underlying: (any Error)?
    package let countsAsRefusal: Bool
    /// The method and URL of the request that the error is about, without secrets.
    package let failedRequest: String?

    init(
        _ kind: Kind,
        code: String? = nil,
        statusCode: Int? = nil,
        of response: HTTPResponseData? = nil,
        underlying: (any Error)? = nil,
        countsAsRefusal: Bool = true,
        _ reason: String
    ) {
        self.kind = kind
        self.code = code
        self.statusCode = statusCode
        self.underlying = underlying
        self.countsAsRefusal = countsAsRefusal
        failedRequest = response.map { "\($0.sentRequest)" } ?? (underlying as? OAuthError)?.failedRequest
        self.reason = reason
    }

    /// `true` if the user declined, in which case the app need not report the error to them.
    public var isDenied: Bool {
        kind == .denied
    }
}

extension OAuthError: ReasonedError, LocalizedError, ErrorWithUserText, CustomStringConvertible,
    CustomDebugStringConvertible, CustomReflectable
{
    /// The reason.
    public var description: String {
        reason
    }

    /// A successful status without a token does not end a session: the response was damaged in transit, or an
    /// intermediary sent it.
    package var kindOfRefusedRequests: NetworkingError.Kind {
        switch kind {
        case .invalidResponse, .discovery: 200..<300 ~= statusCode ?? 0 ? .decoding : .unauthorized
        default: .unauthorized
        }
    }

    /// The kind and the reason.
    public var debugDescription: String {
        "OAuthError(\(kind)): \(reason)"
    }

    package var userText: UserText {
        guard isDenied else {
            return UserText(
                key: "oauth.failed",
                description: "The sign-in failed.",
                reason: "The service for signing in reported a problem.",
                suggestion: "Try to sign in again."
            )
        }
        return UserText(
            key: "oauth.denied",
            description: "The sign-in was not allowed.",
            reason: "The access was declined.",
            suggestion: "Sign in again and allow the access."
        )
    }

    /// A dump without secrets and without the underlying error.
    public var customMirror: Mirror {
        Mirror(self, children: ["kind": kind, "code": code ?? "nil", "reason": reason])
    }
}
#endif
