import FoundationForNetworking
public import NetworkingCore

/// The key of entries in a cache: the principal that they were fetched for, and their URL.
public struct CacheKey: Sendable, Hashable {
    /// The principal that the entries were fetched for; `nil` if there is none.
    public let principal: Principal?
    /// The URL of the entries, without a fragment: scheme and host in lower case, and no default port.
    public let url: String

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - principal: The principal.
    ///   - url: The URL.
    public init(principal: Principal?, url: String) {
        self.principal = principal
        self.url = url
    }

    /// Creates the key of a request; `nil` if the request has no authority yet.
    init?(_ request: HTTPRequestData, principal: Principal?) {
        guard let authority = request.authority else { return nil }
        let scheme = request.scheme.map { $0 == "https" ? $0 : $0.lowercased() } ?? "https"
        let target = request.closedTarget
        var url = scheme
        url += "://"
        url += AuthorityKey(authority, isPlain: scheme == "http").text
        if target != "*" {
            url += PercentEncoding.encodeTarget(target)
        }
        self.init(principal: principal, url: url)
    }
}

extension CacheKey {
    /// The scheme, host and port.
    public var origin: String {
        let bytes = url.utf8
        let slash = UInt8(ascii: "/")
        guard let first = bytes.firstIndex(of: slash),
            let host = bytes[first...].dropFirst(2).first.map({ _ in bytes.index(first, offsetBy: 2) })
        else { return url }
        let end = bytes[host...].firstIndex { $0 == slash || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
        return String(url[..<(end ?? url.endIndex)])
    }
}

extension CacheKey: CustomStringConvertible, CustomReflectable {
    /// The URL with a redacted query, without the principal.
    public var description: String {
        let end = url.firstIndex(of: "?")
        return end.map { "\(url[..<$0])?<redacted>" } ?? url
    }

    /// A mirror without secrets, for dumps.
    public var customMirror: Mirror {
        Mirror(self, children: ["url": description, "hasPrincipal": principal != nil])
    }
}
