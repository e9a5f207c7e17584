public import FoundationForNetworking

extension NetworkingComponent {
    /// Sends requests to a server: sets the scheme and the authority, and adds the server's path as a prefix.
    ///
    /// ```swift
    /// let network = URLSession.shared.server(baseURL: URL(string: "https://api.example.com/v1")!)
    /// ```
    ///
    /// A request with its own authority is sent there, with its own path. It gets only the scheme, if it has none.
    ///
    /// - Parameter baseURL: The URL. Its query and fragment are not used.
    /// - Returns: A component that sends requests to that server.
    /// - Precondition: `baseURL` has a scheme and a host, and no credentials.
    public func server(baseURL: URL) -> some NetworkingComponent {
        modified(Server(baseURL: baseURL))
    }

    /// Sets the scheme of requests that left it open.
    ///
    /// - Parameters:
    ///   - scheme: `https` or `http`.
    ///   - overriding: Whether it replaces the scheme of requests that have one.
    /// - Returns: A component that sends requests with that scheme.
    public func server(scheme: String, overriding: Bool = false) -> some NetworkingComponent {
        modified(
            Server("scheme: \"\(scheme)\"\(overriding.setting)") { request in
                if overriding || request.scheme == nil {
                    request.scheme = scheme
                }
            }
        )
    }

    /// Sets the authority of requests that left it open.
    ///
    /// ```swift
    /// let network = URLSession.shared.server(authority: "api.example.com")
    /// ```
    ///
    /// - Parameters:
    ///   - authority: The host, and the port if it is not the scheme's default.
    ///   - overriding: Whether it replaces the authority of requests that have one.
    /// - Returns: A component that sends requests to that authority.
    public func server(authority: String, overriding: Bool = false) -> some NetworkingComponent {
        modified(
            Server(
                "authority: \"\(Redaction.standard.authority(authority))\"\(overriding.setting)",
                authority: authority
            ) { request in
                request.setServer(authority: authority, overriding: overriding)
            }
        )
    }

    /// Sets the path of requests that left it open.
    ///
    /// The query of such a request is kept. Place it outside of `server(prefixPath:)` and of a `server(baseURL:)` with
    /// a path, which leave no path open.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - overriding: Whether it replaces the path of requests that have one.
    /// - Returns: A component that sends requests with that path.
    public func server(path: String, overriding: Bool = false) -> some NetworkingComponent {
        modified(
            Server("path: \"\(path)\"\(overriding.setting)", path: overriding ? nil : .open) { request in
                if overriding || request.path == nil {
                    request.path = path
                }
            }
        )
    }

    /// Adds a prefix to the path of each request to the stack's server, once, even if the request is sent several
    /// times.
    ///
    /// A request with its own authority keeps its path.
    ///
    /// - Parameter prefix: The start of the path: `v1` changes `/users` to `/v1/users`.
    /// - Returns: A component that sends requests with that prefix.
    public func server(prefixPath prefix: String) -> some NetworkingComponent {
        let path = HTTPRequestData.pathPrefix(prefix)
        return modified(
            Server("prefixPath: \"\(prefix)\"", path: path.isEmpty ? nil : .prefix) { request in
                if request.isRelative, !path.isEmpty {
                    request.prependPath(path)
                }
            }
        )
    }
}

extension ServerTerm {
    /// Returns the modifier of `server(baseURL:)` for a server that the app uses during this term.
    ///
    /// - Parameter baseURL: The URL.
    /// - Returns: The modifier. After the term, requests that it has rewritten get no credentials of the stack.
    /// - Precondition: `baseURL` has a scheme and a host, and no credentials.
    package func server(baseURL: URL) -> any UpstreamLimited {
        Server(baseURL: baseURL, during: self)
    }
}

extension Server {
    fileprivate init(baseURL: URL, during term: ServerTerm? = nil) {
        let base = HTTPRequestData(url: baseURL)
        precondition(
            base.scheme != nil && base.host?.isEmpty == false,
            "baseURL must have a scheme and a host (is \(base))"
        )
        precondition(
            Authority(base.authority ?? "").userinfo == nil,
            "baseURL must not contain credentials (is \(base)); set the Authorization field instead"
        )
        let prefix = base.path.map { $0 == "/" ? "" : $0 } ?? ""
        let path = HTTPRequestData.pathPrefix(prefix)
        self.init(
            "baseURL: \"\(base.scheme ?? "")://\(base.authority ?? "")\(prefix)\"",
            authority: base.authority,
            path: path.isEmpty ? nil : .prefix
        ) { request in
            // The path is set first, because the authority must still be open to show that the request belongs to
            // this server.
            if request.isRelative, !path.isEmpty {
                request.prependPath(path)
            }
            if request.scheme == nil {
                request.scheme = base.scheme
            }
            request.setServer(authority: base.authority ?? "", overriding: false, during: term)
        }
    }
}

extension HTTPRequestData {
    /// Returns the path to write before the path of a request; empty if there is nothing to write.
    fileprivate static func pathPrefix(_ text: String) -> String {
        var prefix = String(RequestTarget.split(target(path: text)).path)
        while prefix.hasSuffix("/") {
            prefix.removeLast()
        }
        return prefix
    }
}

extension Bool {
    /// The text of `overriding` in an outline.
    var setting: String {
        self ? ", overriding: true" : ""
    }
}
