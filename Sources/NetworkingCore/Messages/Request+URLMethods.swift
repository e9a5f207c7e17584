public import FoundationForNetworking

// Each method exists twice, as in `Request+Methods.swift`.

extension Request where Response: Decodable & SendableMetatype {
    /// Creates a GET request to a URL that decodes its response.
    ///
    /// - Parameters:
    ///   - url: The URL. A relative one goes to the stack's server.
    ///   - query: The query items, which follow those of the URL.
    ///   - headers: The header fields.
    /// - Returns: The request.
    @_disfavoredOverload
    public static func get(
        _ url: URL,
        query: RequestQuery = [:],
        headers: HeaderFields = [:]
    ) -> Request {
        Request(HTTPRequestData(.get, url, query: query, headers: headers))
    }

    /// Creates a POST request to a URL that decodes its response.
    ///
    /// - Parameters:
    ///   - url: The URL. A relative one goes to the stack's server.
    ///   - query: The query items, which follow those of the URL.
    ///   - headers: The header fields.
    ///   - body: The body.
    /// - Returns: The request.
    @_disfavoredOverload
    public static func post(
        _ url: URL,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Request {
        Request(HTTPRequestData(.post, url, query: query, headers: headers, body: body))
    }

    /// Creates a PUT request to a URL that decodes its response.
    ///
    /// - Parameters:
    ///   - url: The URL. A relative one goes to the stack's server.
    ///   - query: The query items, which follow those of the URL.
    ///   - headers: The header fields.
    ///   - body: The body.
    /// - Returns: The request.
    @_disfavoredOverload
    public static func put(
        _ url: URL,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Request {
        Request(HTTPRequestData(.put, url, query: query, headers: headers, body: body))
    }

    /// Creates a PATCH request to a URL that decodes its response.
    ///
    /// - Parameters:
    ///   - url: The URL. A relative one goes to the stack's server.
    ///   - query: The query items, which follow those of the URL.
    ///   - headers: The header fields.
    ///   - body: The body.
    /// - Returns: The request.
    @_disfavoredOverload
    public static func patch(
        _ url: URL,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Request {
        Request(HTTPRequestData(.patch, url, query: query, headers: headers, body: body))
    }

    /// Creates a DELETE request to a URL that decodes its response.
    ///
    /// - Parameters:
    ///   - url: The URL. A relative one goes to the stack's server.
    ///   - query: The query items, which follow those of the URL.
    ///   - headers: The header fields.
    /// - Returns: The request.
    @_disfavoredOverload
    public static func delete(
        _ url: URL,
        query: RequestQuery = [:],
        headers: HeaderFields = [:]
    ) -> Request {
        Request(HTTPRequestData(.delete, url, query: query, headers: headers))
    }
}

// The requests without a value. See `NoElement` for the generic parameter.
extension Request {
    /// Creates a GET request to a URL that only checks the status of its response.
    ///
    /// - Parameters:
    ///   - url: The URL. A relative one goes to the stack's server.
    ///   - query: The query items, which follow those of the URL.
    ///   - headers: The header fields.
    /// - Returns: The request.
    @_disfavoredOverload
    public static func get<each Element: NoElement>(
        _ url: URL,
        query: RequestQuery = [:],
        headers: HeaderFields = [:]
    ) -> Request where Response == (repeat each Element) {
        Request(HTTPRequestData(.get, url, query: query, headers: headers))
    }

    /// Creates a HEAD request to a URL that only checks the status of its response.
    ///
    /// - Parameters:
    ///   - url: The URL. A relative one goes to the stack's server.
    ///   - query: The query items, which follow those of the URL.
    ///   - headers: The header fields.
    /// - Returns: The request.
    @_disfavoredOverload
    public static func head<each Element: NoElement>(
        _ url: URL,
        query: RequestQuery = [:],
        headers: HeaderFields = [:]
    ) -> Request where Response == (repeat each Element) {
        Request(HTTPRequestData(.head, url, query: query, headers: headers))
    }

    /// Creates a POST request to a URL that only checks the status of its response.
    ///
    /// - Parameters:
    ///   - url: The URL. A relative one goes to the stack's server.
    ///   - query: The query items, which follow those of the URL.
    ///   - headers: The header fields.
    ///   - body: The body.
    /// - Returns: The request.
    @_disfavoredOverload
    public static func post<each Element: NoElement>(
        _ url: URL,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Request where Response == (repeat each Element) {
        Request(HTTPRequestData(.post, url, query: query, headers: headers, body: body))
    }

    /// Creates a PUT request to a URL that only checks the status of its response.
    ///
    /// - Parameters:
    ///   - url: The URL. A relative one goes to the stack's server.
    ///   - query: The query items, which follow those of the URL.
    ///   - headers: The header fields.
    ///   - body: The body.
    /// - Returns: The request.
    @_disfavoredOverload
    public static func put<each Element: NoElement>(
        _ url: URL,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Request where Response == (repeat each Element) {
        Request(HTTPRequestData(.put, url, query: query, headers: headers, body: body))
    }

    /// Creates a PATCH request to a URL that only checks the status of its response.
    ///
    /// - Parameters:
    ///   - url: The URL. A relative one goes to the stack's server.
    ///   - query: The query items, which follow those of the URL.
    ///   - headers: The header fields.
    ///   - body: The body.
    /// - Returns: The request.
    @_disfavoredOverload
    public static func patch<each Element: NoElement>(
        _ url: URL,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Request where Response == (repeat each Element) {
        Request(HTTPRequestData(.patch, url, query: query, headers: headers, body: body))
    }

    /// Creates a DELETE request to a URL that only checks the status of its response.
    ///
    /// - Parameters:
    ///   - url: The URL. A relative one goes to the stack's server.
    ///   - query: The query items, which follow those of the URL.
    ///   - headers: The header fields.
    /// - Returns: The request.
    @_disfavoredOverload
    public static func delete<each Element: NoElement>(
        _ url: URL,
        query: RequestQuery = [:],
        headers: HeaderFields = [:]
    ) -> Request where Response == (repeat each Element) {
        Request(HTTPRequestData(.delete, url, query: query, headers: headers))
    }
}
