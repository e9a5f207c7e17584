import NetworkingCore

/// The directives of Cache-Control fields, and of those of the same form (RFC 9111 section 5.2).
///
/// Whatever cannot be read is left out, but for a number that is none: that makes a response stale rather than fresh
/// (section 4.2.1). The first counts where a directive occurs twice.
struct CacheControl: Sendable, Hashable {
    /// What a cache knows of them; most requests have none.
    private(set) var directives: Directives = []
    /// Those that have no argument, and so hold for the whole message.
    private var unqualified: Directives = []
    private var arguments: [Directives: String] = [:]
    private var seconds: [Directives: Double] = [:]

    /// The directives that mean something to a cache.
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

        /// Whether it has no argument.
        var isFlag: Bool {
            Directives([.immutable, .mustRevalidate, .mustUnderstand, .noStore, .proxyRevalidate, .public])
                .contains(self)
        }

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
            for piece in Self.split(value) {
                guard let (name, argument) = Self.directive(piece) else { continue }
                guard let directive = Directives.named[name] else { continue }
                // For the whole message after all, wherever that is said.
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

    mutating func insert(_ directive: Directives, seconds: Double? = nil) {
        directives.insert(directive)
        unqualified.insert(directive)
        self.seconds[directive] = seconds
    }

    mutating func remove(_ directive: Directives) {
        directives.remove(directive)
        unqualified.remove(directive)
        arguments[directive] = nil
        seconds[directive] = nil
    }

    func contains(_ directive: Directives) -> Bool {
        directives.contains(directive)
    }

    /// Whether any of several directives is there.
    func contains(anyOf several: Directives) -> Bool {
        !directives.isDisjoint(with: several)
    }

    /// Whether a directive is there without an argument, and so holds for the whole message.
    func isUnqualified(_ directive: Directives) -> Bool {
        unqualified.contains(directive)
    }

    /// The field names in a directive's argument, in lower case.
    func fieldNames(_ directive: Directives) -> [String] {
        guard contains(directive), !isUnqualified(directive), let argument = arguments[directive] else { return [] }
        return argument.split(separator: ",").map { $0.trimmed.lowercased() }.filter { !$0.isEmpty }
    }

    /// The seconds in a directive's argument: zero when that is no number; nil without the directive.
    func seconds(_ directive: Directives) -> Double? {
        directives.contains(directive) ? seconds[directive] ?? 0 : nil
    }

    /// A number of seconds; more than 2^31 is that (section 1.2.2).
    static func deltaSeconds(_ text: some StringProtocol) -> Double? {
        DecimalDigits.number(text.utf8, limit: 1 << 31).map { Double($0) }
    }

    /// Parts at commas, but for those in quotes.
    private static func split(_ value: String) -> [Substring] {
        var pieces: [Substring] = []
        var (isQuoted, isEscaped) = (false, false)
        var start = value.startIndex
        for index in value.utf8.indices {
            let byte = value.utf8[index]
            if isEscaped {
                isEscaped = false
            } else if isQuoted, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else if byte == UInt8(ascii: ","), !isQuoted {
                pieces.append(value[start..<index])
                start = value.utf8.index(after: index)
            }
        }
        pieces.append(value[start...])
        return pieces
    }

    private static func directive(_ piece: Substring) -> (name: String, argument: String?)? {
        let piece = piece.trimmed
        guard let equals = piece.utf8.firstIndex(of: UInt8(ascii: "=")) else {
            return piece.isEmpty ? nil : (piece.lowercased(), nil)
        }
        let name = piece[..<equals]
        // A name with a blank behind it is none.
        guard !name.isEmpty, !name.utf8.contains(where: { $0 == 0x20 || $0 == 0x09 }) else { return nil }
        var argument = piece[piece.utf8.index(after: equals)...]
        if argument.utf8.count >= 2, argument.hasPrefix("\""), argument.hasSuffix("\"") {
            argument = argument.dropFirst().dropLast()
        }
        return (name.lowercased(), String(argument))
    }
}
