public import FoundationForNetworking
public import HTTPTypes
public import NetworkingCore

extension HTTPRequestData {
    /// Creates a request from one of swift-http-types, for clients that describe their requests with that package.
    ///
    /// ```swift
    /// let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/users/42")
    /// let response = try await network.data(HTTPRequestData(request, baseURL: baseURL))
    /// print(response.http.status, response.data.count)
    /// ```
    ///
    /// - Parameters:
    ///   - request: The method, the path with its query, and the header fields.
    ///   - baseURL: The server and the prefix of the path, in place of the request's own server. With `nil`, the
    ///     request's own scheme and authority are used, and the stack fills in missing parts.
    ///   - body: The body.
    public init(_ request: HTTPRequest, baseURL: URL? = nil, body: RequestBody? = nil) {
        let base = baseURL.map { HTTPRequestData(url: $0) }
        self.init(
            method: request.method,
            scheme: base?.scheme ?? request.scheme,
            authority: base?.authority ?? request.authority,
            path: Self.path(request.path, under: base?.path),
            headerFields: HeaderFields(request.headerFields),
            body: body
        )
    }

    /// Returns a path below a prefix, with one slash between them.
    private static func path(_ path: String?, under prefix: String?) -> String? {
        guard var prefix else { return path }
        guard let path else { return prefix }
        // The asterisk of `OPTIONS *` stands for the server itself, not for a path.
        guard path != "*" else { return path }
        if prefix.hasSuffix("/") {
            prefix.removeLast()
        }
        return path.hasPrefix("/") || path.isEmpty || path.hasPrefix("?") ? prefix + path : "\(prefix)/\(path)"
    }
}
