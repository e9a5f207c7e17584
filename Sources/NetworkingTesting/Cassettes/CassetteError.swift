public import FoundationForNetworking

/// An error from opening, checking or saving a cassette.
public struct CassetteError: Error, LocalizedError, CustomStringConvertible {
    /// The problem and how to fix it, without secrets.
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
