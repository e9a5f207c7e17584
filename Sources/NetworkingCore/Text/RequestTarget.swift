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
}
