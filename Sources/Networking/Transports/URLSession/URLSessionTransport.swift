#if URLSession
#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif

/// The transport over URLSession, with a session of its own.
///
/// ```swift
/// let configuration = URLSessionConfiguration.ephemeral
/// configuration.httpMaximumConnectionsPerHost = 2
/// let network = URLSessionTransport(configuration: configuration).logged()
/// ```
///
/// Redirects, caching and credentials are the stack's business, so the session follows none, stores nothing and
/// answers no challenge but that for the server's certificate. Its connections close when the transport is released.
public final class URLSessionTransport: NetworkingTransport {
    private let session: URLSession

    /// Creates a transport with a session of its own.
    ///
    /// - Parameter configuration: The configuration, which is copied. Its cache and its credential storage are not
    ///   used.
    public init(configuration: URLSessionConfiguration = .default) {
        session = .forExchanges(configuration)
    }

    deinit {
        // A session keeps its delegate and its connections until it is told to let go.
        session.finishTasksAndInvalidate()
    }

    /// Makes one exchange over URLSession.
    ///
    /// - Parameter request: The request, resolved and checked.
    /// - Returns: The response, with its body collected or delivered to the request's sink.
    /// - Throws: A ``NetworkingError`` that holds the `URLError`, or `CancellationError` as soon as the caller is
    ///   cancelled.
    public func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await session.respond(to: request)
    }
}

extension URLSessionTransport: CustomStringConvertible {
    /// The line of an outline.
    public var description: String {
        "URLSessionTransport"
    }
}

#endif
