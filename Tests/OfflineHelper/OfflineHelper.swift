#if os(Linux)
import Foundation
import Networking

/// A process beside the tests: it prints the connectivity of its network namespace, or fills and empties an outbox.
///
/// It also ends with its standard input.
///
/// Arguments: `watch` prints each status of `SystemConnectivity` as a line.
@main
enum OfflineHelper {
    static func main() async throws {
        switch CommandLine.arguments.dropFirst().first {
        case "watch": await watch()
        default: fatalError("usage: OfflineHelper watch")
        }
    }

    private static func watch() async {
        for await status in SystemConnectivity().changes {
            print(status)
        }
    }

    /// Writes a line at once, and not through a buffer that would end with the process.
    static func print(_ line: some CustomStringConvertible) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }

    /// Ends this process when its standard input ends, which it does with the process of the tests, however that ends.
    static func endWithParent() {
        Thread.detachNewThread {
            while !FileHandle.standardInput.availableData.isEmpty {}
            exit(1)
        }
    }
}
#else
@main
enum OfflineHelper {
    static func main() {}
}
#endif
