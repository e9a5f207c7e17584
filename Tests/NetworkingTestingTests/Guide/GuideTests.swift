import Foundation
import TestSupport
import Testing

/// What the guides show is what the suite compiles and runs: each of their snippets stands in a file of this folder.
struct GuideTests {
    @Test(arguments: ["Testing", "NetworkClient", "Extending"])
    func snippetsAreCompiledAndRun(page: String) throws {
        let snippets = Snippet.all(
            in: try String(contentsOf: Self.root.appending(path: "Documentation/\(page).md"), encoding: .utf8)
        )
        #expect(!snippets.isEmpty)
        let sources = try Self.sources()
        for snippet in snippets where !sources.contains(where: { $0.contains(snippet.text) }) {
            Issue.record(
                "\(page).md, line \(snippet.line): this snippet stands in no file of the folder Guide:\n\(snippet.text)"
            )
        }
    }

    @Test func findsWhatIsNotThere() {
        let page = """
            ```swift
              let a = 1

              let b = 2
            ```
            ```
            not Swift
            ```
            <!-- snippet: fragment SwiftUI -->
            ```swift
            import SwiftUI
            ```
            """
        #expect(Snippet.all(in: page) == [Snippet(line: 1, text: "let a = 1\nlet b = 2\n")])
        #expect(Snippet.normalized("    let a = 1\n    let b = 2\n    let c = 3").contains("let a = 1\nlet b = 2\n"))
        #expect(!Snippet.normalized("    let a = 1\n    let b = 22").contains("let a = 1\nlet b = 2\n"))
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        .standardized

    private static func sources() throws -> [String] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "swift" && $0.lastPathComponent != "GuideTests.swift" }
        // What asks a server is no unit test.
        return try (files + [root.appending(path: "Tests/IntegrationTests/TestServerGuide.swift")])
            .map { Snippet.normalized(try String(contentsOf: $0, encoding: .utf8)) }
    }
}

/// A piece of Swift in a page, without its indentation and its empty lines.
private struct Snippet: Equatable {
    /// Where it begins.
    let line: Int
    let text: String

    static func all(in page: String) -> [Snippet] {
        var snippets: [Snippet] = []
        var begun: (line: Int, text: String)?
        var previous = ""
        for (index, line) in page.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if let snippet = begun {
                if line == "```" {
                    snippets.append(Snippet(line: snippet.line, text: normalized(snippet.text)))
                    begun = nil
                } else {
                    begun = (snippet.line, "\(snippet.text)\(line)\n")
                }
            } else if line == "```swift", !previous.hasPrefix("<!-- snippet: ") {
                begun = (index + 1, "")
            }
            previous = String(line)
        }
        return snippets
    }

    static func normalized(_ text: String) -> String {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
            .map { "\($0)\n" }
            .joined()
    }
}
