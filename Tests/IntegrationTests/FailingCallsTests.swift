#if os(Linux) && SQLite
import Foundation
import NetworkingTesting
import TestSupport
import Testing

/// System calls of a scenario fail, one in each run of it, in a process of the program FailingCalls, and another process
/// reads the files that are left.
///
/// An ordinary run lets up to 12 calls fail for each fault. `FAILING_CALLS_RUNS=1000` lets every call fail, which takes
/// several minutes.
@Suite(.timeLimit(.minutes(20)), .requires(.compiler))
struct FailingCallsTests {
    /// The names of the scenarios in the program.
    static let scenarios = [
        "archive", "cassette", "cookies", "download", "outbox", "resumedDownload", "sessions", "sqliteCache",
        "sqliteCookies", "sqliteLimit", "sqliteOutbox", "sqliteSessions", "upload",
    ]

    /// The number of runs for each scenario and fault; all calls fail without a limit.
    private static let limit = ProcessInfo.processInfo.environment["FAILING_CALLS_RUNS"] ?? "12"

    private static let faults = [
        "io", "fullDisk", "synchronizations", "interruption", "half", "space", "descriptor", "descriptors",
    ]

    /// Compiles the library that lets calls fail.
    private static func library(in directory: URL) async throws -> URL {
        let file = directory.appending(path: "failing-calls.so")
        let source = Repository.root.appending(path: "Tests/Helpers/failing-calls.c")
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["cc", "-shared", "-fPIC", "-O1", "-o", file.path, source.path, "-ldl"]
        let status: Int32 = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
            } catch {
                continuation.resume(throwing: error)
            }
        }
        try #require(status == 0, "the library does not compile")
        return file
    }

    @Test(arguments: scenarios)
    func failureOfAnyCallLosesNothing(_ scenario: String) async throws {
        try await withTemporaryDirectory { shared in
            let library = try await Self.library(in: shared)
            for fault in Self.faults {
                let directory = shared.appending(path: fault)
                try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
                let runs = directory.appending(path: "runs")
                func lines(_ mode: String, _ environment: [String: String] = [:]) async throws -> [String] {
                    let process = try ChildProcess(
                        "FailingCalls",
                        [mode, scenario, fault, runs.path],
                        output: directory.appending(path: mode),
                        environment: environment
                    )
                    defer { process.end() }
                    let status = await process.status()
                    #expect(status == 0, "\(scenario), \(fault): \(process.lines.suffix(3))")
                    return process.lines
                }
                let environment = ["LD_PRELOAD": library.path, "FAILING_CALLS_RUNS": Self.limit]
                let output = try await lines("run", environment) + (try await lines("verify"))
                let problems = output.filter { $0.hasPrefix("problem ") }
                #expect(problems == [], "\(scenario), \(fault)")
                let counts = output.filter { $0.hasPrefix("runs ") }
                #expect(counts.count == 2 && counts.first == counts.last, "\(scenario), \(fault): \(counts)")
            }
        }
    }
}
#endif
