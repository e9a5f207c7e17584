import FoundationForNetworking
public import HTTPTypes
public import NetworkingCore

extension RequestMatcher {
    /// Matches requests with a method.
    ///
    /// - Parameter method: The method.
    /// - Returns: The matcher.
    public static func method(_ method: HTTPRequest.Method) -> RequestMatcher {
        let name = method.rawValue
        return RequestMatcher(
            name,
            test: { $0.method == name },
            explain: { reading in
                [RequestMiss("The method is \(reading.shown(reading.method)), not \(name).", weight: 0.6)]
            }
        )
    }

    /// Matches requests with a method and a path, regardless of host and query.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path, or a path pattern; see ``path(_:)``.
    /// - Returns: The matcher.
    public static func request(_ method: HTTPRequest.Method, _ path: String) -> RequestMatcher {
        let path = Self.path(path)
        return all([.method(method), path]).labelled("\(method) \(path)")
    }

    /// Matches requests with a path, regardless of method, host and query.
    ///
    /// A segment that begins with a colon is a parameter: it matches one segment that is not empty, and the closure
    /// that responds finds its value in ``HTTPRequestData/pathParameters``. An asterisk matches any one segment, or, at
    /// the end, the rest of the path: `/users/*` matches `/users/42/posts`, not `/users`. Segments are compared
    /// decoded, so that `%7E` is `~`; write `%3A` for a colon that begins a segment, and `%2A` for an asterisk. A
    /// trailing slash is significant.
    ///
    /// The query items after a question mark must be in the query, in any order and possibly among others.
    ///
    /// - Parameter path: The path, with or without its leading slash.
    /// - Returns: The matcher.
    /// - Precondition: The parameter names are unique.
    public static func path(_ path: String) -> RequestMatcher {
        let (path, query) = RequestTarget.split(path)
        let pattern = PathPattern(stub: path)
        let matcher = RequestMatcher(
            pattern.text,
            test: { pattern.matches(&$0) },
            explain: { reading in
                let shown = reading.shown(reading.path)
                return [
                    RequestMiss(
                        "The path is \(shown), not \(pattern.text).",
                        weight: 1 + 2 * pattern.distance(to: reading.path)
                    )
                ]
            }
        )
        let items = RequestQuery(encoded: query).items
        guard !items.isEmpty else { return matcher }
        return all([matcher] + items.map { .query($0.name, $0.value) })
            .labelled(pattern.text + Redaction.standard.target("?\(query ?? "")"))
    }

    /// Matches requests to a URL.
    ///
    /// ```swift
    /// RequestMatcher.url("https://api.example.com/users/*")
    /// RequestMatcher.url("https://*.example.com/search?q=swift")
    /// ```
    ///
    /// An asterisk in the host matches any number of characters, including none. The scheme's default port can be
    /// omitted. For path and query, see ``path(_:)``.
    ///
    /// - Parameter url: The URL, or a URL pattern, with its scheme.
    /// - Returns: The matcher.
    /// - Precondition: `url` begins with `https://` or `http://`, and has a host and no fragment.
    public static func url(_ url: String) -> RequestMatcher {
        guard let slashes = url.firstRange(of: "://"), case let scheme = url[..<slashes.lowerBound].lowercased(),
            scheme == "https" || scheme == "http"
        else {
            preconditionFailure("the URL must begin with https:// or http:// (is \(Redaction.standard.reference(url)))")
        }
        precondition(
            !url.contains("#"),
            "the URL must have no fragment, which is never sent; write %23 for a # "
                + "(is \(Redaction.standard.reference(url)))"
        )
        let rest = url[slashes.upperBound...]
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        precondition(!rest[..<end].isEmpty, "the URL must have a host (is \(Redaction.standard.reference(url)))")
        let path = Self.path(rest[end...].isEmpty ? "/" : String(rest[end...]))
        let authority = Self.authority(String(rest[..<end]))
        let isScheme = RequestMatcher(
            scheme,
            test: { ($0.request.scheme ?? "https") == scheme },
            explain: { reading in
                [RequestMiss("The scheme is \(reading.shown(reading.request.scheme ?? "https")), not \(scheme).")]
            }
        )
        return all([isScheme, authority, path]).labelled("\(scheme)://\(authority)\(path)")
    }

    /// Matches requests to a host, regardless of the port.
    ///
    /// - Parameter host: The name or address; an asterisk matches any number of characters, including none:
    ///   `*.example.com`.
    /// - Returns: The matcher.
    /// - Precondition: `host` is not empty.
    public static func host(_ host: String) -> RequestMatcher {
        precondition(!host.isEmpty, "host must not be empty")
        let name = HostName(host.lowercased())
        return RequestMatcher(
            "host \(host)",
            test: { name.matches($0.host) },
            explain: { reading in
                [RequestMiss("The host is \(reading.shown(reading.host)), not \(host).", weight: 2)]
            }
        )
    }

    /// Matches requests to an authority: a host, with the port if it is not the scheme's default.
    ///
    /// - Parameter authority: The authority, such as `api.example.com:8443`; an asterisk matches any number of
    ///   characters, including none.
    /// - Returns: The matcher.
    /// - Precondition: `authority` is not empty.
    public static func authority(_ authority: String) -> RequestMatcher {
        precondition(!authority.isEmpty, "authority must not be empty")
        // The scheme of the request decides which port is the default.
        let secureName = HostName(AuthorityKey(authority).text)
        let plainName = HostName(AuthorityKey(authority, isPlain: true).text)
        let label = Redaction.standard.authority(authority)
        return RequestMatcher(
            label,
            test: { reading in
                let name = reading.request.scheme == "http" ? plainName : secureName
                return name.matches(reading.authority) || name.matches(reading.fullAuthority)
            },
            explain: { reading in
                let shown = reading.shown(reading.redaction.authority(reading.authority))
                return [RequestMiss("The authority is \(shown), not \(label).", weight: 2)]
            }
        )
    }

    /// Matches requests that equal a given one in method, URL, header fields, body and the options that count for
    /// equality.
    ///
    /// Unspecified parts of the request have the values that would be sent: `https`, `/`, and the `Content-Type` of its
    /// body.
    ///
    /// - Parameter request: The request as it arrives, with its authority and everything that a stack adds.
    /// - Returns: The matcher.
    public static func equal(to request: HTTPRequestData) -> RequestMatcher {
        let expected = request.asSent
        return RequestMatcher(
            "\(expected)",
            test: { $0.requestAsSent == expected },
            explain: { reading in
                misses(of: &reading, from: expected)
            }
        )
    }

    private static func misses(of reading: inout RequestReading, from other: HTTPRequestData) -> [RequestMiss] {
        let request = reading.requestAsSent
        var misses = method(other.method).misses(in: &reading)
        if request.absoluteString ?? request.closedTarget != other.absoluteString ?? other.closedTarget {
            // The method is left out, because it has its own sentence.
            let shown = request.description.drop { $0 != " " }.dropFirst()
            let expected = other.description.drop { $0 != " " }.dropFirst()
            let what =
                shown == expected
                ? "The URL differs in a part that is not shown." : "The URL is \(shown), not \(expected)."
            misses.append(
                RequestMiss(
                    what,
                    weight: 1 + 2 * PathPattern(stub: other.path ?? "/").distance(to: request.path ?? "/")
                )
            )
        }
        let names = Set(request.headerFields.map(\.name)).union(other.headerFields.map(\.name))
        for name in names.sorted(by: { $0.canonicalName < $1.canonicalName })
        where request.headerFields[values: name] != other.headerFields[values: name] {
            misses += difference(of: name, in: request, from: other)
        }
        if request.body != other.body {
            misses.append(RequestMiss(bodyDifference(&reading, from: other)))
        }
        return misses.isEmpty ? [RequestMiss("An option of the request has another value.")] : misses
    }

    private static func difference(
        of name: HTTPField.Name,
        in request: HTTPRequestData,
        from other: HTTPRequestData
    ) -> [RequestMiss] {
        guard let expected = other.headerFields[name] else {
            return [RequestMiss("The field \(name.rawName) is not expected.", weight: 0.5)]
        }
        var reading = RequestReading(request)
        let misses = headerField(name, expected).misses(in: &reading)
        return misses.isEmpty ? [RequestMiss("The field \(name.rawName) has other values.", weight: 0.5)] : misses
    }

    private static func bodyDifference(_ reading: inout RequestReading, from other: HTTPRequestData) -> String {
        guard let body = other.body else { return "A body of \(reading.body.count) bytes is not expected." }
        guard reading.request.body != nil else { return "There is no body; expected is \(body)." }
        guard let data = body.data, data != reading.body else {
            let shown = reading.shown("\(reading.request.body?.description ?? "none")")
            return "The body is \(shown), not \(body)."
        }
        let (shown, expected) = (reading.shown(body: reading.body), reading.shown(body: data))
        return shown == expected
            ? "The body differs in a part that is not shown." : "The body is \(shown), not \(expected)."
    }
}

/// The name or pattern of a host, in lower case.
private struct HostName: Sendable {
    private let name: String
    private let pattern: NamePattern?

    init(_ name: String) {
        self.name = name
        pattern = NamePattern(name)
    }

    func matches(_ host: String) -> Bool {
        guard let pattern else { return host == name }
        var host = host
        return host.withUTF8 { pattern.matches($0) }
    }
}
