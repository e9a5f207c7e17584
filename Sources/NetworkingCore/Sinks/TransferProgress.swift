/// How many bytes of a body have moved, and how many there will be.
public struct BytesTransferred: Sendable, Hashable {
    /// The bytes so far.
    public var count: Int64
    /// The bytes there will be; nil while nobody knows.
    public var expected: Int64?

    /// Creates a count.
    ///
    /// - Parameters:
    ///   - count: The bytes so far.
    ///   - expected: The bytes there will be, if known.
    public init(count: Int64 = 0, expected: Int64? = nil) {
        self.count = count
        self.expected = expected
    }

    /// The part that is done, from 0 to 1; nil while the total is unknown.
    ///
    /// A body without bytes is done.
    public var fractionCompleted: Double? {
        guard let expected else { return nil }
        return expected <= 0 ? 1 : min(1, max(0, Double(count) / Double(expected)))
    }

    /// Adds two counts; the total of the sum is known when both totals are.
    ///
    /// It never overflows: a server may announce any length.
    ///
    /// - Parameters:
    ///   - lhs: A count.
    ///   - rhs: Another.
    /// - Returns: The sum.
    public static func + (lhs: Self, rhs: Self) -> Self {
        let expected = lhs.expected.flatMap { left in rhs.expected.map { sum(left, $0) } }
        return BytesTransferred(count: sum(lhs.count, rhs.count), expected: expected)
    }

    private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
        let (sum, overflows) = left.addingReportingOverflow(right)
        return overflows ? (left > 0 ? .max : .min) : sum
    }
}

/// The bytes of a response's body that have arrived.
public typealias BytesReceived = BytesTransferred

/// The bytes of a request's body that have left.
public typealias BytesSent = BytesTransferred

extension HTTPRequestData {
    /// What there is to send, and that none of it has left.
    package var bytesToSend: BytesSent {
        BytesSent(expected: body == nil ? 0 : body?.length)
    }
}

/// How far an exchange has come, both ways.
public struct TransferProgress: Sendable, Hashable {
    /// The request's body.
    public var sent: BytesSent
    /// The response's body.
    public var received: BytesReceived

    /// Creates a progress value.
    ///
    /// - Parameters:
    ///   - sent: The request's body.
    ///   - received: The response's body.
    public init(sent: BytesSent = BytesSent(), received: BytesReceived = BytesReceived()) {
        self.sent = sent
        self.received = received
    }
}
