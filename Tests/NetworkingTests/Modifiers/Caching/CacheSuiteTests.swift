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

    private static func suites() throws -> [Suite] {
        let folder =
            ProcessInfo.processInfo.environment["NETWORKING_VECTORS"].map { URL(filePath: $0) }
            ?? URL(filePath: FileManager.default.currentDirectoryPath).appending(path: "../shared/vectors")
        let file = folder.appending(path: "cache-tests.json")
        guard FileManager.default.fileExists(atPath: file.path) else { return [] }
        // A null says that something is not checked.
        let text = try String(contentsOf: file, encoding: .utf8)
            .replacing("\"expected_status\": null", with: "\"expected_status\": -1")
            .replacing("\"expected_response_text\": null", with: "\"check_body\": false")
        return try JSONDecoder().decode([Suite].self, from: Data(text.utf8))
    }

    @Test func scores() async throws {
        let tests = try Self.suites().flatMap(\.tests).filter { $0.isForProxies != true && $0.isForBrowsers != true }
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
        var scores: [String: (passed: Int, all: Int)] = [:]
        for test in tests {
            let kind = test.kind?.rawValue ?? "required"
            let isMet = (test.dependencies ?? []).allSatisfy { outcomes[$0] == nil || outcomes[$0] == "pass" }
            scores[kind, default: (0, 0)].all += 1
            if isMet, outcomes[test.id] == "pass" {
                scores[kind, default: (0, 0)].passed += 1
            } else {
                print("\(kind) \(test.id): \(isMet ? outcomes[test.id] ?? "" : "dependency") – \(test.name)")
            }
        }
        print(scores.map { "\($0.key) \($0.value.passed)/\($0.value.all)" }.sorted().joined(separator: ", "))
    }
}
