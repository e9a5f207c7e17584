import Foundation
package import Testing

/// A public suite of test cases, which is not part of this repository.
package enum PublicSuite: String, CaseIterable, Sendable {
    /// Documents that a JSON parser must accept, must refuse, or may accept.
    case jsonParsing = "json-parsing"
    /// Fields of RFC 9651 with their values.
    case structuredFields = "structured-fields"
    /// References with the URLs that browsers resolve them to.
    case urlReferences = "url-references"

    /// The file of the suite, in the folder that `NETWORKING_VECTORS` names; `nil` if the variable is not set.
    private var file: URL? {
        ProcessInfo.processInfo.environment["NETWORKING_VECTORS"]
            .map { URL(filePath: $0).appending(path: "\(rawValue).json") }
    }

    /// Whether the suite is on this machine.
    package var isPresent: Bool {
        file.map { FileManager.default.fileExists(atPath: $0.path) } ?? false
    }

    /// Reads the cases.
    ///
    /// - Returns: The objects of the list in the file.
    /// - Throws: The error of the file system or of the parser, or a failed requirement if the file contains no list.
    package func cases() throws -> [[String: Any]] {
        let data = try Data(contentsOf: #require(file))
        return try #require(JSONSerialization.jsonObject(with: data) as? [[String: Any]])
    }
}

/// The cases of a public suite for which the library intentionally has another result, each with its reason.
package struct KnownDifferences: Sendable {
    private let reasons: [String: Set<String>]

    /// Creates a list.
    ///
    /// - Parameter reasons: The names of the cases, by the reason for the difference.
    package init(_ reasons: [String: Set<String>]) {
        self.reasons = reasons
    }

    /// Compares the cases that differ with the list, and records each case that is missing in either.
    ///
    /// - Parameters:
    ///   - differences: The names of the cases that differ, with a description of the difference.
    ///   - sourceLocation: The place of the test.
    package func expect(
        _ differences: [String: String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let known = reasons.values.reduce(into: Set()) { $0.formUnion($1) }
        for (name, difference) in differences.sorted(by: { $0.key < $1.key }) where !known.contains(name) {
            Issue.record("\(name.debugDescription): \(difference)", sourceLocation: sourceLocation)
        }
        let outdated = known.subtracting(differences.keys).sorted()
        #expect(outdated.isEmpty, "Remove these cases from the list.", sourceLocation: sourceLocation)
    }
}
