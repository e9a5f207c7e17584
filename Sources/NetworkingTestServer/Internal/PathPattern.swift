#if TestServer
/// Matches paths against `/literal/:name/*`.
struct PathPattern: Sendable {
    private let pattern: String
    private let segments: [Segment]

    init(_ pattern: String) {
        precondition(pattern.hasPrefix("/"), "a path starts with / (is \(pattern))")
        self.pattern = pattern
        segments = Self.split(pattern)
            .map { segment in
                if segment == "*" { return .rest }
                if segment.hasPrefix(":") { return .parameter(String(segment.dropFirst())) }
                return .literal(segment.withoutPercentEncoding)
            }
        precondition(!segments.dropLast().contains(.rest), "* is the last segment of a path (is \(pattern))")
    }

    /// Returns what the parameters stand for in a path that matches, and nil for a path that does not.
    func parameters(in path: String) -> [String: String]? {
        guard path.hasPrefix("/") else { return nil }
        var parameters: [String: String] = [:]
        var rest = Self.split(path)[...]
        for segment in segments {
            if segment == .rest {
                parameters["*"] = rest.map(\.withoutPercentEncoding).joined(separator: "/")
                return parameters
            }
            guard let value = rest.popFirst()?.withoutPercentEncoding else { return nil }
            switch segment {
            case .parameter(let name): parameters[name] = value
            case .literal(let text) where text == value: continue
            case .literal, .rest: return nil
            }
        }
        return rest.isEmpty ? parameters : nil
    }

    private static func split(_ path: String) -> [Substring] {
        path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    }
}

extension PathPattern {
    private enum Segment: Sendable, Equatable {
        case literal(String)
        case parameter(String)
        case rest
    }
}

extension PathPattern: CustomStringConvertible {
    var description: String {
        pattern
    }
}
#endif
