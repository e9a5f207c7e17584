import NetworkingCore

/// The directives of Cache-Control fields, and of fields with the same syntax (RFC 9111 section 5.2).
///
/// Malformed directives are ignored, with two exceptions. An argument that should be a number and is not makes a
/// response stale rather than fresh (section 4.2.1). If quotes are malformed, restrictive directives count even inside
/// of them. If a directive occurs several times, the first one counts.
struct CacheControl: Sendable, Hashable {
    /// The known directives in the fields; most requests have none.
    private(set) var directives: Directives = []
    /// The directives without an argument, which apply to the whole message.
    private var unqualified: Directives = []
    private var arguments: [Directives: String] = [:]
    private var seconds: [Directives: Double] = [:]

    /// The directives that a cache acts on.
    struct Directives: OptionSet, Sendable, Hashable {
        let rawValue: UInt16

        static let immutable = Directives(rawValue: 1)
        static let maxAge = Directives(rawValue: 1 << 1)
        static let maxStale = Directives(rawValue: 1 << 2)
        static let minFresh = Directives(rawValue: 1 << 3)
        static let mustRevalidate = Directives(rawValue: 1 << 4)
        static let mustUnderstand = Directives(rawValue: 1 << 5)
        static let noCache = Directives(rawValue: 1 << 6)
        static let noStore = Directives(rawValue: 1 << 7)
        static let onlyIfCached = Directives(rawValue: 1 << 8)
        static let `private` = Directives(rawValue: 1 << 9)
        static let proxyRevalidate = Directives(rawValue: 1 << 10)
        static let `public` = Directives(rawValue: 1 << 11)
        static let sMaxAge = Directives(rawValue: 1 << 12)
        static let staleIfError = Directives(rawValue: 1 << 13)
        static let staleWhileRevalidate = Directives(rawValue: 1 << 14)

        /// Whether the directive takes no argument.
        var isFlag: Bool {
            Directives([.immutable, .mustRevalidate, .mustUnderstand, .noStore, .proxyRevalidate, .public])
                .contains(self)
        }

        /// The directives that forbid something, without those that only shorten a lifetime.
        static let restrictive: Directives = [
            .mustRevalidate, .noCache, .noStore, .onlyIfCached, .private, .proxyRevalidate,
        ]

        static let named: [String: Directives] = [
            "immutable": .immutable, "max-age": .maxAge, "max-stale": .maxStale, "min-fresh": .minFresh,
            "must-revalidate": .mustRevalidate, "must-understand": .mustUnderstand, "no-cache": .noCache,
            "no-store": .noStore, "only-if-cached": .onlyIfCached, "private": .private,
            "proxy-revalidate": .proxyRevalidate, "public": .public, "s-maxage": .sMaxAge,
            "stale-if-error": .staleIfError, "stale-while-revalidate": .staleWhileRevalidate,
        ]
    }

    init(_ values: [String]) {
        for value in values {
            let (parts, isWellFormed) = Self.split(value)
            if !isWellFormed {
                insertRestrictive(from: value)
            }
            for part in parts {
                guard let (name, argument) = Self.directive(part) else { continue }
                guard let directive = Directives.named[name] else { continue }
                // Without an argument, it applies to the whole message, even if another occurrence has one.
                if argument?.isEmpty != false {
                    unqualified.insert(directive)
                }
                guard !directives.contains(directive) else { continue }
                directives.insert(directive)
                arguments[directive] = argument
                seconds[directive] = argument.flatMap { Self.deltaSeconds($0) }
            }
        }
    }

    /// Inserts the restrictive directives of a value with malformed quotes, without regard to the quotes.
    private mutating func insertRestrictive(from value: String) {
        for part in value.utf8.split(separator: UInt8(ascii: ",")) {
            let name = part.drop { "\" \t".utf8.contains($0) }.prefix { !"=\" \t".utf8.contains($0) }
            let text = String(decoding: name, as: UTF8.self).lowercased()
            guard let directive = Directives.named[text], Directives.restrictive.contains(directive) else { continue }
            insert(directive)
        }
    }

    mutating func insert(_ directive: Directives, seconds: Double? = nil) {
        directives.insert(directive)
        unqualified.insert(directive)
        self.seconds[directive] = seconds
    }

    func contains(_ directive: Directives) -> Bool {
        directives.contains(directive)
    }

    /// Whether at least one of several directives is present.
    func contains(anyOf several: Directives) -> Bool {
        !directives.isDisjoint(with: several)
    }

    /// Whether a directive is present without an argument, and so applies to the whole message.
    func isUnqualified(_ directive: Directives) -> Bool {
        unqualified.contains(directive)
    }

    /// The field names in a directive's argument, in lower case.
    func fieldNames(_ directive: Directives) -> [String] {
        guard contains(directive), !isUnqualified(directive), let argument = arguments[directive] else { return [] }
        return argument.split(separator: ",").map { $0.trimmed.lowercased() }.filter { !$0.isEmpty }
    }

    /// The seconds in a directive's argument: zero if the argument is not a number, `nil` without the directive.
    func seconds(_ directive: Directives) -> Double? {
        directives.contains(directive) ? seconds[directive] ?? 0 : nil
    }

    /// Reads a number of seconds; a number above 2^31 becomes 2^31 (section 1.2.2).
    static func deltaSeconds(_ text: some StringProtocol) -> Double? {
        DecimalDigits.number(text.utf8, limit: 1 << 31).map { Double($0) }
    }

    /// Splits a value at commas, except inside quotes.
    ///
    /// The value is not well-formed if a quote is not closed, or if a quoted text is not a complete argument.
    private static func split(_ value: String) -> (parts: [Substring], isWellFormed: Bool) {
        var parts: [Substring] = []
        var (isQuoted, isEscaped, isWellFormed) = (false, false, true)
        var start = value.startIndex
        var last = UInt8(ascii: ",")
        for index in value.utf8.indices {
            let byte = value.utf8[index]
            if isEscaped {
                isEscaped = false
            } else if isQuoted, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                if !isQuoted, last != UInt8(ascii: "=") {
                    isWellFormed = false
                }
                isQuoted.toggle()
            } else if byte == UInt8(ascii: ","), !isQuoted {
                parts.append(value[start..<index])
                start = value.utf8.index(after: index)
            } else if !isQuoted, last == UInt8(ascii: "\""), byte != UInt8(ascii: " "), byte != UInt8(ascii: "\t") {
                isWellFormed = false
            }
            last = byte
        }
        parts.append(value[start...])
        return (parts, isWellFormed && !isQuoted)
    }

    private static func directive(_ part: Substring) -> (name: String, argument: String?)? {
        let part = part.trimmed
        guard let equals = part.utf8.firstIndex(of: UInt8(ascii: "=")) else {
            return part.isEmpty ? nil : (part.lowercased(), nil)
        }
        let name = part[..<equals]
        // A blank before the equals sign makes the name invalid.
        guard !name.isEmpty, !name.utf8.contains(where: { $0 == 0x20 || $0 == 0x09 }) else { return nil }
        var argument = part[part.utf8.index(after: equals)...]
        if argument.utf8.count >= 2, argument.hasPrefix("\""), argument.hasSuffix("\"") {
            argument = argument.dropFirst().dropLast()
        }
        return (name.lowercased(), String(argument))
    }
}
