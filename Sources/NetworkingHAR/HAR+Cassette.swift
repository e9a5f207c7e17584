extension HAR {
    /// The metadata of a cassette.
    package struct CassetteFormat: Sendable, Hashable {
        /// The version of the format.
        package var format: Int64

        package init(format: Int64) {
            self.format = format
        }
    }

    /// The cassette's metadata for an entry.
    package struct Tape: Sendable, Hashable {
        /// The principal of the request: users of the recording are numbered from 1; `nil` for none.
        package var principal: Int64?
        /// The test's name for the principal; `nil` if it has none.
        package var principalName: String?
        /// Whether the body is incomplete because its reader stopped early; `nil` if it is complete.
        package var isPartial: Bool?

        package init(principal: Int64?, principalName: String?, isPartial: Bool) {
            (self.principal, self.principalName) = (principal, principalName)
            self.isPartial = isPartial ? true : nil
        }
    }
}

extension HAR.CassetteFormat: Codable {
    private enum CodingKeys: String, CodingKey {
        case format
    }

    package init(from decoder: any Decoder) throws {
        // A cassette without a format number belongs to no known format.
        self.init(format: try decoder.container(keyedBy: CodingKeys.self).integer(.format) ?? 0)
    }
}

extension HAR.Tape: Codable {
    private enum CodingKeys: String, CodingKey {
        case principal, principalName, isPartial
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            principal: container.integer(.principal),
            principalName: container.text(.principalName),
            isPartial: container.flag(.isPartial) ?? false
        )
    }
}
