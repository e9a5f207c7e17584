/// The encoding of the names and values of query items in a URL.
public struct QueryEncoding: Sendable, Hashable {
    let allowed: PercentEncoding
    let spaceIsPlus: Bool

    /// Percent-encodes `&`, `=`, `+`, `#` and all characters that RFC 3986 does not allow in a query.
    ///
    /// This is the default encoding of a query.
    public static let standard = QueryEncoding(allowed: .queryItem, spaceIsPlus: false)

    /// Percent-encodes all characters except the unreserved ones of RFC 3986, as signature schemes require.
    public static let strict = QueryEncoding(allowed: .unreserved, spaceIsPlus: false)

    /// Encodes items as an HTML form does: a space is `+`, and all but letters, digits and `*-._` is percent-encoded.
    public static let form = QueryEncoding(allowed: .formItem, spaceIsPlus: true)

    /// Percent-encodes all characters except the given ones.
    ///
    /// - Parameter characters: The characters that are not encoded. `&`, `=`, `+`, `#`, `%`, space, control characters
    ///   and everything outside ASCII are encoded even if they are among them.
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
        // By bytes, because a space with a combining mark is a different character, but still a space in a form.
        return string.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
            .map { allowed.encode(String(Substring($0))) }
            .joined(separator: "+")
    }
}

extension PercentEncoding {
    /// The complement of the application/x-www-form-urlencoded percent-encode set of WHATWG's URL standard.
    package static let formItem = PercentEncoding(
        allowing: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789*-._"
    )
}
