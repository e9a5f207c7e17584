#if !SQLite
public import FoundationForNetworking

/// Replaces the store in builds without the trait `SQLite`, so that the compiler's error names the trait.
@available(
    *,
    unavailable,
    message:
        "SQLiteCacheStore needs the trait SQLite of swift-networking: .package(url: …, traits: [.defaults, \"SQLite\"])"
)
public struct SQLiteCacheStore {
    /// Unavailable without the trait.
    public init(file: URL, costLimit: Int = 0, entryCostLimit: Int = 0) {}
}

/// Replaces the store in builds without the trait `SQLite`, so that the compiler's error names the trait.
@available(
    *,
    unavailable,
    message: """
        SQLiteCookieStorage needs the trait SQLite of swift-networking: \
        .package(url: …, traits: [.defaults, "SQLite"])
        """
)
public struct SQLiteCookieStorage {
    /// Unavailable without the trait.
    public init(file: URL) {}
}

/// Replaces the store in builds without the trait `SQLite`, so that the compiler's error names the trait.
@available(
    *,
    unavailable,
    message: """
        SQLiteOutboxStore needs the trait SQLite of swift-networking: \
        .package(url: …, traits: [.defaults, "SQLite"])
        """
)
public struct SQLiteOutboxStore {
    /// Unavailable without the trait.
    public init(file: URL) {}
}

/// Replaces the store in builds without the trait `SQLite`, so that the compiler's error names the trait.
@available(
    *,
    unavailable,
    message: """
        SQLiteSessionStorage needs the trait SQLite of swift-networking: \
        .package(url: …, traits: [.defaults, "SQLite"])
        """
)
public struct SQLiteSessionStorage {
    /// Unavailable without the trait.
    public init(file: URL) {}
}

/// Replaces the store in builds without the trait `SQLite`, so that the compiler's error names the trait.
@available(
    *,
    unavailable,
    message: """
        SQLiteRateLimit needs the trait SQLite of swift-networking: \
        .package(url: …, traits: [.defaults, "SQLite"])
        """
)
public struct SQLiteRateLimit {
    /// Unavailable without the trait.
    public init(file: URL) {}
}
#endif
