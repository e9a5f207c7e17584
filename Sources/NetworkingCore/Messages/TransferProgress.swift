/// The number of transferred bytes of a body, and the expected total.
public struct BytesTransferred: Sendable, Hashable {
    /// The number of bytes so far.
    public var count: Int64
    /// The expected number of bytes; `nil` if it is unknown.
    public var expected: Int64?

    /// Creates a count.
    ///
    /// - Parameters:
    ///   - count: The number of bytes so far.
    ///   - expected: The expected number of bytes, if known.
    public init(count: Int64 = 0, expected: Int64? = nil) {
        self.count = count
        self.expected = expected
    }

    /// The completed fraction, from 0 to 1; `nil` if the total is unknown.
    ///
    /// The fraction of an empty body is 1.
    public var fractionCompleted: Double? {
        guard let expected else { return nil }
        return expected <= 0 ? 1 : min(1, max(0, Double(count) / Double(expected)))
    }

    /// Adds two counts; the total of the sum is known if both totals are.
    ///
    /// It never overflows, because a server may announce any length.
    ///
    /// - Parameters:
    ///   - lhs: The first count.
    ///   - rhs: The second count.
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

/// The bytes of a response's body that were received.
public typealias BytesReceived = BytesTransferred

/// The bytes of a request's body that were sent.
public typealias BytesSent = BytesTransferred

extension HTTPRequestData {
    /// The expected number of bytes to send, with none sent yet.
    package var bytesToSend: BytesSent {
        BytesSent(expected: body == nil ? 0 : body?.length)
    }

    /// Adds a closure that receives the progress of the transfer.
    ///
    /// The request keeps its existing closures, which are called after the new one. A transport reports to
    /// ``progressHandler``, which calls all of them.
    ///
    /// ```swift
    /// request.addProgressHandler { progress in
    ///     print(progress.fraction)
    /// }
    /// ```
    ///
    /// - Parameter handler: The closure. The transport calls it on a thread of its choice and waits for it.
    public mutating func addProgressHandler(_ handler: @escaping @Sendable (TransferProgress) -> Void) {
        guard let others = progressHandler else {
            progressHandler = handler
            return
        }
        progressHandler = { progress in
            handler(progress)
            others(progress)
        }
    }
}

extension Request {
    /// Returns a copy with one more closure that receives the progress of the transfer.
    ///
    /// ```swift
    /// let user = try await network.request(.user(id: 42).reporting { progress in print(progress.fraction) })
    /// ```
    ///
    /// - Parameter handler: The closure, as for ``HTTPRequestData/addProgressHandler(_:)``; `nil` adds none.
    /// - Returns: The changed copy.
    public func reporting(to handler: (@Sendable (TransferProgress) -> Void)?) -> Request {
        guard let handler else { return self }
        var request = self
        request.http.addProgressHandler(handler)
        return request
    }
}

/// The progress of an exchange in both directions.
public struct TransferProgress: Sendable, Hashable {
    /// The progress of the request's body.
    public var sent: BytesSent
    /// The progress of the response's body.
    public var received: BytesReceived

    /// Creates a progress value.
    ///
    /// - Parameters:
    ///   - sent: The progress of the request's body.
    ///   - received: The progress of the response's body.
    public init(sent: BytesSent = BytesSent(), received: BytesReceived = BytesReceived()) {
        self.sent = sent
        self.received = received
    }

    /// The completed fraction for a progress bar, from 0 to 1; 0 as long as the total is unknown.
    ///
    /// It is the fraction of the request's body if there is one, as for an upload, and otherwise the fraction of the
    /// response's body. ``BytesTransferred/fractionCompleted`` of ``sent`` and ``received`` tells the two apart, and
    /// tells an unknown total from the start of a transfer.
    ///
    /// ```swift
    /// let response = try await network.data(request) { print($0.fraction) }
    /// ```
    public var fraction: Double {
        let sendsBody = sent.count > 0 || sent.expected ?? 0 > 0
        return (sendsBody ? sent.fractionCompleted : nil) ?? received.fractionCompleted ?? 0
    }
}
