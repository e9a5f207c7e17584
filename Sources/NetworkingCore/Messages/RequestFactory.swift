public import FoundationForNetworking
public import HTTPTypes

/// Creates requests with one method, to a path or a URL: the `.get` of `.get("users/42")`.
///
/// `Output` is ``HTTPRequestData``, or a ``Request`` whose response type is `Decodable` or `Void`:
///
/// ```swift
/// let response = try await network.data(.get("search", query: ["q": text, "page": 1]))
/// let user: User = try await network.request(.get("users/\(id)"))
/// let deletion: Request<Void> = .delete(url)
/// ```
///
/// A method that the library does not name needs one declaration:
///
/// ```swift
/// extension HTTPRequestData {
///     static var propfind: RequestFactory<HTTPRequestData> { RequestFactory(HTTPRequest.Method("PROPFIND")!) }
/// }
/// let folder = try await network.data(.propfind("files", headers: ["Depth": "1"]))
/// ```
public struct RequestFactory<Output>: Sendable {
    private let method: HTTPRequest.Method

    /// Creates a factory.
    ///
    /// - Parameter method: The method of its requests.
    public init(_ method: HTTPRequest.Method) {
        self.method = method
    }
}

// Each kind of request exists for a path and for a URL, because a literal has no type that could stand for both. The
// URL is disfavored, so that a literal is a path even if the app makes `URL` expressible by a string literal.

extension RequestFactory where Output == HTTPRequestData {
    /// Creates a request to a path.
    ///
    /// - Parameters:
    ///   - path: The path. Interpolated values are escaped.
    ///   - query: The query items, which follow those of the path.
    ///   - headers: The header fields.
    ///   - body: The body, for a method that has one.
    /// - Returns: The request.
    public func callAsFunction(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> HTTPRequestData {
        HTTPRequestData(method, path, query: query, headers: headers, body: body)
    }

    /// Creates a request to a URL.
    ///
    /// - Parameters:
    ///   - url: The URL. A relative one goes to the stack's server.
    ///   - query: The query items, which follow those of the URL.
    ///   - headers: The header fields.
    ///   - body: The body, for a method that has one.
    /// - Returns: The request.
    @_disfavoredOverload
    public func callAsFunction(
        _ url: URL,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> HTTPRequestData {
        HTTPRequestData(method, url, query: query, headers: headers, body: body)
    }
}

extension RequestFactory {
    /// Creates a request to a path that decodes its response.
    ///
    /// - Parameters:
    ///   - path: The path. Interpolated values are escaped.
    ///   - query: The query items, which follow those of the path.
    ///   - headers: The header fields.
    ///   - body: The body, for a method that has one.
    /// - Returns: The request.
    public func callAsFunction<Response: Decodable & SendableMetatype>(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Output where Output == Request<Response> {
        Request(HTTPRequestData(method, path, query: query, headers: headers, body: body))
    }

    /// Creates a request to a URL that decodes its response.
    ///
    /// - Parameters:
    ///   - url: The URL. A relative one goes to the stack's server.
    ///   - query: The query items, which follow those of the URL.
    ///   - headers: The header fields.
    ///   - body: The body, for a method that has one.
    /// - Returns: The request.
    @_disfavoredOverload
    public func callAsFunction<Response: Decodable & SendableMetatype>(
        _ url: URL,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Output where Output == Request<Response> {
        Request(HTTPRequestData(method, url, query: query, headers: headers, body: body))
    }

    /// Creates a `Request<Void>` to a path, which only checks the status of its response.
    ///
    /// - Parameters:
    ///   - path: The path. Interpolated values are escaped.
    ///   - query: The query items, which follow those of the path.
    ///   - headers: The header fields.
    ///   - body: The body, for a method that has one.
    /// - Returns: The request.
    public func callAsFunction<each Element: NoElement>(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Output where Output == Request<(repeat each Element)> {
        Request(HTTPRequestData(method, path, query: query, headers: headers, body: body))
    }

    /// Creates a `Request<Void>` to a URL, which only checks the status of its response.
    ///
    /// - Parameters:
    ///   - url: The URL. A relative one goes to the stack's server.
    ///   - query: The query items, which follow those of the URL.
    ///   - headers: The header fields.
    ///   - body: The body, for a method that has one.
    /// - Returns: The request.
    @_disfavoredOverload
    public func callAsFunction<each Element: NoElement>(
        _ url: URL,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Output where Output == Request<(repeat each Element)> {
        Request(HTTPRequestData(method, url, query: query, headers: headers, body: body))
    }
}

extension HTTPRequestData {
    /// Creates a GET request: `.get("users", query: ["page": 2])`.
    public static var get: RequestFactory<HTTPRequestData> { RequestFactory(.get) }

    /// Creates a QUERY request, which reads like a GET and describes what to read in its body (RFC 10008):
    /// `.query("users", body: .json(filter))`.
    ///
    /// The server needs the media type of the body. A modifier treats the request like a GET: it is repeated,
    /// deduplicated, hedged and cached.
    public static var query: RequestFactory<HTTPRequestData> { RequestFactory(.query) }

    /// Creates a HEAD request: `.head("film.mp4")`.
    public static var head: RequestFactory<HTTPRequestData> { RequestFactory(.head) }

    /// Creates a POST request: `.post("users", body: .json(user))`.
    public static var post: RequestFactory<HTTPRequestData> { RequestFactory(.post) }

    /// Creates a PUT request: `.put("users/42", body: .json(user))`.
    public static var put: RequestFactory<HTTPRequestData> { RequestFactory(.put) }

    /// Creates a PATCH request: `.patch("users/42", body: .json(changes))`.
    public static var patch: RequestFactory<HTTPRequestData> { RequestFactory(.patch) }

    /// Creates a DELETE request: `.delete("users/42")`.
    public static var delete: RequestFactory<HTTPRequestData> { RequestFactory(.delete) }
}

// A HEAD response has nothing to decode, so typed requests have no `head`.

extension Request {
    /// Creates a GET request with a typed response: `.get("users", query: ["page": 2])`.
    public static var get: RequestFactory<Request> { RequestFactory<Request>(.get) }

    /// Creates a QUERY request with a typed response (RFC 10008): `.query("users", body: .json(filter))`.
    public static var query: RequestFactory<Request> { RequestFactory<Request>(.query) }

    /// Creates a POST request with a typed response: `.post("users", body: .json(user))`.
    public static var post: RequestFactory<Request> { RequestFactory<Request>(.post) }

    /// Creates a PUT request with a typed response: `.put("users/42", body: .json(user))`.
    public static var put: RequestFactory<Request> { RequestFactory<Request>(.put) }

    /// Creates a PATCH request with a typed response: `.patch("users/42", body: .json(changes))`.
    public static var patch: RequestFactory<Request> { RequestFactory<Request>(.patch) }

    /// Creates a DELETE request with a typed response: `.delete("users/42")`.
    public static var delete: RequestFactory<Request> { RequestFactory<Request>(.delete) }
}
