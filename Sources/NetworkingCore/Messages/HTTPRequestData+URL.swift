#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension HTTPRequestData {
    /// The path, with its leading slash and percent-encoded, without the query; nil while it is open.
    ///
    /// Setting one that has a question mark replaces the query too, and one without keeps it. A missing leading slash
    /// is added, and what a path may not hold is percent-encoded; escapes that are there stay as they are.
    public var path: String? {
        get {
            let path = Self.split(target ?? "").path
            return path.isEmpty ? nil : String(path)
        }
        set {
            let query = Self.split(target ?? "").query
            guard let newValue else {
                target = Self.join(path: "", query: query.map { String($0) })
                return
            }
            let replaced = Self.target(path: newValue)
            let hasQuery = Self.split(replaced).query != nil
            target = hasQuery ? replaced : Self.join(path: replaced[...], query: query.map { String($0) })
        }
    }

    /// The items of the query, decoded; order, repetition and empty values are kept.
    public var queryItems: [URLQueryItem] {
        get { query.items }
        set { query.items = newValue }
    }

    /// The host of the authority, without brackets, port or userinfo; nil while the authority is open.
    public var host: String? {
        authority.map { String(Authority($0).host) }
    }

    /// The port that the authority names; nil when it names none.
    public var port: Int? {
        authority.flatMap { Authority($0).port }
    }

    /// The URL.
    ///
    /// Reading it closes what is open with `https` and `/`; it is nil while the authority is open.
    ///
    /// Setting a relative URL leaves scheme and authority as they are; the fragment is dropped, and nil opens all.
    public var url: URL? {
        get { absoluteString.flatMap { URL(string: $0) } }
        set {
            guard let newValue else {
                scheme = nil
                authority = nil
                target = nil
                return
            }
            // The string rather than URL's components: they decode, normalise or trap.
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
                authority = String(rest[..<end])
                rest = rest[end...]
            }
            target = rest.isEmpty ? "/" : Self.target(path: String(rest))
        }
    }

    /// The URL as text, with everything open closed but the authority; nil without one.
    package var absoluteString: String? {
        guard let authority else { return nil }
        // The asterisk of `OPTIONS *` is no path: its URL has none (RFC 9112 section 3.2.4).
        let target = requestTarget
        return "\(scheme ?? "https")://\(authority)\(target == "*" ? "" : target)"
    }

    /// Path and query as transports send them (RFC 9112 section 3.2.1), for what signs them.
    ///
    /// `/` where the path is open. A query in an encoding of somebody's own may hold what a URL cannot; that is encoded
    /// here.
    public var requestTarget: String {
        PercentEncoding.encodeTarget(closedTarget)
    }

    /// Path and query, with what is open closed.
    package var closedTarget: String {
        guard let target, let first = target.utf8.first else { return "/" }
        return first == UInt8(ascii: "?") ? "/" + target : target
    }

    /// Gives a path its leading slash and encodes what may not stand in a path or a query.
    ///
    /// The asterisk of `OPTIONS *` stays alone.
    package static func target(path: String) -> String {
        let encoded = PercentEncoding.encodeTarget(path)
        return encoded.hasPrefix("/") || encoded == "*" ? encoded : "/" + encoded
    }

    package static func split(_ target: String) -> (path: Substring, query: Substring?) {
        guard let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return (target[...], nil) }
        return (target[..<mark], target[target.index(after: mark)...])
    }

    static func join(path: Substring, query: String?) -> String? {
        guard let query else { return path.isEmpty ? nil : String(path) }
        return "\(path)?\(query)"
    }
}
