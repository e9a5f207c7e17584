#if URLSession
import NetworkingCookies
import NetworkingCore

/// The `Set-Cookie` fields that URLSession has joined with commas.
enum JoinedCookies {
    /// Splits a joined value into its fields.
    ///
    /// URLSession puts a comma and a space between two fields. The same two characters also occur within a field: in a
    /// date, and in values and attributes of servers that do not conform to RFC 6265 section 4.1. A fragment therefore
    /// starts a new field if it starts with a name and an equals sign, or if the attribute before it cannot contain a
    /// comma.
    ///
    /// - Parameter value: The joined value.
    /// - Returns: The fields, in order.
    static func split(_ value: String) -> [String] {
        var fields: [Substring] = []
        var ending = FieldEnding.value
        for part in value.split(separator: ", ", omittingEmptySubsequences: false) {
            if let last = fields.last, !hasName(part), !ending.isComplete(before: part) {
                fields[fields.count - 1] = value[last.startIndex..<part.endIndex]
            } else {
                fields.append(part)
                ending = .value
            }
            ending.extend(by: part)
        }
        return fields.filter { !$0.utf8.allSatisfy { $0 == UInt8(ascii: " ") } }.map { String($0) }
    }

    /// Returns whether a fragment starts with a name and an equals sign.
    private static func hasName(_ part: Substring) -> Bool {
        let name = part.utf8.drop { $0 == UInt8(ascii: " ") }
            .prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") }
        return !name.isEmpty && part.utf8[name.endIndex...].first == UInt8(ascii: "=")
    }

    /// The end of a field, which decides whether the field is complete.
    private enum FieldEnding {
        /// The field has no attribute, or its last one may contain a comma.
        case value
        /// An attribute that cannot contain a comma.
        case attribute
        /// A date, which may contain commas while parts of it are missing.
        case expires(CookieDate)

        /// Adds a fragment to the field.
        mutating func extend(by part: Substring) {
            if let semicolon = part.utf8.lastIndex(of: UInt8(ascii: ";")) {
                self = Self(part[semicolon...].dropFirst().drop { $0 == " " })
            } else if case .expires(var date) = self {
                date.add(part)
                self = .expires(date)
            }
        }

        private init(_ attribute: Substring) {
            switch attribute.prefix(while: { $0 != "=" && $0 != " " }).lowercased() {
            case "path", "domain", "max-age", "samesite", "secure", "httponly", "partitioned", "priority":
                self = .attribute
            case "expires":
                self = .expires(CookieDate(attribute.drop { $0 != "=" }))
            default:
                self = .value
            }
        }

        /// Returns whether the field is complete if a fragment without a name follows.
        func isComplete(before part: Substring) -> Bool {
            switch self {
            case .value: false
            case .attribute: true
            // "Expires=Wed" lacks all that "09 Jun 2100 10:18:14 GMT" adds; to a complete date, no text adds a part.
            case .expires(var date): !date.add(part.prefix { $0 != ";" })
            }
        }
    }
}
#endif
