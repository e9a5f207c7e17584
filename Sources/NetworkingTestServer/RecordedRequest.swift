#if TestServer
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
public import HTTPTypes
import Networking

/// Holds one request as it arrived at a ``TestServer``.
public struct RecordedRequest: Sendable, Hashable {
    /// The method.
    public var method: HTTPRequest.Method

    /// The path as it was sent, percent-encoded and without the query.
    public var path: String

    /// The query as it was sent, without its `?`; nil when the request had none.
    public var query: String?

    /// Every field in the order and spelling of arrival, `Host` and repeated ones included.
    public var headerFields: HTTPFields

    /// The body, without its transfer coding, as far as the server keeps bodies; empty where a route answers at the
    /// head.
    public var body: Data

    /// How many bytes of body arrived, also when not all of them were kept.
    public var bodyByteCount: Int

    /// The number of the connection that brought the request; the first connection of a server is 1.
    public var connection: Int

    /// What the route that answers the request read from the path, without percent-encoding; empty without a route.
    public var parameters: [String: String]

    /// The number of the request on its connection; the first one is 1.
    public var numberOnConnection: Int

    /// The fields behind a chunked body, in the order and spelling of arrival.
    public var trailerFields: HTTPFields

    /// The sizes of the chunks of a chunked body, in order and without the last one, which is empty; empty without that
    /// coding.
    public var chunkSizes: [Int]

    /// Whether the request arrived to its last byte; not so when the answer came before the body, or cut it off.
    public var isComplete: Bool

    /// Creates a request without fields and without a body.
    package init(method: HTTPRequest.Method, target: some StringProtocol, connection: Int) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        self.method = method
        path = String(parts[0])
        query = parts.count == 2 ? String(parts[1]) : nil
        headerFields = [:]
        body = Data()
        bodyByteCount = 0
        self.connection = connection
        parameters = [:]
        numberOnConnection = 1
        trailerFields = [:]
        chunkSizes = []
        isComplete = true
    }

    /// Whether the connection had brought a request before.
    public var isOnReusedConnection: Bool {
        numberOnConnection > 1
    }

    /// Whether the client asked with `Expect: 100-continue` whether it may send its body.
    public var expectsContinue: Bool {
        headerFields[.expect]?.lowercased() == "100-continue"
    }

    /// The items of the query in their order, without percent-encoding; `+` stays a plus.
    public var queryItems: [URLQueryItem] {
        guard let query, !query.isEmpty else { return [] }
        return query.split(separator: "&")
            .map { item in
                let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                return URLQueryItem(
                    name: PercentEncoding.decode(parts[0]),
                    value: parts.count == 2 ? PercentEncoding.decode(parts[1]) : nil
                )
            }
    }
}
#endif
