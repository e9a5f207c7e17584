#if URLSession
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
        var fields: [String] = []
        for part in value.split(separator: ", ", omittingEmptySubsequences: false) {
            if let last = fields.last, !hasName(part), !isComplete(last, before: part) {
                fields[fields.count - 1] = "\(last), \(part)"
            } else {
                fields.append(String(part))
            }
        }
        return fields.filter { !$0.utf8.allSatisfy { $0 == UInt8(ascii: " ") } }
    }

    /// Returns whether a fragment starts with a name and an equals sign.
    private static func hasName(_ part: Substring) -> Bool {
        let name = part.utf8.drop { $0 == UInt8(ascii: " ") }
            .prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") }
        return !name.isEmpty && part.utf8[name.endIndex...].first == UInt8(ascii: "=")
    }

    /// Returns whether a field is complete if a fragment without a name follows.
    private static func isComplete(_ field: String, before part: Substring) -> Bool {
        guard let semicolon = field.utf8.lastIndex(of: UInt8(ascii: ";")) else { return false }
        let attribute = field[semicolon...].dropFirst().drop { $0 == " " }
        switch attribute.prefix(while: { $0 != "=" && $0 != " " }).lowercased() {
        case "path", "domain", "max-age", "samesite", "secure", "httponly", "partitioned", "priority":
            return true
        case "expires":
            // "Expires=Wed" is half of a date; "Expires=Wed, 09 Jun 2100 10:18:14 GMT" is a complete one.
            let isHalf = !attribute.contains { $0.isNumber }
            return !isHalf || part.utf8.first.map { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? true
        default:
            return false
        }
    }
}
#endif
