#if SQLite && (os(Linux) || os(macOS))
import Foundation

/// A helper process that writes entries until it completes or is killed.
struct Writer: Sendable {
    private let process: ChildProcess

    /// Starts the process.
    init(_ file: URL, first: Int, count: Int, store: String = "cache") throws {
        process = try ChildProcess(
            "SQLiteWriter",
            [store, file.path, "\(first)", "\(count)"],
            output: URL(fileURLWithPath: file.path + "-output-\(first)")
        )
    }

    /// Kills the process when it has acknowledged `count` writes or has ended.
    ///
    /// Returns its status and all acknowledged numbers.
    func killed(after count: Int) async throws -> (status: Int32, acknowledged: [Int]) {
        let reader = try FileHandle(forReadingFrom: process.output)
        var lines = 0
        while lines < count, process.isRunning {
            let new = try reader.read(upToCount: 4096) ?? Data()
            lines += new.count { $0 == UInt8(ascii: "\n") }
            // A file does not signal that it has grown, and polling without a pause takes the core that the writer
            // needs.
            try await Task.sleep(for: .milliseconds(2))
        }
        process.end()
        return await end()
    }

    /// Closes the input of the process, as the system does when the tests end.
    func abandon() throws {
        try process.abandon()
    }

    /// Waits until the process ends and returns its status and the acknowledged numbers.
    func end() async -> (status: Int32, acknowledged: [Int]) {
        // A number without the end of its line was not acknowledged.
        (await process.status(), process.lines.compactMap { Int($0) })
    }
}
#endif
