#if SQLite && (os(Linux) || os(macOS))
import Foundation
import NetworkingTesting
import TestSupport
import Testing

/// Processes of one machine that share a rate limit through a file.
@Suite(.timeLimit(.minutes(20)))
struct RateLimitProcessTests {
    @Test func killedProcessesLeaveTheRateToTheOthers() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "limits")
            func output(_ number: Int) -> URL { URL(fileURLWithPath: file.path + "-output-\(number)") }
            var numbers = [0, 1_000_000, 2_000_000]
            var writers = try numbers.map { try Writer(file, first: $0, count: 0, store: "limit") }
            func sent() -> Int {
                numbers.reduce(0) { count, number in
                    let data = (try? Data(contentsOf: output(number))) ?? Data()
                    return count + data.count { $0 == UInt8(ascii: "\n") }
                }
            }
            // All processes run, and have used what became available while they started.
            try await eventually("all processes send") {
                numbers.allSatisfy { ((try? Data(contentsOf: output($0))) ?? Data()).count > 20 }
            }
            let (start, before) = (ContinuousClock.now, sent())
            try await Task.sleep(for: .milliseconds(800))
            _ = try await writers.removeFirst().killed(after: 0)
            try await Task.sleep(for: .milliseconds(300))
            numbers.append(3_000_000)
            writers.append(try Writer(file, first: 3_000_000, count: 0, store: "limit"))
            try await Task.sleep(for: .milliseconds(1_400))
            let (time, count) = (ContinuousClock.now - start, sent() - before)
            for writer in writers { _ = try await writer.killed(after: 0) }
            let expected = time / .seconds(1) * 100
            // The permits that the killed process held are lost, at most those of twice the lead.
            #expect(Double(count) <= expected + 6, "\(count) of \(expected)")
            // Other tests may leave the processes too little time to reach the rate.
            #expect(Double(count) >= expected * 0.5, "\(count) of \(expected)")
        }
    }
}
#endif
