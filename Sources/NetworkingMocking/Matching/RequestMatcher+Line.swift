public import HTTPTypes
public import NetworkingCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension RequestMatcher {
    /// Matches the requests with a method.
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

    /// Matches the requests with a method and a path, whatever their host and query.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path, or a pattern of one; see ``path(_:)``.
    /// - Returns: The matcher.
    public static func request(_ method: HTTPRequest.Method, _ path: String) -> RequestMatcher {
        let path = Self.path(path)
        return all([.method(method), path]).labelled("\(method) \(path)")
    }

    /// Matches the requests with a path, whatever their method, host and query.
    ///
    /// A part that begins with a colon is a parameter: it matches one part that is not empty, which the closure that
    /// answers finds in ``HTTPRequestData/pathParameters``. An asterisk is any one part, and at the end all that is
    /// left: `/users/*` matches `/users/42/posts`, not `/users`. Parts are compared decoded, so that `%7E` is `~`;
    /// write `%3A` for a colon that begins a part, and `%2A` for an asterisk. A trailing slash counts.
    ///
    /// Query items behind a question mark have to be in the query, in any order and among others.
    ///
    /// - Parameter path: The path, with or without its leading slash.
    /// - Returns: The matcher.
    /// - Precondition: Each parameter has a name of its own.
    public static func path(_ path: String) -> RequestMatcher {
        let (path, query) = HTTPRequestData.split(path)
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

    /// Matches the requests to a URL.
    ///
    /// ```swift
    /// .url("https://api.example.com/users/*")
    /// .url("https://*.example.com/search?q=swift")
    /// ```
    ///
    /// An asterisk in the host stands for any characters or none; the port that the scheme implies may be left out.
    /// Path and query are as in ``path(_:)``.
    ///
    /// - Parameter url: The URL, or a pattern of one, with its scheme.
    /// - Returns: The matcher.
    /// - Precondition: It begins with `https://` or `http://`, and has a host and no fragment.
    public static func url(_ url: String) -> RequestMatcher {
        guard let slashes = url.firstRange(of: "://"), case let scheme = url[..<slashes.lowerBound].lowercased(),
            scheme == "https" || scheme == "http"
        else {
            preconditionFailure("the URL must begin with https:// or http:// (is \(Redaction.standard.reference(url)))")
        }
        precondition(
            !url.contains("#"),
            "the URL must have no fragment, which is never sent; write %23 for a # (is \(Redaction.standard.reference(url)))"
        )
        let rest = url[slashes.upperBound...]
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        precondition(!rest[..<end].isEmpty, "the URL must have a host (is \(Redaction.standard.reference(url)))")
        let path = Self.path(rest[end...].isEmpty ? "/" : String(rest[end...]))
        let authority = Self.authority(String(rest[..<end]), isPlain: scheme == "http")
        let isScheme = RequestMatcher(
            scheme,
            test: { ($0.request.scheme ?? "https") == scheme },
            explain: { reading in
                [RequestMiss("The scheme is \(reading.shown(reading.request.scheme ?? "https")), not \(scheme).")]
            }
        )
        return all([isScheme, authority, path]).labelled("\(scheme)://\(authority)\(path)")
    }

    /// Matches the requests to a host, whatever the port.
    ///
    /// - Parameter host: Its name or address; an asterisk stands for any characters or none: `*.example.com`.
    /// - Returns: The matcher.
    /// - Precondition: It is not empty.
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

    /// Matches the requests to an authority: a host, and the port if it is not the scheme's own.
    ///
    /// - Parameter authority: The authority: `api.example.com:8443`; an asterisk stands for any characters or none.
    /// - Returns: The matcher.
    /// - Precondition: It is not empty.
    public static func authority(_ authority: String) -> RequestMatcher {
        precondition(!authority.isEmpty, "authority must not be empty")
        return Self.authority(authority, isPlain: false)
    }

    private static func authority(_ authority: String, isPlain: Bool) -> RequestMatcher {
        let name = HostName(AuthorityKey(authority, isPlain: isPlain).text)
        let label = Redaction.standard.authority(authority)
        return RequestMatcher(
            label,
            test: { name.matches($0.authority) || name.matches($0.fullAuthority) },
            explain: { reading in
                let shown = reading.shown(reading.redaction.authority(reading.authority))
                return [RequestMiss("The authority is \(shown), not \(label).", weight: 2)]
            }
        )
    }

    /// Matches the requests that equal one: same method, URL, header fields, body, and options that say that they
    /// matter.
    ///
    /// What it leaves open is as it would be sent: `https`, `/`, and the `Content-Type` of its body.
    ///
    /// - Parameter request: The request as it arrives: with authority and all that a stack adds.
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
            // With no method, since that is told apart.
            let shown = request.description.drop { $0 != " " }.dropFirst()
            let expected = other.description.drop { $0 != " " }.dropFirst()
            let what =
                shown == expected
                ? "The URL differs in what is not shown of it." : "The URL is \(shown), not \(expected)."
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
        let misses = header(name, expected).misses(in: &reading)
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
            ? "The body differs in what is not shown of it." : "The body is \(shown), not \(expected)."
    }
}

/// The name of a host, or a pattern of one, in lower case.
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
