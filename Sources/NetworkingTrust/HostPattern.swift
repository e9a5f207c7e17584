import NetworkingCore

/// A host name, or a pattern for the hosts below a name.
///
/// | Pattern | Matches | Does not match |
/// |---|---|---|
/// | `api.example.com` | `api.example.com` | any other host |
/// | `*.example.com` | `api.example.com` | `example.com`, `a.b.example.com` |
/// | `**.example.com` | `example.com`, `api.example.com`, `a.b.example.com` | `badexample.com` |
///
/// Case and a dot at the end do not matter. Write an international name in its ASCII form (`xn--…`). An IP address is
/// written without brackets; all spellings of an IPv6 address are the same.
public struct HostPattern: Sendable, Hashable {
    private enum Reach: Int, Sendable {
        case anyDepth
        case oneLabel
        case exact
    }

    private let reach: Reach
    private let name: String

    /// Creates a pattern from text, such as one from a configuration.
    ///
    /// - Parameter text: A host without port, or a host behind `*.` or `**.`. `nil` is returned for any other text.
    public init?(_ text: String) {
        let reach: Reach = text.hasPrefix("**.") ? .anyDepth : text.hasPrefix("*.") ? .oneLabel : .exact
        let name = Self.normalized(text.dropFirst(reach == .anyDepth ? 3 : reach == .oneLabel ? 2 : 0))
        guard Self.isValid(name), reach == .exact || !name.contains(":") else { return nil }
        self.reach = reach
        self.name = name
    }

    /// Returns whether a host matches.
    ///
    /// - Parameter host: The host, without port and brackets.
    /// - Returns: `true` if it matches.
    public func matches(_ host: String) -> Bool {
        let host = Self.normalized(host[...])
        guard reach != .exact else { return host == name }
        if reach == .anyDepth, host == name { return true }
        guard host.hasSuffix("." + name) else { return false }
        let label = host.dropLast(name.count + 1)
        return !label.isEmpty && (reach == .anyDepth || !label.contains("."))
    }

    /// Whether the pattern is more specific than another one.
    ///
    /// A host is more specific than `*.`, and `*.` than `**.`. Between two patterns of the same form, the longer name
    /// is.
    func isMoreSpecific(than other: HostPattern) -> Bool {
        reach == other.reach ? name.count > other.name.count : reach.rawValue > other.reach.rawValue
    }

    /// Returns the index of the entry with the most specific pattern that matches a host; `nil` if none matches.
    static func bestMatch<Entry>(
        for host: String,
        in entries: [Entry],
        _ patterns: (Entry) -> [HostPattern]
    ) -> Int? {
        var best: (index: Int, pattern: HostPattern)?
        for (index, entry) in entries.enumerated() {
            for pattern in patterns(entry) where pattern.matches(host) {
                if best.map({ pattern.isMoreSpecific(than: $0.pattern) }) ?? true {
                    best = (index, pattern)
                }
            }
        }
        return best?.index
    }

    static func normalized(_ host: some StringProtocol) -> String {
        let host = host.lowercased()
        if host.utf8.contains(UInt8(ascii: ":")) { return IPv6Text.canonical(host) ?? host }
        return host.hasSuffix(".") ? String(host.dropLast()) : host
    }

    private static func isValid(_ name: String) -> Bool {
        guard 1...255 ~= name.utf8.count else { return false }
        let allowed = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: ":"):
                true
            default: false
            }
        }
        return allowed && !name.split(separator: ".", omittingEmptySubsequences: false).contains("")
            && (!name.contains(":") || IPv6Text.canonical(name) != nil)
    }
}

extension HostPattern: ExpressibleByStringLiteral {
    /// Creates a pattern from a literal, which must be valid.
    public init(stringLiteral text: String) {
        guard let pattern = HostPattern(text) else {
            preconditionFailure("\(text) is not a host; write a name without scheme and port, *.name or **.name.")
        }
        self = pattern
    }
}

extension HostPattern: CustomStringConvertible {
    /// The text of the pattern.
    public var description: String {
        switch reach {
        case .anyDepth: "**.\(name)"
        case .oneLabel: "*.\(name)"
        case .exact: name
        }
    }
}
