#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Why a cassette could not be opened or saved, or what is left of it that should not be.
public struct CassetteError: Error, LocalizedError, CustomStringConvertible {
    /// What is wrong and the way out, without secrets.
    public let reason: String

    /// The ``reason``.
    public var description: String {
        reason
    }

    /// The ``reason``, for `localizedDescription`.
    public var errorDescription: String? {
        reason
    }
}
