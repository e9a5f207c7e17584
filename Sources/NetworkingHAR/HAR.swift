/// An HTTP archive: the fields of HAR 1.2, and this library's own fields with names that begin with an underscore.
///
/// Archives are read leniently, because tools write them differently. Fields that are missing or have the wrong type
/// are left out. Unknown fields are dropped, because the redaction does not cover them.
package struct HAR: Sendable, Hashable, Codable {
    package var log: Log

    package init(log: Log) {
        self.log = log
    }

    package struct Log: Sendable, Hashable {
        var version = "1.2"
        package var creator: Creator
        package var pages: [Page]
        package var entries: [Entry]
        /// The metadata of a cassette; `nil` in other archives.
        package var cassette: CassetteFormat?
        /// The number of entries that could not be read; it is not written.
        package var skippedEntries = 0

        package init(creator: Creator, pages: [Page], entries: [Entry]) {
            self.creator = creator
            self.pages = pages
            self.entries = entries
        }
    }

    /// The program that wrote the archive.
    package struct Creator: Sendable, Hashable, Encodable {
        package var name: String
        var version: String

        /// The creator of archives that this library writes.
        package static let library = Creator(name: "swift-networking", version: "0.1.0")
    }

    /// A group of entries; here, a session.
    package struct Page: Sendable, Hashable, Encodable {
        package var id: String
        package var title: String
        var startedDateTime: String
        var pageTimings = Timings()

        package init(id: String, title: String, startedDateTime: String) {
            self.id = id
            self.title = title
            self.startedDateTime = startedDateTime
        }

        /// Always empty for a session.
        package struct Timings: Sendable, Hashable, Encodable {}
    }
}

extension HAR.Log: Codable {
    private enum CodingKeys: String, CodingKey {
        case version, creator, pages, entries
        case cassette = "_cassette"
    }

    package init(from decoder: any Decoder) throws {
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
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(name: container.text(.name) ?? "", version: container.text(.version) ?? "")
    }
}

extension HAR.Page: Decodable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            id: container.text(.id) ?? "",
            title: container.text(.title) ?? "",
            startedDateTime: container.text(.startedDateTime) ?? ""
        )
    }
}
