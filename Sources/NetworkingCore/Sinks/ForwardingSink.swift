public import FoundationForNetworking
public import HTTPTypes

/// A sink that forwards to another sink everything that it does not change.
///
/// A modifier that wraps the sink of a request must forward all of the sink's properties. Otherwise a download is not
/// resumed, or the time that a reader takes counts as network time. For this reason, the defaults here forward to the
/// other sink, unlike those of ``ResponseSink``.
///
/// ```swift
/// struct UnmaskingSink: ForwardingSink {
///     let sink: any ResponseSink
///     let mask: UInt8
///
///     func receive(_ chunk: Data) async throws {
///         try await sink.receive(Data(chunk.map { $0 ^ mask }))
///     }
/// }
/// ```
///
/// If you only need to observe the chunks, use ``WatchedSink``.
public protocol ForwardingSink: ResponseSink {
    /// The sink to forward to.
    var sink: any ResponseSink { get }
}

extension ForwardingSink {
    /// The value of the other sink.
    public var canRestart: Bool {
        sink.canRestart
    }

    /// The value of the other sink.
    public var isReaderPaced: Bool {
        sink.isReaderPaced
    }

    /// Lets the other sink rewrite the request.
    public func prepare(_ request: inout HTTPRequestData) {
        sink.prepare(&request)
    }

    /// Offers the head to the other sink.
    public func offer(_ head: HTTPResponse) async throws -> SinkDecision {
        try await sink.offer(head)
    }

    /// Passes the chunk on.
    public func receive(_ chunk: Data) async throws {
        try await sink.receive(chunk)
    }

    /// Passes on that the body is complete.
    public func finish() async throws {
        try await sink.finish()
    }

    /// Passes on the reason why the body is not complete.
    public func fail(_ error: any Error) {
        sink.fail(error)
    }
}
