/// How far the compressed body of a response may unfold, so that a few bytes on the wire do not fill memory or a disk.
///
/// ```swift
/// request.decompressionLimit = .ratio(50)
/// request.decompressionLimit = DecompressionLimit(ratio: 200, size: 1 << 30)
/// ```
///
/// It counts for every body that the transport decodes, into memory or a sink; one in memory has
/// ``HTTPRequestData/maximumResponseBytes`` besides. A body that goes past it fails with
/// ``NetworkingError/Kind/tooLarge``.
public struct DecompressionLimit: Sendable, Hashable {
    /// How many times as long as on the wire a body may become; nil for any.
    ///
    /// The first 8 MiB are free: a ratio says little about a short body.
    public let ratio: Int?

    /// How many bytes a body may become; nil for any.
    public let size: Int64?

    /// Creates a limit.
    ///
    /// - Parameters:
    ///   - ratio: How many times as long as on the wire a body may become; nil for any.
    ///   - size: How many bytes a body may become; nil for any.
    /// - Precondition: Both are greater than zero where they are given.
    public init(ratio: Int?, size: Int64? = nil) {
        precondition(ratio ?? 1 > 0, "ratio must be greater than zero (is \(ratio ?? 0))")
        precondition(size ?? 1 > 0, "size must be greater than zero (is \(size ?? 0))")
        self.ratio = ratio
        self.size = size
    }

    /// Up to 200 times as long: text rarely gets beyond 50, and what a server makes up for harm gets to 1,000.
    public static let standard = DecompressionLimit(ratio: 200)

    /// A ratio alone.
    ///
    /// - Parameter ratio: How many times as long as on the wire a body may become.
    /// - Returns: The limit.
    /// - Precondition: `ratio` is greater than zero.
    public static func ratio(_ ratio: Int) -> DecompressionLimit {
        DecompressionLimit(ratio: ratio)
    }

    /// No limit.
    public static let none = DecompressionLimit(ratio: nil)

    /// The length from which on the ratio counts.
    package static let freeBytes: Int64 = 8 << 20

    /// Tells whether a body has unfolded too far.
    ///
    /// - Parameters:
    ///   - decoded: Its length so far.
    ///   - encoded: The length on the wire so far; nil when nobody knows.
    /// - Returns: Whether it has gone past the limit.
    package func isExceeded(decoded: Int64, encoded: Int64?) -> Bool {
        if let size, decoded > size { return true }
        guard let ratio, let encoded, decoded > Self.freeBytes else { return false }
        return decoded / Int64(ratio) > encoded
    }
}
