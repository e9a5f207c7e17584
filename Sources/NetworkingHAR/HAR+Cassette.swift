extension HAR {
    /// What a cassette says of itself.
    package struct Cassette: Sendable, Hashable {
        /// The number of the format.
        package var format: Int64

        package init(format: Int64) {
            self.format = format
        }
    }

    /// What a cassette says of an entry.
    package struct Tape: Sendable, Hashable {
        /// For whom it was made: the users of the recording are counted from 1; nil for nobody.
        package var principal: Int64?
        /// What the test calls whom it was made for; nil where it names nobody.
        package var principalName: String?
        /// Whether the body ends where its reader left, and not where the server ended it; nil when it does not.
        package var isPartial: Bool?

        package init(principal: Int64?, principalName: String?, isPartial: Bool) {
            (self.principal, self.principalName) = (principal, principalName)
            self.isPartial = isPartial ? true : nil
        }
    }
}

extension HAR.Cassette: Codable {
    private enum CodingKeys: String, CodingKey {
        case format
    }

    package init(from decoder: any Decoder) throws {
        // One that does not say what it is, is of no format that there ever was.
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
