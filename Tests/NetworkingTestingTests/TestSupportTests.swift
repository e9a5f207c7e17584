import Foundation
import Synchronization
import TestSupport
import Testing

/// Helpers shared by the test targets.
@Suite(.timeLimit(.minutes(20)))
struct TestSupportTests {
    // MARK: Waiting

    @Test func waitEndsAtOnceIfTheConditionIsTrue() async throws {
        var checks = 0
        try await eventually("it is true") {
            checks += 1
            return true
        }
        #expect(checks == 1)
    }

    @Test func waitEndsWhenTheConditionBecomesTrue() async throws {
        var checks = 0
        try await eventually("it was checked fifty times") {
            checks += 1
            return checks == 50
        }
        #expect(checks == 50)
    }

    @Test func waitForAFalseConditionRecordsAnIssue() async throws {
        let issues = Mutex<[(sentence: String, file: String?)]>([])
        try await withKnownIssue {
            try await eventually("the call is waiting", within: .milliseconds(1)) { false }
        } matching: { issue in
            let sentence = issue.comments.map(\.rawValue).joined()
            issues.withLock { $0.append((sentence, issue.sourceLocation?.fileName)) }
            return true
        }
        let issue = issues.withLock { $0 }
        #expect(issue.map(\.sentence) == ["Not within 0.001 seconds: the call is waiting"])
        #expect(issue.map(\.file) == ["TestSupportTests.swift"])
    }

    @Test func waitThrowsTheErrorOfItsCondition() async {
        struct Broken: Error {}
        await #expect(throws: Broken.self) {
            try await eventually("it is true") { throw Broken() }
        }
    }

    @Test func waitEndsWithItsTask() async {
        let call = Task { try await eventually("it is true") { false } }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
    }

    // MARK: Random numbers

    @Test func equalSeedsGiveEqualNumbersOnEveryMachine() {
        var (one, two, other) = (SeededRandom(seed: 1), SeededRandom(seed: 1), SeededRandom(seed: 2))
        let numbers = (0..<4).map { _ in one.next() }
        #expect(numbers == (0..<4).map { _ in two.next() })
        #expect(numbers != (0..<4).map { _ in other.next() })
        // The value of the reference implementation, so a seed gives the same numbers on every machine.
        #expect(numbers.first == 0x910A_2DEC_8902_5CC1)
    }

    @Test func seedIsRandomUnlessTheEnvironmentSetsIt() {
        let given = ProcessInfo.processInfo.environment["TEST_SEED"].flatMap { UInt64($0) }
        let seeds = (0..<3).map { _ in withSeed(\.seed) }
        if let given {
            #expect(Set(seeds) == [given])
        } else {
            #expect(Set(seeds).count == 3)
        }
    }

    // MARK: Skips

    /// CI fails for a skip reason that is not in the file.
    @Test func allowedSkipsAreListedReasons() throws {
        let allowed = try Repository.text(at: ".ci/checks/tests/Skips.txt").split(separator: "\n")
            .filter { !$0.hasPrefix("#") }
        #expect(!allowed.isEmpty)
        for sentence in allowed {
            #expect(SkipReason(rawValue: String(sentence)) != nil, "\(sentence) is no reason of SkipReason")
        }
    }

    @Test func everySkipHasAListedReason() throws {
        let pattern = /\.enabled\(|\.disabled\(|Test\.cancel\(/
        let files = Repository.swiftFiles(in: "Tests") + Repository.swiftFiles(in: ".ci/checks/third-party/Tests")
        #expect(files.count > 200)
        for file in files where !file.path.contains("/Tests/TestSupport/") {
            if file.lastPathComponent == "TestSupportTests.swift" { continue }
            let isPlain = try !String(contentsOf: file, encoding: .utf8).contains(pattern)
            #expect(isPlain, "\(file.lastPathComponent): use .requires(_:)")
        }
    }
}
