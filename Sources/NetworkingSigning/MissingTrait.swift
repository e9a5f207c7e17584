#if !Crypto
public import NetworkingCore

// Replacements for the signers in builds without the trait `Crypto`, so that the compiler's errors name the trait.
// `signed(with:)` and custom signers need no trait.

/// Digest authentication needs the trait `Crypto`.
@available(
    *,
    unavailable,
    message:
        "DigestSigner needs the trait Crypto of swift-networking: .package(url: …, traits: [.defaults, \"Crypto\"])"
)
public struct DigestSigner: RequestSigner {
    /// Unavailable without the trait.
    public let keyID = ""

    /// Unavailable without the trait.
    public init(user: String, password: String, coversBody: Bool = false) {}

    /// Unavailable without the trait.
    public func sign(_ request: inout HTTPRequestData) async throws {}
}

/// AWS Signature Version 4 needs the trait `Crypto`.
@available(
    *,
    unavailable,
    message: "AWSSigner needs the trait Crypto of swift-networking: .package(url: …, traits: [.defaults, \"Crypto\"])"
)
public struct AWSSigner: RequestSigner {
    /// Unavailable without the trait.
    public let keyID = ""

    /// Unavailable without the trait.
    public init(_ credentials: AWSCredentials, region: String, service: String) {}

    /// Unavailable without the trait.
    public func sign(_ request: inout HTTPRequestData) async throws {}
}

/// HMAC signatures need the trait `Crypto`.
@available(
    *,
    unavailable,
    message: "HMACSigner needs the trait Crypto of swift-networking: .package(url: …, traits: [.defaults, \"Crypto\"])"
)
public struct HMACSigner: RequestSigner {
    /// Unavailable without the trait.
    public let keyID = ""

    /// Unavailable without the trait.
    public func sign(_ request: inout HTTPRequestData) async throws {}
}

/// HTTP Message Signatures need the trait `Crypto`.
@available(
    *,
    unavailable,
    message:
        "MessageSigner needs the trait Crypto of swift-networking: .package(url: …, traits: [.defaults, \"Crypto\"])"
)
public struct MessageSigner: RequestSigner {
    /// Unavailable without the trait.
    public let keyID = ""

    /// Unavailable without the trait.
    public func sign(_ request: inout HTTPRequestData) async throws {}
}

/// Credentials of AWS need the trait `Crypto`.
@available(
    *,
    unavailable,
    message:
        "AWSCredentials needs the trait Crypto of swift-networking: .package(url: …, traits: [.defaults, \"Crypto\"])"
)
public struct AWSCredentials {
    /// Unavailable without the trait.
    public init(accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil) {}
}

/// The check of HTTP Message Signatures needs the trait `Crypto`.
@available(
    *,
    unavailable,
    message:
        "MessageVerifier needs the trait Crypto of swift-networking: .package(url: …, traits: [.defaults, \"Crypto\"])"
)
public struct MessageVerifier {}
#endif
