import Foundation
import TestSupport
import Testing

/// The snippets in the guides are compiled and run: each declaration, and each paragraph of statements, is part of a file
/// in this folder.
struct GuideTests {
    @Test(arguments: ["Testing", "NetworkClient", "Extending"])
    func snippetsAreCompiledAndRun(page: String) throws {
        let snippets = Snippet.all(
            in: try String(contentsOf: Self.root.appending(path: "Documentation/\(page).md"), encoding: .utf8)
        )
        #expect(!snippets.isEmpty)
        let sources = try Self.sources()
        for snippet in snippets {
            for part in snippet.parts where !sources.contains(where: { $0.contains(part) }) {
                Issue.record("\(page).md, line \(snippet.line): no file in the folder Guide contains this:\n\(part)")
            }
        }
    }

    @Test func findsSnippetsInAPage() {
        let page = """
            ```swift
            import Networking

            struct A {
                let a = 1

                let b = 2
            }

            let c = A()
            ```
            ```
            not Swift
            ```
            <!-- snippet: fragment SwiftUI -->
            ```swift
            import SwiftUI
            ```
            """
        #expect(
            Snippet.all(in: page) == [
                Snippet(line: 1, parts: ["struct A {\nlet a = 1\nlet b = 2\n}\n", "let c = A()\n"])
            ]
        )
        #expect(Snippet.normalized("    let a = 1\n    let b = 2\n    let c = 3").contains("let a = 1\nlet b = 2\n"))
        #expect(!Snippet.normalized("    let a = 1\n    let b = 22").contains("let a = 1\nlet b = 2\n"))
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        .standardized

    private static func sources() throws -> [String] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "swift" && $0.lastPathComponent != "GuideTests.swift" }
        // Snippets that need a server are in the integration tests.
        return try (files + [root.appending(path: "Tests/IntegrationTests/TestServerGuide.swift")])
            .map { Snippet.normalized(try String(contentsOf: $0, encoding: .utf8)) }
    }
}

/// A Swift snippet of a page.
private struct Snippet: Equatable {
    /// The line of its opening fence.
    let line: Int
    /// Its paragraphs, without indentation and empty lines.
    ///
    /// A paragraph begins after an empty line, at a line without indentation. Imports are left out, because a file of
    /// this folder imports what several snippets need.
    let parts: [String]

    static func all(in page: String) -> [Snippet] {
        var snippets: [Snippet] = []
        var current: (line: Int, paragraphs: [String])?
        var previous = ""
        for (index, line) in page.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if var snippet = current {
                if line == "```" {
                    let parts = snippet.paragraphs.map(normalized).filter { !$0.isEmpty }
                    snippets.append(Snippet(line: snippet.line, parts: parts))
                    current = nil
                } else {
                    if previous.isEmpty, !line.hasPrefix(" ") { snippet.paragraphs.append("") }
                    if !line.hasPrefix("import ") {
                        snippet.paragraphs[snippet.paragraphs.count - 1] += "\(line)\n"
                    }
                    current = snippet
                }
            } else if line == "```swift", !previous.hasPrefix("<!-- snippet: ") {
                current = (index + 1, [""])
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
