#if !Crypto
/// Replaces the description of a provider in builds without the trait `Crypto`, so that the compiler's error names it.
@available(
    *,
    unavailable,
    message:
        "NetworkingOAuth needs the trait Crypto of swift-networking: .package(url: …, traits: [.defaults, \"Crypto\"])"
)
public struct OAuthSystem {
    /// Unavailable without the trait.
    public static func provider(issuer: String, clientID: String, scopes: [String] = []) -> OAuthSystem {
        OAuthSystem()
    }
}

/// Replaces the client in builds without the trait `Crypto`, so that the compiler's error names the trait.
@available(
    *,
    unavailable,
    message:
        "NetworkingOAuth needs the trait Crypto of swift-networking: .package(url: …, traits: [.defaults, \"Crypto\"])"
)
public struct OAuthClient {
    /// Unavailable without the trait.
    public init(_ system: OAuthSystem) {}
}
#endif

#if !LoopbackRedirect
/// Replaces the receiver of redirects in builds without the trait `LoopbackRedirect`, so that the compiler's error
/// names the trait.
@available(
    *,
    unavailable,
    message: """
        LoopbackUserAgent needs the trait LoopbackRedirect of swift-networking: \
        .package(url: …, traits: [.defaults, "LoopbackRedirect"])
        """
)
public struct LoopbackUserAgent {
    /// Unavailable without the trait.
    public init() {}
}
#endif
