import Foundation
import TestSupport
import Testing

/// `Tests/Tables/Samples.md` names tests, pages and programs of this package, and each of them exists.
struct SamplesTableTests {
    private struct Row {
        let sample: String
        let here: String
        let place: String

        /// Creates a row from a line of a table.
        ///
        /// Returns `nil` for any other line.
        init?(_ line: Substring) throws {
            guard line.hasPrefix("| "), !line.hasPrefix("| Sample |") else { return nil }
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            try #require(cells.count == 5, "a row has three cells: \(line)")
            (sample, here, place) = (cells[1], cells[2], cells[3])
        }

        /// `true` if the row explains why there is no counterpart.
        var isWithoutCounterpart: Bool {
            here.hasPrefix("– ")
        }

        /// The suites and functions of the tests that the row names.
        var tests: [(suite: String, name: String)] {
            place.matches(of: /`(\w+)\.(\w+)`/).map { (String($0.1), String($0.2)) }
        }

        /// The links of the row, relative to the folder of the document.
        var links: [(path: String, anchor: String)] {
            place.matches(of: /\]\(([^)#]+)#?([^)]*)\)/).map { (String($0.1), String($0.2)) }
        }
    }

    private static let folder = "Tests/Tables"

    private struct Section {
        let name: String
        let count: Int
        let rows: [Row]
    }

    private static func sections() throws -> [Section] {
        try Repository.text(at: "\(folder)/Samples.md").components(separatedBy: "\n## ").dropFirst()
            .map { text in
                let lines = text.split(separator: "\n")
                let heading = try #require(lines.first?.wholeMatch(of: /(.+): (\d+)/), "\(lines.first ?? "")")
                return Section(
                    name: String(heading.1),
                    count: try #require(Int(heading.2)),
                    rows: try lines.compactMap { try Row($0) }
                )
            }
    }

    /// Returns the anchors of a page's headings, as GitHub names them.
    private static func anchors(of page: String) -> Set<String> {
        var anchors: Set<String> = []
        var isCode = false
        for line in page.split(separator: "\n") {
            if line.hasPrefix("```") {
                isCode.toggle()
            } else if !isCode, let heading = line.wholeMatch(of: /#+ (.+)/) {
                let name = heading.1.lowercased().replacing(" ", with: "-")
                anchors.insert(name.filter { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" })
            }
        }
        return anchors
    }

    @Test func eachSystemHasItsSamples() throws {
        let sections = try Self.sections()
        #expect(
            sections.map(\.name) == [
                "danthorpe/swift-networking", "brillcp/Networking", "yagizhanakduman/Networking",
                #"The article "URLSession network layer""#,
            ]
        )
        for section in sections {
            #expect(section.rows.count == section.count, "\(section.name)")
            #expect(section.count >= 16)
        }
    }

    @Test func eachRowHasASpellingAndATestOrAReason() throws {
        for row in try Self.sections().flatMap(\.rows) {
            #expect(!row.sample.isEmpty)
            if row.isWithoutCounterpart {
                #expect(row.here.count > 20, "\(row.sample) has no reason.")
            } else {
                #expect(row.here.contains("`"), "\(row.sample) has no spelling.")
                #expect(!row.tests.isEmpty || !row.links.isEmpty, "\(row.sample) names no place where it runs.")
            }
        }
    }

    @Test func testsThatAreNamedExist() throws {
        var sources: [String: String] = [:]
        let files = Repository.swiftFiles(in: "Tests") + Repository.swiftFiles(in: ".ci/checks/third-party/Tests")
        for file in files where file.lastPathComponent.hasSuffix("Tests.swift") {
            let suite = file.deletingPathExtension().lastPathComponent
            sources[suite, default: ""] += try String(contentsOf: file, encoding: .utf8)
        }
        for row in try Self.sections().flatMap(\.rows) {
            for test in row.tests {
                let exists = sources[test.suite]?.contains("func \(test.name)(") == true
                #expect(exists, "\(row.sample) names \(test.suite).\(test.name), which is no test of this package.")
            }
        }
    }

    @Test func pagesAndProgramsThatAreNamedExist() throws {
        var anchors: [String: Set<String>] = [:]
        for row in try Self.sections().flatMap(\.rows) {
            for link in row.links {
                if anchors[link.path] == nil {
                    let text = try? Repository.text(at: "\(Self.folder)/\(link.path)")
                    #expect(text != nil, "\(row.sample) names \(link.path), which does not exist.")
                    anchors[link.path] = Self.anchors(of: text ?? "")
                }
                let exists = link.anchor.isEmpty || anchors[link.path]?.contains(link.anchor) == true
                #expect(exists, "\(row.sample) names \(link.path)#\(link.anchor), which is no heading.")
            }
        }
    }
}
