#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A sink that lets somebody watch what goes into another: a hash, a copy, a counter.
///
/// Nothing is held in memory, and the other sink decides about everything.
///
/// ```swift
/// struct Hashed: NetworkingModifier {
///     func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
///         var request = request
///         request.sink = request.sink.map { sink in WatchedSink(sink) { chunk in hash.update(chunk) } }
///         return try await upstream.send(request)
///     }
/// }
/// ```
public struct WatchedSink: ForwardingSink {
    /// The sink that gets everything.
    public let sink: any ResponseSink
    private let onChunk: @Sendable (Data) -> Void
    private let onEnd: @Sendable ((any Error)?) -> Void

    /// Creates a sink.
    ///
    /// - Parameters:
    ///   - sink: Where the body goes.
    ///   - onChunk: Hears each chunk before the sink gets it.
    ///   - onEnd: Hears that the body is complete, or why it is not.
    public init(
        _ sink: any ResponseSink,
        onChunk: @escaping @Sendable (Data) -> Void,
        onEnd: @escaping @Sendable ((any Error)?) -> Void = { _ in }
    ) {
        self.sink = sink
        self.onChunk = onChunk
        self.onEnd = onEnd
    }

    /// Shows the chunk, and passes it on.
    public func receive(_ chunk: Data) async throws {
        onChunk(chunk)
        try await sink.receive(chunk)
    }

    /// Passes on that the body is complete.
    public func finish() async throws {
        try await sink.finish()
        onEnd(nil)
    }

    /// Passes on why the body is not complete.
    public func fail(_ error: any Error) {
        onEnd(error)
        sink.fail(error)
    }
}
