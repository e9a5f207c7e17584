/// The target of a request line: a path, and a query after the first question mark.
package enum RequestTarget {
    /// Returns the path and the query of a target; the query is `nil` if there is no question mark.
    package static func split(_ target: String) -> (path: Substring, query: Substring?) {
        guard let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return (target[...], nil) }
        // By bytes, because a combining mark after the question mark would form a different character with it.
        return (target[..<mark], target[target.utf8.index(after: mark)...])
    }

    /// Returns the target with a path and a query; `nil` if there is neither.
    static func join(path: Substring, query: String?) -> String? {
        guard let query else { return path.isEmpty ? nil : String(path) }
        return "\(path)?\(query)"
    }

    /// Returns whether a target is empty, `*`, or begins with a slash or a question mark (RFC 9112 section 3.2).
    ///
    /// Another target would continue the authority of the URL: `@evil.example/` would make the authority a user name.
    static func isRooted(_ target: String) -> Bool {
        var target = target
        return target.withUTF8 { isRooted($0) }
    }

    private static func isRooted(_ target: UnsafeBufferPointer<UInt8>) -> Bool {
        switch target.first {
        case nil, UInt8(ascii: "/"), UInt8(ascii: "?"): true
        case UInt8(ascii: "*"): target.count == 1
        default: false
        }
    }

    /// Returns whether a target is like nearly all targets: valid, with a slash at its start, and without a segment
    /// that ``removingDotSegments(_:)`` would remove.
    static func isPlain(_ target: String) -> Bool {
        var target = target
        return target.withUTF8 { bytes in
            guard bytes.first == UInt8(ascii: "/") else { return false }
            var isStart = false
            for byte in bytes {
                // Dots and escapes at the start of a segment need a closer look.
                guard byte > 32, byte != 127, !isStart || byte != UInt8(ascii: ".") && byte != UInt8(ascii: "%") else {
                    return false
                }
                isStart = byte == UInt8(ascii: "/")
            }
            return true
        }
    }

    /// Returns the reason why a request with a target cannot be sent and a way to solve it; `nil` if it can.
    static func invalidity(of target: String) -> String? {
        var target = target
        guard target.withUTF8({ isRooted($0) }) else {
            return "The target begins neither with a slash nor with a question mark, so it would change the server."
        }
        // swift-http-types replaces line breaks and NUL with spaces. Intended spaces are percent-encoded at this point.
        guard target.withUTF8({ $0.contains { $0 <= 32 || $0 == 127 } }) else { return nil }
        return "The path or query contains a line break or another control character. Percent-encode it."
    }

    /// Returns the target without the segments `.` and `..` of its path (RFC 3986 section 5.2.4), also if their dots
    /// are percent-encoded.
    ///
    /// libcurl removes them whatever the app does. Without this, the path that is sent would depend on the transport,
    /// and would differ from the one that a signature covers and that selects cookies.
    ///
    /// - Parameter target: The target. One that does not begin with a slash is not changed.
    /// - Returns: The target, which still begins with a slash.
    static func removingDotSegments(_ target: String) -> String {
        var target = target
        guard target.withUTF8({ mayHaveDotSegments($0) }) else { return target }
        let (path, query) = split(target)
        var segments: [Substring.UTF8View] = []
        var isDirectory = false
        for segment in path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            let dots = dotCount(segment)
            isDirectory = dots != nil
            if dots == nil {
                segments.append(segment)
            } else if dots == 2 {
                _ = segments.popLast()
            }
        }
        if isDirectory {
            segments.append(Substring().utf8)
        }
        let kept = "/" + segments.map { String(Substring($0)) }.joined(separator: "/")
        return query.map { "\(kept)?\($0)" } ?? kept
    }

    /// Returns whether a segment begins with a dot or an escape, which few paths have.
    private static func mayHaveDotSegments(_ target: UnsafeBufferPointer<UInt8>) -> Bool {
        var isStart = false
        for byte in target {
            switch byte {
            case UInt8(ascii: "."), UInt8(ascii: "%"):
                if isStart { return true }
            case UInt8(ascii: "?"):
                return false
            default:
                break
            }
            isStart = byte == UInt8(ascii: "/")
        }
        return false
    }

    /// Returns 1 for the segment `.` and 2 for `..`, with or without percent-encoding; `nil` for another segment.
    private static func dotCount(_ segment: Substring.UTF8View) -> Int? {
        var rest = segment[...]
        var count = 0
        while let first = rest.first {
            if first == UInt8(ascii: ".") {
                rest = rest.dropFirst()
            } else if rest.starts(with: "%2e".utf8) || rest.starts(with: "%2E".utf8) {
                rest = rest.dropFirst(3)
            } else {
                return nil
            }
            count += 1
        }
        return 1...2 ~= count ? count : nil
    }
}
