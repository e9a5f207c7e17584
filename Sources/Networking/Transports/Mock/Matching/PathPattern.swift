/// A path in which some parts may be anything: `/users/:id/posts/*`.
///
/// Parts are compared as they read, not as they are percent-encoded.
struct PathPattern: Sendable {
    private enum Part: Sendable {
        case literal(String)
        case parameter(String)
        /// Any one part.
        case one
        /// What is left, of which there is at least one part, perhaps an empty one.
        case rest
    }

    /// The pattern as it was written, with its leading slash.
    let text: String
    private let parts: [Part]
    /// Whether nothing in it stands for anything else.
    private let isLiteral: Bool
    private let isEscaped: Bool

    /// Creates a pattern from a path without a query.
    init(_ path: some StringProtocol) {
        text = path == "*" ? "*" : HTTPRequestData.target(path: String(path))
        isEscaped = text.utf8.contains(UInt8(ascii: "%"))
        let segments = Self.segments(of: text)
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
            "each parameter of a path needs a name of its own (is \(text))"
        )
    }

    /// The parts of a path between its slashes, as they are encoded.
    static func segments(of path: String) -> [Substring] {
        (path.utf8.first == UInt8(ascii: "/") ? path.dropFirst() : path[...])
            .split(separator: "/", omittingEmptySubsequences: false)
    }

    /// Whether the path of a request is one of those; what it names is added to the reading.
    func matches(_ reading: inout RequestReading) -> Bool {
        if isLiteral {
            if reading.path == text { return true }
            // Different bytes say the same only where some are escapes.
            guard isEscaped || reading.path.utf8.contains(UInt8(ascii: "%")) else { return false }
        }
        var found: [String: String] = [:]
        guard fits(reading.segments, &found) else { return false }
        if !found.isEmpty { reading.pathParameters.merge(found) { $1 } }
        return true
    }

    private func fits(_ segments: [String], _ found: inout [String: String]) -> Bool {
        for (index, part) in parts.enumerated() {
            if case .rest = part { return segments.count > index }
            guard index < segments.count else { return false }
            switch part {
            case .literal(let text): guard segments[index] == text else { return false }
            case .parameter(let name):
                guard !segments[index].isEmpty else { return false }
                found[name] = segments[index]
            case .one, .rest: break
            }
        }
        return segments.count == parts.count
    }

    /// How unlike a path is, from 0 to 1: by the letters that would have to be changed.
    func distance(to path: String) -> Double {
        let left = Array(text.utf8.prefix(128))
        let right = Array(path.utf8.prefix(128))
        guard !left.isEmpty || !right.isEmpty else { return 0 }
        var row = Array(0...right.count)
        for (index, byte) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in right.indices {
                let change = diagonal + (byte == right[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(change, diagonal + 1, row[column] + 1)
            }
        }
        return Double(row[right.count]) / Double(max(left.count, right.count))
    }
}

extension HTTPRequestData {
    /// What the path of the stub that answers names in this one, decoded: of `/users/42`, `["id": "42"]` for `/users/:id`.
    ///
    /// ```swift
    /// transport.on(.get, "/users/:id") { request in .json(users[request.pathParameters["id"] ?? ""]) }
    /// ```
    ///
    /// Empty wherever else a request is met.
    public internal(set) var pathParameters: [String: String] {
        get { self[option: PathParameters.self] }
        set { self[option: PathParameters.self] = newValue }
    }

    private enum PathParameters: LibraryRequestOption {
        static let defaultValue: [String: String] = [:]
    }
}
