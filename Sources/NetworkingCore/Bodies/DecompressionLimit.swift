/// A limit on the decompressed length of a response's body, so that a few bytes on the wire cannot fill memory or a
/// disk.
///
/// ```swift
/// request.decompressionLimit = .ratio(50)
/// request.decompressionLimit = DecompressionLimit(ratio: 200, size: 1 << 30)
/// ```
///
/// The limit applies to every body that the transport decodes, into memory or into a sink. A body in memory is also
/// limited by ``HTTPRequestData/maximumResponseBytes``. A body beyond the limit fails with
/// ``NetworkingError/Kind/tooLarge``.
public struct DecompressionLimit: Sendable, Hashable {
    /// The maximum ratio of the decoded length to the length on the wire; `nil` for no limit.
    ///
    /// The ratio applies only to bodies of more than 8 MiB, because short bodies may compress very well.
    public let ratio: Int?

    /// The maximum number of decoded bytes; `nil` for no limit.
    public let size: Int64?

    /// Creates a limit.
    ///
    /// - Parameters:
    ///   - ratio: The maximum ratio of the decoded length to the length on the wire; `nil` for no limit.
    ///   - size: The maximum number of decoded bytes; `nil` for no limit.
    /// - Precondition: Both are greater than zero if they are set.
    public init(ratio: Int?, size: Int64? = nil) {
        precondition(ratio ?? 1 > 0, "ratio must be greater than zero (is \(ratio ?? 0))")
        precondition(size ?? 1 > 0, "size must be greater than zero (is \(size ?? 0))")
        self.ratio = ratio
        self.size = size
    }

    /// The default: a ratio of 200.
    ///
    /// Text rarely exceeds 50, and malicious bodies reach 1,000.
    public static let standard = DecompressionLimit(ratio: 200)

    /// Creates a limit with only a ratio.
    ///
    /// - Parameter ratio: The maximum ratio of the decoded length to the length on the wire.
    /// - Returns: The limit.
    /// - Precondition: `ratio` is greater than zero.
    public static func ratio(_ ratio: Int) -> DecompressionLimit {
        DecompressionLimit(ratio: ratio)
    }

    /// No limit.
    public static let none = DecompressionLimit(ratio: nil)

    /// The decoded length above which the ratio applies.
    package static let freeBytes: Int64 = 8 << 20

    /// Returns whether a body exceeds the limit, for transports.
    ///
    /// - Parameters:
    ///   - decoded: The decoded length so far.
    ///   - encoded: The length on the wire so far; `nil` if it is unknown.
    /// - Returns: `true` if the body exceeds the limit.
    public func isExceeded(decoded: Int64, encoded: Int64?) -> Bool {
        if let size, decoded > size { return true }
        guard let ratio, let encoded, decoded > Self.freeBytes else { return false }
        return decoded / Int64(ratio) > encoded
    }
}
