#if Crypto
/// The way an app obtains tokens (RFC 6749 section 4, RFC 8628).
///
/// The password grant is not supported: RFC 9700 section 2.4 forbids it.
public enum OAuthGrant: Sendable {
    /// A user signs in on the provider's pages, shown by the user agent: authorization code with PKCE.
    case authorizationCode(any OAuthUserAgent)
    /// A user signs in on another device, with a code that the closure displays; the closure returns once the code is
    /// visible.
    case deviceCode(_ show: @Sendable (OAuthDeviceCode) async throws -> Void)
    /// The app signs in by itself, not on behalf of a user.
    case clientCredentials
}
#endif
