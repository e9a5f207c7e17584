/// A mistake in a ``ServerTrust`` or in its certificates, found before any request is sent.
public struct ServerTrustError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The mistake and a solution, in complete sentences, without secrets.
    public let reason: String

    /// Creates an error.
    ///
    /// - Parameter reason: The mistake and a solution, in complete sentences, without secrets.
    public init(_ reason: String) {
        self.reason = reason
    }

    /// The reason.
    public var description: String {
        reason
    }
}
