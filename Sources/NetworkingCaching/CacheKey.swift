public import NetworkingCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a cache looks entries up by: whose they are, and where they came from.
public struct CacheKey: Sendable, Hashable {
    /// On whose behalf they were fetched; nil for nobody's.
    public let principal: Principal?
    /// Their URL, without a fragment: scheme and host in lower case, and no port that the scheme implies.
    public let url: String

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - principal: On whose behalf.
    ///   - url: The URL.
    public init(principal: Principal?, url: String) {
        self.principal = principal
        self.url = url
    }

    /// The key of a request; nil while its authority is open.
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
    /// Scheme, host and port.
    var origin: Substring {
        let bytes = url.utf8
        let slash = UInt8(ascii: "/")
        guard let first = bytes.firstIndex(of: slash),
            let host = bytes[first...].dropFirst(2).first.map({ _ in bytes.index(first, offsetBy: 2) })
        else { return url[...] }
        return url[..<(bytes[host...].firstIndex { $0 == slash || $0 == UInt8(ascii: "?") } ?? url.endIndex)]
    }
}

extension CacheKey: CustomStringConvertible, CustomReflectable {
    /// Where it came from, and not whose it is or what a query says.
    public var description: String {
        let end = url.firstIndex(of: "?")
        return end.map { "\(url[..<$0])?<redacted>" } ?? url
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["url": description, "hasPrincipal": principal != nil])
    }
}
