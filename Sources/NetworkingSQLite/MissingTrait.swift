#if !SQLite
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Stands in for the store in builds without the trait `SQLite`, so that the compiler's error names the trait.
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
#endif
