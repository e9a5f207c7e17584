#if os(Linux)
import Foundation

/// A process of the program OfflineHelper.
struct HelperProcess: Sendable {
    private let process: ChildProcess

    /// Starts the process.
    init(_ arguments: [String], output: URL) throws {
        process = try ChildProcess("OfflineHelper", arguments, output: output)
    }

    /// The complete lines of the output.
    var lines: [String] {
        process.lines
    }

    /// Kills the process when it has printed `count` lines or has ended.
    ///
    /// Returns its status and all lines.
    func killed(afterLines count: Int) async throws -> (status: Int32, lines: [String]) {
        while lines.count < count, process.isRunning {
            // A file notifies no reader that it has grown.
            try await Task.sleep(for: .milliseconds(1))
        }
        process.end()
        return await end()
    }

    /// Waits until the process ends and returns its status and its lines.
    func end() async -> (status: Int32, lines: [String]) {
        (await process.status(), lines)
    }
}
#endif
