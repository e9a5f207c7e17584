import FoundationForNetworking
public import NetworkingCore

/// The key of entries in a cache: the principal that they were fetched for, their URL, and the body of a QUERY.
public struct CacheKey: Sendable, Hashable {
    /// The principal that the entries were fetched for; `nil` if there is none.
    public let principal: Principal?
    /// The URL of the entries, without a fragment: scheme and host in lower case, and no default port.
    public let url: String
    /// A digest of the body of a QUERY and of the fields that describe it (RFC 10008 section 2.7); `nil` for a GET.
    public let query: String?

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - principal: The principal.
    ///   - url: The URL.
    ///   - query: The digest of the body of a QUERY; `nil` for a GET.
    public init(principal: Principal?, url: String, query: String? = nil) {
        self.principal = principal
        self.url = url
        self.query = query
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
    /// The parts of the key besides the URL as bytes, by which a store outside the memory distinguishes keys.
    ///
    /// The first byte is 0 without a principal, or 1 before its id. It is 2 or 3 if the length and the bytes of the
    /// query are between the two.
    package var ownerBytes: [UInt8] {
        let id = principal.map { Array($0.id.utf8) } ?? []
        guard let query else { return [principal == nil ? 0 : 1] + id }
        return withUnsafeBytes(of: UInt32(clamping: query.utf8.count).littleEndian) {
            [principal == nil ? 2 : 3] + $0 + query.utf8 + id
        }
    }

    /// Creates a key from its URL and ``ownerBytes``; `nil` if the bytes are damaged.
    package init?(url: String, ownerBytes bytes: some Collection<UInt8>) {
        guard let kind = bytes.first, kind <= 3 else { return nil }
        var rest = Array(bytes.dropFirst())[...]
        var query: String?
        if kind >= 2 {
            guard rest.count >= 4 else { return nil }
            let length = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(4)
            guard length <= rest.count, let text = String(validating: rest.prefix(length), as: UTF8.self) else {
                return nil
            }
            query = text
            rest = rest.dropFirst(length)
        }
        guard let id = String(validating: rest, as: UTF8.self) else { return nil }
        self.init(principal: kind & 1 == 0 ? nil : Principal(id: id), url: url, query: query)
    }

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
        Mirror(self, children: ["url": description, "hasPrincipal": principal != nil, "isQuery": query != nil])
    }
}
