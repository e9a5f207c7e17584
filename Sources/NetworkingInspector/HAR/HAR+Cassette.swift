extension HAR {
    /// The metadata of a cassette.
    struct CassetteFormat: Sendable, Hashable {
        /// The version of the format.
        var format: Int64
    }

    /// The cassette's metadata for an entry.
    struct Tape: Sendable, Hashable {
        /// The principal of the request: users of the recording are numbered from 1; `nil` for none.
        var principal: Int64?
        /// The test's name for the principal; `nil` if it has none.
        var principalName: String?
        /// Whether the body is incomplete because its reader stopped early; `nil` if it is complete.
        var isPartial: Bool?
    }
}

extension HAR.Tape {
    init(_ user: HAR.User?, isPartial: Bool) {
        switch user {
        case .number(let number): principal = Int64(number)
        case .name(let name): principalName = name
        case nil: break
        }
        self.isPartial = isPartial ? true : nil
    }

    /// The user that the entry was recorded for.
    var user: HAR.User? {
        if let principalName { return .name(principalName) }
        return principal.flatMap { Int(exactly: $0) }.map { .number($0) }
    }
}

extension HAR.CassetteFormat: Codable {
    private enum CodingKeys: String, CodingKey {
        case format
    }

    init(from decoder: any Decoder) throws {
        // A cassette without a format number belongs to no known format.
        self.init(format: try decoder.container(keyedBy: CodingKeys.self).integer(.format) ?? 0)
    }
}

extension HAR.Tape: Codable {
    private enum CodingKeys: String, CodingKey {
        case principal, principalName, isPartial
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            principal: container.integer(.principal),
            principalName: container.text(.principalName),
            isPartial: container.flag(.isPartial) == true ? true : nil
        )
    }
}
