import NetworkingCore

/// A limit that a server reports in the header fields of a response.
///
/// ``HTTPResponseData/serverLimits`` returns those of a response, and ``ServerRateLimiter`` keeps to
/// them.
public struct ServerLimit: Sendable, Hashable {
    /// What a limit counts.
    public struct Unit: Sendable, Hashable, CustomStringConvertible {
        /// The name in the field `RateLimit-Policy`.
        public let name: String

        /// Creates a unit.
        ///
        /// - Parameter name: The name in the field `RateLimit-Policy`.
        public init(_ name: String) {
            self.name = name
        }

        /// Requests in a window.
        public static let requests = Unit("requests")
        /// Bytes of content in a window; a limiter does not count them.
        public static let contentBytes = Unit("content-bytes")
        /// Requests at the same time.
        public static let concurrentRequests = Unit("concurrent-requests")

        /// The name.
        public var description: String {
            PrintableText.singleLine(name)
        }
    }

    /// The name of the policy; empty for the fields that name none, such as `X-RateLimit-Remaining`.
    public let policy: String
    /// The partition of the policy that the request belonged to, in base64; `nil` if the server names none.
    public let partition: String?
    /// What the limit counts.
    public let unit: Unit
    /// The number of units in a window; `nil` if it is not known.
    public let quota: Int?
    /// The length of a window; `nil` if it is not known.
    public let window: Duration?
    /// The number of units that remain; `nil` if it is not known.
    public let remaining: Int?
    /// The time from the response until the window ends; `nil` if it is not known.
    public let reset: Duration?

    /// Creates a limit, for fields that the library does not read.
    ///
    /// - Parameters:
    ///   - policy: The name of the policy.
    ///   - partition: The partition of the policy.
    ///   - unit: What the limit counts.
    ///   - quota: The number of units in a window. Like the other numbers, it often comes from a server, so a negative
    ///     one counts as zero.
    ///   - window: The length of a window.
    ///   - remaining: The number of units that remain.
    ///   - reset: The time from the response until the window ends.
    public init(
        policy: String = "",
        partition: String? = nil,
        unit: Unit = .requests,
        quota: Int? = nil,
        window: Duration? = nil,
        remaining: Int? = nil,
        reset: Duration? = nil
    ) {
        self.policy = policy
        self.partition = partition
        self.unit = unit
        self.quota = quota.map { max(0, $0) }
        self.window = window.map { max(.zero, $0).bounded }
        self.remaining = remaining.map { max(0, $0) }
        self.reset = reset.map { max(.zero, $0).bounded }
    }

    /// The limit with the state that a server reports in another field than the policy.
    func reporting(_ state: ServerLimit) -> ServerLimit {
        ServerLimit(
            policy: policy,
            partition: state.partition ?? partition,
            unit: unit,
            quota: quota,
            window: window,
            remaining: state.remaining,
            reset: state.reset
        )
    }
}

extension ServerLimit: CustomStringConvertible {
    /// The limit: `"default": 0 of 100 requests, for 30.0 seconds`.
    public var description: String {
        let name = policy.isEmpty ? "" : "\"\(PrintableText.singleLine(policy))\": "
        let count = "\(remaining.map { "\($0)" } ?? "?") of \(quota.map { "\($0)" } ?? "?") \(unit)"
        return name + count + (reset.map { ", for \($0.roundedText)" } ?? "")
    }
}
