import Foundation
import Networking
import TestSupport
import Testing

@testable import NetworkingCore
@testable import NetworkingMocking

/// The documents of JSONTestSuite, which begin with `y` (valid), `n` (invalid) or `i` (either).
@Suite(.timeLimit(.minutes(20)))
struct JSONSuiteTests {
    private struct Example {
        let name: String
        let bytes: [UInt8]

        init(_ object: [String: Any]) throws {
            name = try #require(object["name"] as? String)
            let digits = Array(try #require(object["bytes"] as? String).utf8)
            bytes = try stride(from: 0, to: digits.count - 1, by: 2)
                .map { index in
                    try #require(UInt8(String(decoding: digits[index...(index + 1)], as: UTF8.self), radix: 16))
                }
        }

        /// Compares whether a parser accepts the document with what the suite requires.
        func difference(_ isAccepted: Bool) -> String? {
            switch name.first {
            case "y": isAccepted ? nil : "is refused"
            case "n": isAccepted ? "is accepted" : nil
            default: nil
            }
        }
    }

    private static func examples() throws -> [Example] {
        let examples = try PublicSuite.jsonParsing.cases().map(Example.init)
        try #require(examples.count > 200)
        return examples
    }

    private func differences(_ accepts: (Example) -> Bool) throws -> [String: String] {
        let pairs = try Self.examples()
            .compactMap { example in
                example.difference(accepts(example)).map { (example.name, $0) }
            }
        return Dictionary(pairs) { first, _ in first }
    }

    @Test(.requires(.publicSuites)) func tokenizerAcceptsWhatTheSuiteAccepts() throws {
        KnownDifferences([:]).expect(try differences { JSONTokenizer.fault(in: $0.bytes) == nil })
    }

    @Test(.requires(.publicSuites)) func documentsOfStubsAreWhatTheSuiteAccepts() throws {
        KnownDifferences([:]).expect(try differences { JSONDocument(Data($0.bytes)) != nil })
    }

    /// The redactor writes a document again, so it must not make an invalid one of a valid one.
    @Test(.requires(.publicSuites)) func redactedDocumentsStayValid() throws {
        for example in try Self.examples() {
            for isRedacted in [false, true] {
                let shown = JSONRedactor.redact(example.bytes) { _ in isRedacted }
                #expect(example.difference(shown != nil) == nil, "\(example.name)")
                if let shown {
                    #expect(JSONTokenizer.fault(in: Array(shown.text.utf8)) == nil, "\(example.name)")
                }
            }
        }
    }
}
