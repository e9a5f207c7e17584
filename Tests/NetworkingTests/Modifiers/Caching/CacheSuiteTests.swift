import Foundation
import Networking
import NetworkingTesting
import Testing

/// The public cache tests, in process.
@Suite(.timeLimit(.minutes(5)))
struct CacheSuiteTests {
    private struct Suite: Decodable {
        let id: String
        let tests: [CacheTest]
    }

    private static var file: URL {
        let folder =
            ProcessInfo.processInfo.environment["NETWORKING_VECTORS"].map { URL(filePath: $0) }
            ?? URL(filePath: #filePath).appending(path: "../../../../../../shared/vectors").standardized
        return folder.appending(path: "cache-tests.json")
    }

    private static func suites() throws -> [Suite] {
        // A null says that something is not checked.
        let text = try String(contentsOf: file, encoding: .utf8)
            .replacing("\"expected_status\": null", with: "\"expected_status\": -1")
            .replacing("\"expected_response_text\": null", with: "\"check_body\": false")
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode([Suite].self, from: Data(text.utf8))
    }

    /// What only a cache that many users share can pass.
    private static let shared: Set<String> = [
        "freshness-s-maxage-shared", "freshness-max-age-s-maxage-shared-longer",
        "freshness-max-age-s-maxage-shared-longer-reversed", "freshness-max-age-s-maxage-shared-longer-multiple",
        "freshness-max-age-s-maxage-shared-shorter", "freshness-max-age-s-maxage-shared-shorter-expires",
        "cc-resp-private-shared", "stale-close-proxy-revalidate", "stale-close-s-maxage=2", "other-authorization",
        "other-authorization-public", "other-authorization-must-revalidate", "other-authorization-smaxage",
    ]

    @Test(
        .enabled(
            if: FileManager.default.fileExists(atPath: file.path),
            "NETWORKING_VECTORS names the folder with cache-tests.json"
        )
    )
    func everyRequiredTestOfALibraryPasses() async throws {
        let tests = try Self.suites().flatMap(\.tests)
            .filter { $0.isForProxies != true && !Self.shared.contains($0.id) }
        var outcomes: [String: String] = [:]
        for test in tests {
            do {
                try await CacheTestRun(test).play { AnyNetworkingComponent($0.cached()) }
                outcomes[test.id] = "pass"
            } catch CacheTestFailure.setup(let reason) {
                outcomes[test.id] = "setup: \(reason)"
            } catch CacheTestFailure.test(let reason) {
                outcomes[test.id] = "fail: \(reason)"
            }
        }
        var scores: [CacheTest.Kind: (passed: Int, all: Int)] = [:]
        for test in tests {
            let kind = test.kind ?? .required
            let isMet = (test.dependencies ?? []).allSatisfy { outcomes[$0] == nil || outcomes[$0] == "pass" }
            scores[kind, default: (0, 0)].all += 1
            if isMet, outcomes[test.id] == "pass" {
                scores[kind, default: (0, 0)].passed += 1
            } else if kind != .check {
                print("\(kind) \(test.id): \(isMet ? outcomes[test.id] ?? "" : "a dependency fails")")
            }
        }
        print(scores.map { "\($0.key) \($0.value.passed)/\($0.value.all)" }.sorted().joined(separator: ", "))
        let (required, optimal) = (try #require(scores[.required]), try #require(scores[.optimal]))
        #expect(required.passed == required.all)
        #expect(optimal.passed * 100 >= optimal.all * 92)
    }
}
