public import FoundationForNetworking
public import HTTPTypes

// Disfavored, so that a literal is a path even if the app makes `URL` expressible by a string literal.

extension HTTPRequestData {
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

    /// Creates a GET request to a URL.
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
    ) -> HTTPRequestData {
        HTTPRequestData(.get, url, query: query, headers: headers)
    }

    /// Creates a HEAD request to a URL.
    ///
    /// - Parameters:
    ///   - url: The URL. A relative one goes to the stack's server.
    ///   - query: The query items, which follow those of the URL.
    ///   - headers: The header fields.
    /// - Returns: The request.
    @_disfavoredOverload
    public static func head(
        _ url: URL,
        query: RequestQuery = [:],
        headers: HeaderFields = [:]
    ) -> HTTPRequestData {
        HTTPRequestData(.head, url, query: query, headers: headers)
    }

    /// Creates a POST request to a URL.
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
    ) -> HTTPRequestData {
        HTTPRequestData(.post, url, query: query, headers: headers, body: body)
    }

    /// Creates a PUT request to a URL.
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
    ) -> HTTPRequestData {
        HTTPRequestData(.put, url, query: query, headers: headers, body: body)
    }

    /// Creates a PATCH request to a URL.
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
    ) -> HTTPRequestData {
        HTTPRequestData(.patch, url, query: query, headers: headers, body: body)
    }

    /// Creates a DELETE request to a URL.
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
    ) -> HTTPRequestData {
        HTTPRequestData(.delete, url, query: query, headers: headers)
    }
}
