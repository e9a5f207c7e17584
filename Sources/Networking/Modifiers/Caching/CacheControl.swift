/// The directives of Cache-Control fields, and of those of the same form (RFC 9111 section 5.2).
///
/// Whatever cannot be read is left out, but for a number that is none: that makes a response stale rather than fresh
/// (section 4.2.1). The first counts where a directive occurs twice.
struct CacheControl: Sendable, Hashable {
    private var directives: [String: String?] = [:]

    init(_ values: [String]) {
        for value in values {
            for piece in Self.split(value) {
                guard let (name, argument) = Self.directive(piece), directives[name] == nil else { continue }
                directives[name] = .some(argument)
            }
        }
    }

    var isEmpty: Bool {
        directives.isEmpty
    }

    func contains(_ name: String) -> Bool {
        directives[name] != nil
    }

    /// Whether a directive is there without an argument, and so holds for the whole message.
    func isUnqualified(_ name: String) -> Bool {
        directives[name].map { $0 == nil } ?? false
    }

    /// The field names in a directive's argument, in lower case.
    func fieldNames(_ name: String) -> [String] {
        guard let argument = directives[name] ?? nil else { return [] }
        return argument.split(separator: ",").map { $0.trimmed.lowercased() }.filter { !$0.isEmpty }
    }

    /// The seconds in a directive's argument: zero when that is no number; nil without the directive.
    func seconds(_ name: String) -> Double? {
        guard let argument = directives[name] else { return nil }
        return argument.flatMap { Self.deltaSeconds($0) } ?? 0
    }

    /// A number of seconds; more than 2^31 is that (section 1.2.2).
    static func deltaSeconds(_ text: some StringProtocol) -> Double? {
        guard !text.isEmpty, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        return text.utf8.reduce(0) { min($0 * 10 + Double($1 - 0x30), 2_147_483_648) }
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

extension StringProtocol {
    /// Without blanks at its ends.
    var trimmed: Substring {
        var rest = Substring(self)
        while let first = rest.utf8.first, first == 0x20 || first == 0x09 { rest = rest.dropFirst() }
        while let last = rest.utf8.last, last == 0x20 || last == 0x09 { rest = rest.dropLast() }
        return rest
    }
}
