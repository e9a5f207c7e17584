import Foundation
import Synchronization
import Testing

/// The public cache tests (http-tests/cache-tests) and the results of a cache.
enum CacheSuite {
    private struct Part: Decodable {
        let id: String
        let tests: [CacheTest]
    }

    /// The cases as JSON, in the folder that `NETWORKING_VECTORS` names; `nil` if the variable is not set.
    static var file: URL? {
        ProcessInfo.processInfo.environment["NETWORKING_VECTORS"]
            .map { URL(filePath: $0).appending(path: "cache-tests.json") }
    }

    static var all: [CacheTest] {
        get throws {
            guard let file else { throw CocoaError(.fileNoSuchFile) }
            // `null` means that the property is not checked.
            let text = try String(contentsOf: file, encoding: .utf8)
                .replacing("\"expected_status\": null", with: "\"expected_status\": -1")
                .replacing("\"expected_response_text\": null", with: "\"check_body\": false")
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            return try decoder.decode([Part].self, from: Data(text.utf8)).flatMap(\.tests)
        }
    }

    /// The tests that the cache of one user can pass.
    static var libraryProfile: [CacheTest] {
        get throws {
            try all.filter { $0.isForProxies != true && !shared.contains($0.id) }
        }
    }

    /// The tests that only a shared cache can pass.
    private static let shared: Set<String> = [
        "freshness-s-maxage-shared", "freshness-max-age-s-maxage-shared-longer",
        "freshness-max-age-s-maxage-shared-longer-reversed", "freshness-max-age-s-maxage-shared-longer-multiple",
        "freshness-max-age-s-maxage-shared-shorter", "freshness-max-age-s-maxage-shared-shorter-expires",
        "cc-resp-private-shared", "stale-close-proxy-revalidate", "stale-close-s-maxage=2", "other-authorization",
        "other-authorization-public", "other-authorization-must-revalidate", "other-authorization-smaxage",
    ]

    /// Runs tests, prints failures and scores, and writes the results to the file in `CACHE_TEST_RESULTS`.
    static func play(
        _ tests: [CacheTest],
        named name: String,
        _ play: (CacheTest) async throws -> Void
    ) async throws -> Outcomes {
        var outcomes = Outcomes(tests: tests)
        for test in tests {
            do {
                try await play(test)
                outcomes.results[test.id] = .passed
            } catch CacheTestFailure.setup(let reason) {
                outcomes.results[test.id] = .failed("Setup", reason)
            } catch CacheTestFailure.test(let reason) {
                outcomes.results[test.id] = .failed("Assertion", reason)
            }
        }
        outcomes.print(as: name)
        if let folder = ProcessInfo.processInfo.environment["CACHE_TEST_RESULTS"] {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            try encoder.encode(outcomes.results).write(to: URL(filePath: folder).appending(path: "\(name).json"))
        }
        return outcomes
    }

    /// The result of a test.
    ///
    /// As JSON, it is `true` or the kind of failure and its message, as in the suite.
    enum Result: Encodable, Equatable {
        case passed
        case failed(String, String)

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .passed: try container.encode(true)
            case .failed(let kind, let message): try container.encode([kind, message])
            }
        }
    }

    struct Outcomes {
        let tests: [CacheTest]
        var results: [String: Result] = [:]

        /// Returns whether a test and all tests that it depends on pass.
        func passes(_ test: CacheTest) -> Bool {
            results[test.id] == .passed
                && (test.dependencies ?? []).allSatisfy { results[$0] == nil || results[$0] == .passed }
        }

        func failures(_ kind: CacheTest.Kind) -> [String] {
            tests.filter { ($0.kind ?? .required) == kind && !passes($0) }.map(\.id)
        }

        /// Compares the failing tests with the reviewed ones and records each difference.
        func expect(_ known: KnownFailures, sourceLocation: SourceLocation = #_sourceLocation) {
            for (kind, ids) in [
                (CacheTest.Kind.required, known.required), (.optimal, known.optimal), (.check, known.check),
            ] {
                let failures = Set(failures(kind))
                let new = failures.subtracting(ids).sorted()
                #expect(new.isEmpty, "\(kind) tests that newly fail", sourceLocation: sourceLocation)
                let passing = Set(ids).subtracting(failures).sorted()
                #expect(
                    passing.isEmpty,
                    "Remove these passing \(kind) tests from the list.",
                    sourceLocation: sourceLocation
                )
            }
        }

        func print(as name: String) {
            for test in tests where !passes(test) {
                var reason = "a dependency fails"
                if case .failed(let kind, let message) = results[test.id] { reason = "\(kind): \(message)" }
                Swift.print("\(name): \(test.kind ?? .required) \(test.id): \(reason)")
            }
            let scores = [CacheTest.Kind.required, .optimal, .check]
                .map { kind in
                    let all = tests.count { ($0.kind ?? .required) == kind }
                    return "\(kind) \(all - failures(kind).count)/\(all)"
                }
            Swift.print("\(name): \(scores.joined(separator: ", "))")
        }
    }
}
