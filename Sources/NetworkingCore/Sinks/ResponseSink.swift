public import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Where the body of a response goes when it is not to be collected in memory: a file, a stream, a hash.
///
/// A sink is offered each final response head and answers whether it takes the body. If it does, it receives every
/// chunk in order, and its sender waits until it is done with one before it brings the next; that is the
/// back-pressure. It has one writer at a time.
///
/// ```swift
/// final class Hash: ResponseSink {
///     func receive(_ chunk: Data) async throws {
///         state.withLock { $0.update(chunk) }
///     }
/// }
///
/// request.sink = hash
/// let response = try await network.data(request)   // response.body is .delivered(byteCount)
/// ```
public protocol ResponseSink: Sendable {
    /// Whether a retry may write into it again from the start, after it has received bytes. False by default.
    var canRestart: Bool { get }

    /// Whether somebody reads from it at their own speed, so that waiting for it says nothing about the network.
    /// False by default.
    var isReaderPaced: Bool { get }

    /// Rewrites a request before it is sent, and before a retry sends it again, so that it asks for what is missing.
    ///
    /// Does nothing by default, so that a retry asks for the whole again. A sink that has a part sets `Range` and
    /// `If-Range`, and finds out from the head that it is offered whether the server has done so.
    ///
    /// - Parameter request: The request, as the chain has rewritten it.
    func prepare(_ request: inout HTTPRequestData)

    /// Answers whether it takes the body of a response.
    ///
    /// By default it takes the body of a success (200 to 299) and has the transport collect any other, up to 1 MiB: a
    /// 503 that will be retried or the page of a 404 never reaches a file.
    ///
    /// - Parameter head: The head of the response.
    /// - Returns: What becomes of the body.
    /// - Throws: What keeps it from taking the body; the exchange fails with it.
    func offer(_ head: HTTPResponse) async throws -> SinkAnswer

    /// Receives the next bytes of the body, and returns when it can receive more.
    ///
    /// - Parameter chunk: The bytes; never empty.
    /// - Throws: What keeps it from going on; the exchange fails with it.
    func receive(_ chunk: Data) async throws

    /// Hears that the body it took has arrived in full. Does nothing by default.
    ///
    /// - Throws: What keeps it from finishing; the exchange fails with it.
    func finish() async throws

    /// Hears that the body it took will not arrive in full. Does nothing by default.
    ///
    /// - Parameter error: Why; a `CancellationError` when the caller gave up.
    func fail(_ error: any Error)
}

/// What a sink answers to the head of a response.
public enum SinkAnswer: Sendable, Hashable {
    /// It receives the body.
    case take
    /// The transport collects the body in memory, up to a number of bytes and not more.
    case collect(upTo: Int64)
    /// Nobody wants the body; the transport stops reading it.
    case refuse
}

extension ResponseSink {
    /// False.
    public var canRestart: Bool {
        false
    }

    /// False.
    public var isReaderPaced: Bool {
        false
    }

    /// Does nothing.
    public func prepare(_ request: inout HTTPRequestData) {}

    /// Takes the body of a success, and has up to 1 MiB of any other collected.
    public func offer(_ head: HTTPResponse) async throws -> SinkAnswer {
        head.status.isSuccess ? .take : .collect(upTo: 1 << 20)
    }

    /// Does nothing.
    public func finish() async throws {}

    /// Does nothing.
    public func fail(_ error: any Error) {}
}
