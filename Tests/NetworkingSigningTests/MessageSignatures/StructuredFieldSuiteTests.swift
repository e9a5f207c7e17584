#if Crypto
import Foundation
import HTTPTypes
import RawStructuredFieldValues
import TestSupport
import Testing

@testable import NetworkingSigning

/// The dictionaries of structured-field-tests (httpwg): a verifier parses and serialises them again.
@Suite(.timeLimit(.minutes(20)))
struct StructuredFieldSuiteTests {
    @Test(.requires(.publicSuites)) func dictionariesGetTheirCanonicalForm() throws {
        let cases = try PublicSuite.structuredFields.cases()
            .filter { $0["kind"] as? String == "parse" && $0["header_type"] as? String == "dictionary" }
        try #require(cases.count > 100)
        var differences: [String: String] = [:]
        for example in cases {
            let lines = try #require(example["raw"] as? [String])
            // A header field has no control characters: HTTPField replaces them.
            guard !lines.joined().utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7f }) else { continue }
            let fields = lines.map { HTTPField(name: .signature, value: $0) }
            let result = try? OrderedMap(lines: fields).serialized
            let canonical = (example["canonical"] as? [String] ?? lines).joined(separator: ", ")
            let isRight =
                if example["must_fail"] != nil {
                    result == nil
                } else {
                    result == canonical || result == nil && example["can_fail"] != nil
                }
            guard !isRight else { continue }
            let name = "\(example["file"] ?? ""): \(example["name"] ?? "")"
            differences[name] = "\(lines) becomes \(String(describing: result)) instead of \(canonical)"
        }
        KnownDifferences([:]).expect(differences)
    }
}
#endif
