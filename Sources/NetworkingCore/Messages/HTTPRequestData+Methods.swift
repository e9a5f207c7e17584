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

    /// Appends items to the query.
    mutating func append(_ items: RequestQuery) {
        guard !items.isEmpty else { return }
        var all = query
        all.append(items)
        query = all
    }

    /// Creates a GET request.
    ///
    /// ```swift
    /// try await network.data(.get("search", query: ["q": text, "page": 1]))
    /// ```
    ///
    /// - Parameters:
    ///   - path: The path. Interpolated values are escaped.
    ///   - query: The query items.
    ///   - headers: The header fields.
    /// - Returns: The request.
    public static func get(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:]
    ) -> HTTPRequestData {
        HTTPRequestData(.get, path, query: query, headers: headers)
    }

    /// Creates a HEAD request.
    ///
    /// - Parameters:
    ///   - path: The path. Interpolated values are escaped.
    ///   - query: The query items.
    ///   - headers: The header fields.
    /// - Returns: The request.
    public static func head(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:]
    ) -> HTTPRequestData {
        HTTPRequestData(.head, path, query: query, headers: headers)
    }

    /// Creates a POST request.
    ///
    /// - Parameters:
    ///   - path: The path. Interpolated values are escaped.
    ///   - query: The query items.
    ///   - headers: The header fields.
    ///   - body: The body.
    /// - Returns: The request.
    public static func post(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> HTTPRequestData {
        HTTPRequestData(.post, path, query: query, headers: headers, body: body)
    }

    /// Creates a PUT request.
    ///
    /// - Parameters:
    ///   - path: The path. Interpolated values are escaped.
    ///   - query: The query items.
    ///   - headers: The header fields.
    ///   - body: The body.
    /// - Returns: The request.
    public static func put(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> HTTPRequestData {
        HTTPRequestData(.put, path, query: query, headers: headers, body: body)
    }

    /// Creates a PATCH request.
    ///
    /// - Parameters:
    ///   - path: The path. Interpolated values are escaped.
    ///   - query: The query items.
    ///   - headers: The header fields.
    ///   - body: The body.
    /// - Returns: The request.
    public static func patch(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> HTTPRequestData {
        HTTPRequestData(.patch, path, query: query, headers: headers, body: body)
    }

    /// Creates a DELETE request.
    ///
    /// - Parameters:
    ///   - path: The path. Interpolated values are escaped.
    ///   - query: The query items.
    ///   - headers: The header fields.
    /// - Returns: The request.
    public static func delete(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:]
    ) -> HTTPRequestData {
        HTTPRequestData(.delete, path, query: query, headers: headers)
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
    /// Whether the method only reads (RFC 9110 section 9.2.1): GET, HEAD, OPTIONS, TRACE and QUERY.
    public var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace: true
        default: rawValue == "QUERY"
        }
    }

    /// Whether sending a request with this method twice has the same effect as sending it once (RFC 9110 section
    /// 9.2.2): the safe methods, PUT and DELETE.
    public var isIdempotent: Bool {
        isSafe || self == .put || self == .delete
    }
}
