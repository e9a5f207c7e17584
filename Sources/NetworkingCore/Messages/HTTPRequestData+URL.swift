public import FoundationForNetworking

extension HTTPRequestData {
    /// The percent-encoded path with its leading slash and without the query; `nil` if it is open.
    ///
    /// Setting a path that contains a question mark also replaces the query; setting one without keeps the query. A
    /// missing leading slash is added. Characters that a path may not contain are percent-encoded; existing escapes
    /// stay as they are. The segments `.` and `..` are removed when the request is sent (RFC 3986 section 5.2.4). A
    /// value that is interpolated into the text is not escaped, so that a slash or a question mark in it changes the
    /// URL. Use ``with(path:)`` for such a path.
    public var path: String? {
        get {
            let path = RequestTarget.split(target ?? "").path
            return path.isEmpty ? nil : String(path)
        }
        set {
            if newValue.map(RequestPath.hasScheme) == true {
                state.insert(.hasSchemeInPath)
            } else if !isResolving {
                // The modifiers of a stack add text before the path, which does not make a URL a path.
                state.remove(.hasSchemeInPath)
            }
            let query = RequestTarget.split(target ?? "").query
            guard let newValue else {
                target = RequestTarget.join(path: "", query: query.map { String($0) })
                return
            }
            let replaced = Self.target(path: newValue)
            let hasQuery = RequestTarget.split(replaced).query != nil
            target = hasQuery ? replaced : RequestTarget.join(path: replaced[...], query: query.map { String($0) })
        }
    }

    /// The decoded items of the query; order, repetition and empty values are kept.
    public var queryItems: [URLQueryItem] {
        get { query.items }
        set { query.items = newValue }
    }

    /// The host of the authority, without brackets, port or userinfo; `nil` if the authority is open.
    public var host: String? {
        authority.map { String(Authority($0).host) }
    }

    /// The port in the authority; `nil` if the authority has no port.
    public var port: Int? {
        authority.flatMap { Authority($0).port }
    }

    /// The URL of the request; `nil` if the authority is open.
    ///
    /// When it is read, an open scheme becomes `https` and an open path becomes `/`.
    ///
    /// Setting a relative URL keeps scheme and authority. The fragment is dropped, as is the colon of an empty port.
    /// Setting `nil` opens scheme, authority and path.
    public var url: URL? {
        get { absoluteString.flatMap { URL(string: $0) } }
        set {
            state.remove([.hasInvalidSegment, .hasSchemeInPath])
            guard let newValue else {
                scheme = nil
                authority = nil
                target = nil
                return
            }
            // The string is used, because the components of `URL` decode, normalise or trap.
            var rest = newValue.absoluteString[...]
            if let hash = rest.firstIndex(of: "#") {
                rest = rest[..<hash]
            }
            if let newScheme = newValue.scheme {
                scheme = newScheme.lowercased()
                rest = rest.dropFirst(newScheme.utf8.count + 1)
            }
            if rest.hasPrefix("//") {
                rest = rest.dropFirst(2)
                let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
                authority = Authority.omittingEmptyPort(String(rest[..<end]))
                rest = rest[end...]
            }
            target = rest.isEmpty ? "/" : Self.target(path: String(rest))
        }
    }

    /// The URL as text, with defaults for an open scheme and path; `nil` if the authority is open.
    package var absoluteString: String? {
        guard let authority else { return nil }
        // The asterisk of `OPTIONS *` is not a path, so its URL has none (RFC 9112 section 3.2.4).
        let target = requestTarget
        return "\(scheme ?? "https")://\(authority)\(target == "*" ? "" : target)"
    }

    /// The path and query as transports send them (RFC 9112 section 3.2.1), for code that signs them.
    ///
    /// An open path is `/`. If the app encoded the query itself, it may contain characters that a URL cannot. They are
    /// percent-encoded here.
    public var requestTarget: String {
        PercentEncoding.encodeTarget(closedTarget)
    }

    /// The path and query, with `/` for an open path.
    package var closedTarget: String {
        guard let target, let first = target.utf8.first else { return "/" }
        return first == UInt8(ascii: "?") ? "/" + target : target
    }

    /// Adds the leading slash to a path and encodes the characters that a path or a query may not contain.
    ///
    /// The asterisk of `OPTIONS *` stays as it is.
    package static func target(path: String) -> String {
        let encoded = PercentEncoding.encodeTarget(path)
        return encoded.hasPrefix("/") || encoded == "*" ? encoded : "/" + encoded
    }

    /// Sets an open path to `/` and removes the dot segments of the path.
    ///
    /// Every request and every redirect passes through here before a modifier reads its path, and again before a
    /// transport does.
    mutating func closeTarget() {
        guard target.map(RequestTarget.isPlain) != true else { return }
        let closed = RequestTarget.removingDotSegments(closedTarget)
        if target != closed {
            target = closed
        }
    }

    /// Writes a path in front of the path of the request.
    ///
    /// - Parameter prefix: The path, without a slash at its end.
    mutating func prependPath(_ prefix: String) {
        let (path, query) = RequestTarget.split(target ?? "")
        // The asterisk of `OPTIONS *` stands for the server itself, not for a path.
        guard path != "*" else { return }
        // Removed here, because dot segments must not lead out of the prefix.
        let kept = RequestTarget.removingDotSegments(String(path))
        target = RequestTarget.join(path: (prefix + kept)[...], query: query.map { String($0) })
    }
}
