/// How the names and values of query items are written into a URL.
public struct QueryEncoding: Sendable, Hashable {
    let allowed: PercentEncoding
    let spaceIsPlus: Bool

    /// Percent-encodes what RFC 3986 does not allow in a query, and `&`, `=`, `+` and `#` besides.
    ///
    /// The default.
    public static let standard = QueryEncoding(allowed: .queryItem, spaceIsPlus: false)

    /// Percent-encodes all but RFC 3986's unreserved characters, as signature schemes want it.
    public static let strict = QueryEncoding(allowed: .unreserved, spaceIsPlus: false)

    /// Writes items as an HTML form does: a space is `+`, and all but letters, digits and `*-._` is percent-encoded.
    public static let form = QueryEncoding(allowed: .formItem, spaceIsPlus: true)

    /// Percent-encodes all but the characters given.
    ///
    /// - Parameter characters: The characters that stand for themselves. `&`, `=`, `+`, `#`, `%`, space and control
    ///   characters are encoded even when they are among them, and so is everything outside ASCII.
    /// - Returns: The encoding.
    public static func allowing(_ characters: String) -> QueryEncoding {
        let forbidden = "&=+#% \u{7F}"
        let allowed = characters.filter { character in
            character.isASCII && !forbidden.contains(character) && character >= " "
        }
        return QueryEncoding(allowed: PercentEncoding(allowing: allowed), spaceIsPlus: false)
    }

    package func encode(_ string: String) -> String {
        guard spaceIsPlus else { return allowed.encode(string) }
        // By bytes: a space with a combining mark after it is another character, but still a space to a form.
        return string.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
            .map { allowed.encode(String(Substring($0))) }
            .joined(separator: "+")
    }
}

extension PercentEncoding {
    /// The application/x-www-form-urlencoded percent-encode set of WHATWG's URL standard, turned around.
    package static let formItem = PercentEncoding(
        allowing: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789*-._"
    )
}
