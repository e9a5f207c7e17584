/// The reason why a cookie is not stored.
@nonexhaustive
public enum CookieRejection: String, Error, Sendable, Hashable {
    /// The field has no name or no equals sign, or a part of the cookie contains a character that is not allowed.
    case malformed
    /// The name and the value, or the path, are too long.
    case tooLong
    /// The cookie is for a domain that the server does not belong to, or for an IP address with subdomains.
    case otherDomain
    /// The cookie is for a domain under which different owners have names.
    case publicSuffix
    /// The cookie has `Secure`, and the response came over plain http.
    case notSecure
    /// The name starts with `__Secure-` or `__Host-`, and the cookie does not have the attributes that this promises.
    case prefix
    /// The cookie has `SameSite=None` without `Secure`.
    case sameSite
    /// The cookie would replace or shadow one that is for https only, and the response came over plain http.
    case shadowsSecure
    /// The request was sent with the cookies of one principal, and the response belongs to another.
    case otherPrincipal
    /// The site has as many cookies as it may have, all of them with `Secure`, and this one has no `Secure`.
    case tooMany
    /// The app has removed the cookies of the principal or of the host since the request was sent.
    case removed
}
