// Each method exists twice, because the type of a request decides at compile time whether its response is decoded.

extension Request where Response: Decodable & SendableMetatype {
    /// Creates a GET request that decodes its response.
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
    ) -> Request {
        Request(HTTPRequestData(.get, path, query: query, headers: headers))
    }

    /// Creates a POST request that decodes its response.
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
    ) -> Request {
        Request(HTTPRequestData(.post, path, query: query, headers: headers, body: body))
    }

    /// Creates a PUT request that decodes its response.
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
    ) -> Request {
        Request(HTTPRequestData(.put, path, query: query, headers: headers, body: body))
    }

    /// Creates a PATCH request that decodes its response.
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
    ) -> Request {
        Request(HTTPRequestData(.patch, path, query: query, headers: headers, body: body))
    }

    /// Creates a DELETE request that decodes its response.
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
    ) -> Request {
        Request(HTTPRequestData(.delete, path, query: query, headers: headers))
    }
}

// The requests without a value. See `NoElement` for the generic parameter.
extension Request {
    /// Creates a GET request that only checks the status of its response.
    ///
    /// - Parameters:
    ///   - path: The path. Interpolated values are escaped.
    ///   - query: The query items.
    ///   - headers: The header fields.
    /// - Returns: The request.
    public static func get<each Element: NoElement>(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:]
    ) -> Request where Response == (repeat each Element) {
        Request(HTTPRequestData(.get, path, query: query, headers: headers))
    }

    /// Creates a HEAD request that only checks the status of its response.
    ///
    /// - Parameters:
    ///   - path: The path. Interpolated values are escaped.
    ///   - query: The query items.
    ///   - headers: The header fields.
    /// - Returns: The request.
    public static func head<each Element: NoElement>(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:]
    ) -> Request where Response == (repeat each Element) {
        Request(HTTPRequestData(.head, path, query: query, headers: headers))
    }

    /// Creates a POST request that only checks the status of its response.
    ///
    /// - Parameters:
    ///   - path: The path. Interpolated values are escaped.
    ///   - query: The query items.
    ///   - headers: The header fields.
    ///   - body: The body.
    /// - Returns: The request.
    public static func post<each Element: NoElement>(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Request where Response == (repeat each Element) {
        Request(HTTPRequestData(.post, path, query: query, headers: headers, body: body))
    }

    /// Creates a PUT request that only checks the status of its response.
    ///
    /// - Parameters:
    ///   - path: The path. Interpolated values are escaped.
    ///   - query: The query items.
    ///   - headers: The header fields.
    ///   - body: The body.
    /// - Returns: The request.
    public static func put<each Element: NoElement>(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Request where Response == (repeat each Element) {
        Request(HTTPRequestData(.put, path, query: query, headers: headers, body: body))
    }

    /// Creates a PATCH request that only checks the status of its response.
    ///
    /// - Parameters:
    ///   - path: The path. Interpolated values are escaped.
    ///   - query: The query items.
    ///   - headers: The header fields.
    ///   - body: The body.
    /// - Returns: The request.
    public static func patch<each Element: NoElement>(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Request where Response == (repeat each Element) {
        Request(HTTPRequestData(.patch, path, query: query, headers: headers, body: body))
    }

    /// Creates a DELETE request that only checks the status of its response.
    ///
    /// - Parameters:
    ///   - path: The path. Interpolated values are escaped.
    ///   - query: The query items.
    ///   - headers: The header fields.
    /// - Returns: The request.
    public static func delete<each Element: NoElement>(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:]
    ) -> Request where Response == (repeat each Element) {
        Request(HTTPRequestData(.delete, path, query: query, headers: headers))
    }
}

extension Request {
    /// Returns a copy with another value of one property of its request.
    ///
    /// ```swift
    /// let user = try await network.request(.user(id: 42).with(\.cacheMode, .reload))
    /// ```
    ///
    /// - Parameters:
    ///   - property: The property of ``http`` to change.
    ///   - value: Its new value.
    /// - Returns: The changed copy.
    public func with<Value>(_ property: WritableKeyPath<HTTPRequestData, Value>, _ value: Value) -> Request {
        var request = self
        request.http[keyPath: property] = value
        return request
    }
}
