/// A path in which some segments are placeholders: `/users/:id/posts/*`.
///
/// `:name` matches one segment and names it. `*` matches any one segment, and at the end all remaining segments. All
/// other segments are compared in decoded form, so that `%7E` equals `~`, and `%3A` and `%2A` represent a colon and an
/// asterisk. A trailing slash counts.
package struct PathPattern: Sendable {
    /// The segments of a path that a pattern names.
    package struct Match: Sendable, Equatable {
        /// The decoded segments that matched a `:name`, by the name.
        package var parameters: [String: String] = [:]
        /// The decoded segments that matched a `*` at the end; `nil` if the pattern does not end with one.
        package var rest: [String]?
    }

    private enum Part: Sendable, Equatable {
        case literal(String)
        case parameter(String)
        case one
        case rest
    }

    /// The pattern as it was written.
    package let text: String
    private let parts: [Part]
    private let isLiteral: Bool
    private let isEscaped: Bool
    private let matchesNothing: Bool

    /// Creates a pattern.
    ///
    /// - Parameters:
    ///   - text: A path without a query.
    ///   - matchesNothing: Whether `:name` also matches an empty segment, and `*` at the end also matches if no segment
    ///     remains.
    /// - Precondition: The parameters have different names.
    package init(_ text: String, matchesNothing: Bool = false) {
        self.text = text
        self.matchesNothing = matchesNothing
        isEscaped = text.utf8.contains(UInt8(ascii: "%"))
        let segments = Self.encodedSegments(of: text)
        parts = segments.enumerated()
            .map { index, segment in
                if segment == "*" { return index == segments.count - 1 ? .rest : .one }
                guard segment.utf8.first == UInt8(ascii: ":") else { return .literal(PercentEncoding.decode(segment)) }
                return .parameter(PercentEncoding.decode(segment.dropFirst()))
            }
        isLiteral = parts.allSatisfy { part in
            if case .literal = part { return true }
            return false
        }
        let names = parts.compactMap { part -> String? in
            guard case .parameter(let name) = part else { return nil }
            return name
        }
        precondition(
            !names.contains("") && Set(names).count == names.count,
            "each parameter of a path needs a unique name (is \(text))"
        )
    }

    /// Whether the pattern has a `*` before the last segment.
    package var hasInnerAsterisk: Bool {
        parts.contains(.one)
    }

    /// Returns the decoded segments of a path between its slashes.
    package static func segments(of path: String) -> [String] {
        encodedSegments(of: path).map { PercentEncoding.decode($0) }
    }

    private static func encodedSegments(of path: String) -> [Substring] {
        (path.utf8.first == UInt8(ascii: "/") ? path.dropFirst() : path[...])
            .split(separator: "/", omittingEmptySubsequences: false)
    }

    /// Compares a path with the pattern.
    ///
    /// - Parameters:
    ///   - path: The path as it is sent, without a query.
    ///   - segments: The decoded segments of the path; not evaluated if comparing the whole path is sufficient.
    /// - Returns: The match, or `nil` if the path does not match.
    package func match(_ path: String, segments: @autoclosure () -> [String]) -> Match? {
        if isLiteral {
            if path == text { return Match() }
            // Two different texts can be the same path only if one of them has escapes.
            guard isEscaped || path.utf8.contains(UInt8(ascii: "%")) else { return nil }
        }
        return match(segments())
    }

    private func match(_ segments: [String]) -> Match? {
        var match = Match()
        for (index, part) in parts.enumerated() {
            if part == .rest {
                guard segments.count > index || matchesNothing else { return nil }
                match.rest = Array(segments.dropFirst(index))
                return match
            }
            guard index < segments.count else { return nil }
            switch part {
            case .literal(let text): guard segments[index] == text else { return nil }
            case .parameter(let name):
                guard matchesNothing || !segments[index].isEmpty else { return nil }
                match.parameters[name] = segments[index]
            case .one, .rest: break
            }
        }
        return segments.count == parts.count ? match : nil
    }
}

extension PathPattern: CustomStringConvertible {
    package var description: String {
        text
    }
}
