public import FoundationForNetworking

/// A sink that shows each chunk to a closure before another sink receives it, for a hash, a copy or a counter.
///
/// It buffers nothing, and the other sink makes every decision.
///
/// ```swift
/// struct Counted: NetworkingModifier {
///     let counter: Counter
///
///     func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
///         var request = request
///         request.sink = request.sink.map { sink in WatchedSink(sink) { chunk in counter.add(chunk.count) } }
///         return try await upstream.send(request)
///     }
/// }
/// ```
public struct WatchedSink: ForwardingSink {
    /// The sink that receives the body.
    public let sink: any ResponseSink
    private let onChunk: @Sendable (Data) -> Void
    private let onEnd: @Sendable ((any Error)?) -> Void

    /// Creates a sink.
    ///
    /// - Parameters:
    ///   - sink: The sink that receives the body.
    ///   - onChunk: Receives each chunk before the sink does.
    ///   - onEnd: Called with `nil` when the body is complete, or with the error that ended it.
    public init(
        _ sink: any ResponseSink,
        onChunk: @escaping @Sendable (Data) -> Void,
        onEnd: @escaping @Sendable ((any Error)?) -> Void = { _ in }
    ) {
        self.sink = sink
        self.onChunk = onChunk
        self.onEnd = onEnd
    }

    /// Shows the chunk to the closure, and passes it on.
    public func receive(_ chunk: Data) async throws {
        onChunk(chunk)
        try await sink.receive(chunk)
    }

    /// Passes on that the body is complete.
    public func finish() async throws {
        try await sink.finish()
        onEnd(nil)
    }

    /// Passes on the reason why the body is not complete.
    public func fail(_ error: any Error) {
        onEnd(error)
        sink.fail(error)
    }
}
