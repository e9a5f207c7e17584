#if Crypto
/// How tokens are come by (RFC 6749 section 4, RFC 8628).
///
/// The grant in which an app asks for its users' passwords is not among them: RFC 9700 section 2.4 forbids it.
public enum OAuthGrant: Sendable {
    /// A user signs in on the provider's pages, which the user agent shows: authorization code with PKCE.
    case authorizationCode(any OAuthUserAgent)
    /// A user signs in on another device, with a code that the closure shows; it returns when it is shown.
    case deviceCode(_ show: @Sendable (OAuthDeviceCode) async throws -> Void)
    /// The app is let in by itself, on nobody's behalf.
    case clientCredentials
}
#endif
