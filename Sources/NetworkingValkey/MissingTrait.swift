#if !Valkey
/// Replaces the store in builds without the trait `Valkey`, so that the compiler's error names the trait.
@available(
    *,
    unavailable,
    message: """
        ValkeyCacheStore needs the trait Valkey of swift-networking: \
        .package(url: …, traits: [.defaults, "Valkey"])
        """
)
public struct ValkeyCacheStore {
    /// Unavailable without the trait.
    public init(namespace: String) {}
}

/// Replaces the storage in builds without the trait `Valkey`, so that the compiler's error names the trait.
@available(
    *,
    unavailable,
    message: """
        ValkeySessionStorage needs the trait Valkey of swift-networking: \
        .package(url: …, traits: [.defaults, "Valkey"])
        """
)
public struct ValkeySessionStorage {
    /// Unavailable without the trait.
    public init(namespace: String) {}
}

/// Replaces the client in builds without the trait `Valkey`, so that the compiler's error names the trait.
@available(
    *,
    unavailable,
    message: """
        ValkeyClient needs the trait Valkey of swift-networking: \
        .package(url: …, traits: [.defaults, "Valkey"])
        """
)
public struct ValkeyClient {
    /// Unavailable without the trait.
    public init(_ address: ValkeyAddress, others: [ValkeyAddress] = []) {}
}
#endif
