import Foundation
import TestSupport
import Testing

/// `Tests/Tables/AncestorTests.md` and `Documentation/Reliability.md` name only tests that exist in this package.
struct AncestorTableTests {
    /// A row of the table.
    private struct Row {
        let name: String
        let here: [String]
        let remark: String

        init?(_ line: Substring) {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard line.hasPrefix("| "), cells.count >= 2, cells[0].contains(".") else { return nil }
            name = cells[0]
            here = cells[1].matches(of: /`([^`]+)`/).map { String($0.1) }
            remark = cells.count > 2 ? cells[2] : ""
        }
    }

    /// The rows of each section, with its heading.
    private static func sections() throws -> [(heading: String, rows: [Row])] {
        let text = try Repository.text(at: "Tests/Tables/AncestorTests.md")
        return text.components(separatedBy: "\n## ").dropFirst()
            .map { section in
                let lines = section.split(separator: "\n")
                return (String(lines.first ?? ""), lines.compactMap(Row.init))
            }
    }

    /// The files of this package's suites, keyed by suite name.
    ///
    /// Several targets can have a suite of the same name.
    private static func suites() -> [String: [URL]] {
        let files = Repository.swiftFiles(in: "Tests").filter { $0.lastPathComponent.hasSuffix("Tests.swift") }
        return Dictionary(grouping: files) { $0.deletingPathExtension().lastPathComponent }
    }

    @Test func everyAncestorTestHasARow() throws {
        let sections = try Self.sections()
        #expect(sections.map(\.heading) == ["HelpersTests: 6", "NetworkingTests: 94", "OAuthTests: 18"])
        #expect(sections.map(\.rows.count) == [6, 94, 18])
        for rows in sections.map(\.rows) {
            #expect(Set(rows.map(\.name)).count == rows.count)
        }
    }

    @Test func everyNamedTestExists() throws {
        let suites = Self.suites()
        var sources: [String: String] = [:]
        for row in try Self.sections().flatMap(\.rows) {
            for name in row.here {
                let parts = name.split(separator: ".").map(String.init)
                let (suite, test) = try (#require(parts.first), #require(parts.last))
                if sources[suite] == nil {
                    sources[suite] = try (suites[suite] ?? []).map { try String(contentsOf: $0, encoding: .utf8) }
                        .joined()
                }
                let exists = sources[suite]?.contains("func \(test)(") == true
                #expect(exists, "\(row.name) names \(name), which is no test of this package.")
            }
        }
    }

    @Test func everySuiteOfTheReliabilityPageExists() throws {
        let page = try Repository.text(at: "Documentation/Reliability.md")
        let names = Set(page.matches(of: /`([A-Za-z]+Tests)`/).map { String($0.1) })
        #expect(names.count > 50)
        let missing = names.subtracting(Self.suites().keys).sorted()
        #expect(missing.isEmpty, "Documentation/Reliability.md names suites that do not exist.")
    }

    @Test func everyRowWithoutATestHasAReason() throws {
        for row in try Self.sections().flatMap(\.rows) where row.here.isEmpty {
            let isExplained = !row.remark.isEmpty
            #expect(isExplained, "\(row.name) has neither a test here nor a reason.")
        }
    }
}
