public import NetworkingCore

extension PathPattern {
    /// Creates the pattern of a stub.
    ///
    /// The leading slash is optional, and the characters need no percent encoding.
    init(stub path: some StringProtocol) {
        self.init(path == "*" ? "*" : HTTPRequestData.target(path: String(path)))
    }

    /// Returns whether the path of a request matches, and adds its parameters to the reading.
    func matches(_ reading: inout RequestReading) -> Bool {
        guard let match = self.match(reading.path, segments: reading.segments) else { return false }
        if !match.parameters.isEmpty { reading.pathParameters.merge(match.parameters) { $1 } }
        return true
    }

    /// The distance to a path, from 0 to 1, by the number of characters to change.
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
    /// The decoded path parameters of the stub that responds: `["id": "42"]` for `/users/42` and the stub `/users/:id`.
    ///
    /// ```swift
    /// transport.on(.get, "/users/:id") { request in .json(users[request.pathParameters["id"] ?? ""]) }
    /// ```
    ///
    /// Empty in requests outside of a stub's or an expectation's closure.
    public internal(set) var pathParameters: [String: String] {
        get { self[.pathParameters] }
        set { self[.pathParameters] = newValue }
    }
}

extension RequestOptionKey {
    fileprivate static let pathParameters = RequestOption<[String: String]>(
        "pathParameters",
        default: [:],
        affects: .nothing,
        isReported: false
    )
}
