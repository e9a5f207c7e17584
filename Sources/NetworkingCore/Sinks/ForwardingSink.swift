public import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A sink around another that passes on what it does not change.
///
/// What a modifier puts around the sink of a request has to answer for that sink in everything, or a download is not
/// gone on with, and the time in which a reader thinks counts as the network's. So the defaults here are the other
/// sink's answers, and not those of ``ResponseSink``.
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
/// ``WatchedSink`` is one for those who only look.
public protocol ForwardingSink: ResponseSink {
    /// The sink that it is around.
    var sink: any ResponseSink { get }
}

extension ForwardingSink {
    /// The other sink's answer.
    public var canRestart: Bool {
        sink.canRestart
    }

    /// The other sink's answer.
    public var isReaderPaced: Bool {
        sink.isReaderPaced
    }

    /// Lets the other sink rewrite the request.
    public func prepare(_ request: inout HTTPRequestData) {
        sink.prepare(&request)
    }

    /// Offers the head to the other sink.
    public func offer(_ head: HTTPResponse) async throws -> SinkAnswer {
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

    /// Passes on why the body is not complete.
    public func fail(_ error: any Error) {
        sink.fail(error)
    }
}
