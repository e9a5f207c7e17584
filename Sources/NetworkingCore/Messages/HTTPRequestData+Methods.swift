public import FoundationForNetworking
public import HTTPTypes

extension HTTPRequestData {
    /// Creates a request in one expression.
    ///
    /// ```swift
    /// HTTPRequestData(.post, "users", query: ["notify": true], headers: ["X-Client": "app"], body: .json(user))
    /// ```
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path. Interpolated values are escaped.
    ///   - query: The query items, which follow those of the path.
    ///   - headers: The header fields.
    ///   - body: The body.
    public init(
        _ method: HTTPRequest.Method,
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) {
        self.init(method: method, path: path, headerFields: headers, body: body)
        append(query)
    }

    /// Creates a request to a URL in one expression.
    ///
    /// ```swift
    /// let request = HTTPRequestData(.put, url, query: ["size": 64], body: .data(Data()))
    /// ```
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The URL. A relative one goes to the stack's server.
    ///   - query: The query items, which follow those of the URL.
    ///   - headers: The header fields.
    ///   - body: The body.
    @_disfavoredOverload
    public init(
        _ method: HTTPRequest.Method,
        _ url: URL,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) {
        self.init(method: method, url: url, headerFields: headers, body: body)
        append(query)
    }

    /// Appends items to the query.
    private mutating func append(_ items: RequestQuery) {
        guard !items.isEmpty else { return }
        var all = query
        all.append(items)
        query = all
    }

    /// Returns a copy with another value of one property.
    ///
    /// ```swift
    /// try await network.data(.get("news").with(\.cacheMode, .reload).with(\.timeout, .seconds(5)))
    /// ```
    ///
    /// For a path with values, use ``with(path:)``, which escapes them.
    ///
    /// - Parameters:
    ///   - property: The property to change.
    ///   - value: Its new value.
    /// - Returns: The changed copy, which has the same identifier.
    public func with<Value>(_ property: WritableKeyPath<HTTPRequestData, Value>, _ value: Value) -> HTTPRequestData {
        var request = self
        request[keyPath: property] = value
        return request
    }

    /// Returns a copy with another path, in which interpolated values are escaped.
    ///
    /// ```swift
    /// let request = template.with(path: "users/\(name)")
    /// ```
    ///
    /// - Parameter path: The path. If it contains a question mark, it also replaces the query.
    /// - Returns: The changed copy, which has the same identifier.
    public func with(path: RequestPath) -> HTTPRequestData {
        var request = self
        request.path = path.text
        if path.hasInvalidSegment {
            request.state.insert(.hasInvalidSegment)
        } else {
            request.state.remove(.hasInvalidSegment)
        }
        return request
    }
}

extension HTTPRequest.Method {
    /// Whether the method only reads (RFC 9110 section 9.2.1, RFC 10008 section 2): GET, HEAD, OPTIONS, TRACE and
    /// QUERY.
    public var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace, .query: true
        default: false
        }
    }

    /// Whether sending a request with this method twice has the same effect as sending it once (RFC 9110 section
    /// 9.2.2): the safe methods, PUT and DELETE.
    public var isIdempotent: Bool {
        isSafe || self == .put || self == .delete
    }
}
