public import FoundationForNetworking
public import HTTPTypes

/// A receiver of a response's body that is not collected in memory: a file, a stream, a hash.
///
/// A sink is offered each final response head and returns whether it takes the body. If it does, it receives every
/// chunk in order. The sender waits until the sink has processed a chunk before it delivers the next; that is the
/// back-pressure. A sink has one writer at a time.
///
/// ```swift
/// final class ByteCounter: ResponseSink {
///     private let count = Mutex(0)
///
///     func receive(_ chunk: Data) async throws {
///         count.withLock { $0 += chunk.count }
///     }
/// }
///
/// request.sink = ByteCounter()
/// let response = try await network.data(request)   // response.body is .delivered(byteCount)
/// ```
public protocol ResponseSink: Sendable {
    /// Whether a retry may write into the sink again from the start, after it has received bytes.
    ///
    /// `false` by default.
    var canRestart: Bool { get }

    /// Whether a consumer reads from the sink at its own speed, so that waiting for it is not a delay of the network.
    ///
    /// `false` by default.
    var isReaderPaced: Bool { get }

    /// Rewrites a request before it is sent, and before a retry sends it again, so that it asks for the missing part.
    ///
    /// Does nothing by default, so that a retry asks for the whole body again. A sink that already has a part of the
    /// body sets `Range` and `If-Range`. The head that it is then offered shows whether the server has followed them.
    ///
    /// - Parameter request: The request, as the chain has rewritten it.
    func prepare(_ request: inout HTTPRequestData)

    /// Returns whether the sink takes the body of a response.
    ///
    /// By default it takes the body of a success (200 to 299), and the transport collects any other body, up to 1 MiB.
    /// The body of a 503 that will be retried, or the page of a 404, never reaches a file.
    ///
    /// - Parameter head: The head of the response.
    /// - Returns: The sink's decision about the body.
    /// - Throws: An error if the sink cannot take the body; the exchange fails with it.
    func offer(_ head: HTTPResponse) async throws -> SinkDecision

    /// Receives the next bytes of the body, and returns when it can receive more.
    ///
    /// - Parameter chunk: The bytes; never empty.
    /// - Throws: An error if the sink cannot continue; the exchange fails with it.
    func receive(_ chunk: Data) async throws

    /// Notifies the sink that the body it took is complete.
    ///
    /// Does nothing by default.
    ///
    /// - Throws: An error if the sink cannot finish; the exchange fails with it.
    func finish() async throws

    /// Notifies the sink that the body it took will not be complete.
    ///
    /// Does nothing by default.
    ///
    /// - Parameter error: The reason; a `CancellationError` if the caller was cancelled.
    func fail(_ error: any Error)
}

/// The decision of a sink about the body of a response.
public enum SinkDecision: Sendable, Hashable {
    /// The sink receives the body.
    case take
    /// The transport collects the body in memory, up to a maximum number of bytes.
    case collect(upTo: Int64)
    /// The body is not needed; the transport stops reading it.
    case refuse
}

extension ResponseSink {
    /// `false`.
    public var canRestart: Bool {
        false
    }

    /// `false`.
    public var isReaderPaced: Bool {
        false
    }

    /// Does nothing.
    public func prepare(_ request: inout HTTPRequestData) {}

    /// Takes the body of a success, and returns `collect(upTo:)` with 1 MiB for any other body.
    public func offer(_ head: HTTPResponse) async throws -> SinkDecision {
        head.status.isSuccess ? .take : .collect(upTo: 1 << 20)
    }

    /// Does nothing.
    public func finish() async throws {}

    /// Does nothing.
    public func fail(_ error: any Error) {}
}
