#if TestServer
public import FoundationForNetworking
public import HTTPTypes
import NetworkingCore

/// A request as it arrived at a ``TestServer``.
public struct RecordedRequest: Sendable, Hashable {
    /// The method.
    public var method: HTTPRequest.Method

    /// The path as sent, percent-encoded and without the query.
    public var path: String

    /// The query as sent, without its `?`; `nil` if the request had none.
    public var query: String?

    /// Every field in the order and spelling of arrival, including `Host` and repeated fields.
    public var headerFields: HTTPFields

    /// The body without its transfer coding, up to the limit of the server.
    ///
    /// Empty if a route responds at the head.
    public var body: Data

    /// The number of bytes of the body that arrived, even if only some were recorded.
    public var bodyByteCount: Int

    /// The number of the connection.
    ///
    /// The first connection of a server is 1.
    public var connection: Int

    /// The parameters of the route's path, without percent-encoding.
    ///
    /// Empty without a route.
    public var parameters: [String: String]

    /// The number of the request on its connection.
    ///
    /// The first one is 1.
    public var numberOnConnection: Int

    /// The version of HTTP that the request arrived in: `HTTP/1.1` or `HTTP/2`.
    public var httpVersion: String

    /// The fields after a chunked body, in the order and spelling of arrival.
    public var trailerFields: HTTPFields

    /// The sizes of the chunks of a chunked body, in order and without the empty last one.
    ///
    /// Empty without that coding.
    public var chunkSizes: [Int]

    /// Whether the whole request arrived.
    ///
    /// `false` if the server responded before the body arrived, or disconnected within the request.
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
        httpVersion = "HTTP/1.1"
        trailerFields = [:]
        chunkSizes = []
        isComplete = true
    }

    /// Whether the connection carried an earlier request.
    public var isOnReusedConnection: Bool {
        numberOnConnection > 1
    }

    /// Whether the client sent `Expect: 100-continue`.
    public var expectsContinue: Bool {
        headerFields[.expect]?.lowercased() == "100-continue"
    }

    /// The items of the query in order, without percent-encoding.
    ///
    /// `+` stays a plus.
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
