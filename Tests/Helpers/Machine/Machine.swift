import Foundation

#if Valkey
import Networking
import NetworkingValkey

/// A machine of a service that shares its state through a server, for tests that run several and kill some of them.
///
/// Arguments: the port of the server, and `limit`, `session COUNT`, `hang`, `read COUNT USER` or `write USER`; see
/// ``LimitedRequests``, ``SharedSession`` and ``CachedResponses``. It also ends with its standard input.
@main
enum Machine {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 2, let port = Int(arguments[1]) else {
            fatalError("usage: Machine <port> limit|session <requests>|hang|read <pages> <user>|write <user>")
        }
        endWithParent()
        // A busy machine may take seconds for a connection.
        let valkey = ValkeyClient(
            .host("127.0.0.1", port: port),
            configuration: ValkeyConfiguration(timeout: .seconds(10), connectTimeout: .seconds(10))
        )
        switch arguments[2] {
        case "limit": try await LimitedRequests.send(valkey)
        case "read": try await CachedResponses.read(Int(arguments[3]) ?? 0, as: arguments[4], valkey)
        case "write": try await CachedResponses.write(as: arguments[3], valkey)
        case "session": try await SharedSession.send(Int(arguments[3]) ?? 0, valkey)
        default: try await SharedSession.send(1, valkey, hangs: true)
        }
        await valkey.shutdown()
    }

    /// Writes a line at once, and not through a buffer that would end with the process.
    static func print(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }

    /// Ends this process when its standard input ends, which it does with the process of the tests, however that ends.
    private static func endWithParent() {
        Thread.detachNewThread {
            while !FileHandle.standardInput.availableData.isEmpty {}
            exit(1)
        }
    }
}
#else
@main
enum Machine {
    static func main() {}
}
#endif
