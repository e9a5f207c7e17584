public import HTTPTypes

/// A set of status codes.
///
/// ```swift
/// request.acceptedStatuses = .successful.union([404])
/// request.acceptedStatuses = StatusSet(200...399)
/// ```
public struct StatusSet: Sendable, Hashable, ExpressibleByArrayLiteral {
    private var ranges: [ClosedRange<Int>]

    /// 200 to 299.
    public static let successful = StatusSet(200...299)

    /// Every status code, which makes none an error.
    public static let all = StatusSet(0...Int.max)

    /// Creates a set from ranges.
    ///
    /// - Parameter ranges: The ranges of codes that are in it.
    public init(_ ranges: ClosedRange<Int>...) {
        self.ranges = ranges
    }

    /// Creates a set of single codes.
    public init(arrayLiteral codes: Int...) {
        ranges = codes.map { $0...$0 }
    }

    /// Makes a set of what is in either.
    ///
    /// - Parameter other: The other set.
    /// - Returns: The union.
    public func union(_ other: StatusSet) -> StatusSet {
        var union = self
        union.ranges += other.ranges
        return union
    }

    /// Tells whether a status is in the set.
    ///
    /// - Parameter status: The status.
    /// - Returns: Whether its code is in it.
    public func contains(_ status: HTTPResponse.Status) -> Bool {
        ranges.contains { $0.contains(status.code) }
    }
}

extension HTTPResponse.Status {
    /// Code and phrase; the code alone where there is no phrase.
    var text: String {
        reasonPhrase.isEmpty ? "\(code)" : "\(code) \(reasonPhrase)"
    }

    /// Whether the request succeeded: 200 to 299.
    public var isSuccess: Bool {
        kind == .successful
    }

    /// Whether the request failed: 400 to 599.
    public var isFailure: Bool {
        kind == .clientError || kind == .serverError
    }

    /// Whether the server failed: 500 to 599.
    public var isServerError: Bool {
        kind == .serverError
    }
}
