/// An HTTP archive: the fields of HAR 1.2, and this library's own fields with names that begin with an underscore.
///
/// Archives are read leniently, because tools write them differently. Fields that are missing or have the wrong type
/// are left out. Unknown fields are dropped, because the redaction does not cover them.
package struct HAR: Sendable, Hashable, Codable {
    var log: Log

    struct Log: Sendable, Hashable {
        var version = "1.2"
        var creator: Creator
        var pages: [Page]
        var entries: [Entry]
        /// The metadata of a cassette; `nil` in other archives.
        var cassette: CassetteFormat?
        /// The number of entries that could not be read; it is not written.
        var skippedEntries = 0
    }

    /// The program that wrote the archive.
    struct Creator: Sendable, Hashable, Encodable {
        var name: String
        var version: String

        /// The creator of archives that this library writes.
        static let library = Creator(name: "swift-networking", version: "0.1.0")
    }

    /// A group of entries; here, a session.
    struct Page: Sendable, Hashable, Encodable {
        var id: String
        var title: String
        var startedDateTime: String
        var pageTimings = Timings()

        /// Always empty for a session.
        struct Timings: Sendable, Hashable, Encodable {}
    }
}

extension HAR.Log: Codable {
    private enum CodingKeys: String, CodingKey {
        case version, creator, pages, entries
        case cassette = "_cassette"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let entries = try container.decode([Lenient<HAR.Entry>].self, forKey: .entries)
        self.init(
            creator: container.object(.creator) ?? HAR.Creator(name: "", version: ""),
            pages: container.list(.pages),
            entries: entries.compactMap(\.value)
        )
        version = container.text(.version) ?? version
        cassette = container.object(.cassette)
        skippedEntries = entries.count - self.entries.count
    }
}

extension HAR.Creator: Decodable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(name: container.text(.name) ?? "", version: container.text(.version) ?? "")
    }
}

extension HAR.Page: Decodable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            id: container.text(.id) ?? "",
            title: container.text(.title) ?? "",
            startedDateTime: container.text(.startedDateTime) ?? ""
        )
    }
}
