import Foundation

#if ServiceLifecycle && AsyncHTTPClient
import Logging
import Networking
import NetworkingAsyncHTTPClient
import ServiceLifecycle
import UnixSignals

/// A service that is stopped while it sends a request, as a server is stopped by the system.
///
/// Arguments: the URL of a server, and the limit of the shutdown in milliseconds. It sends one request, prints
/// `stopping` after SIGTERM, the result of the request, and the results of requests after the shutdown.
@main
enum StoppedService {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let server = URL(string: arguments[1]), let limit = Int(arguments[2]) else {
            fatalError("usage: StoppedService <url> <milliseconds>")
        }
        endWithParent()
        let transport = AsyncHTTPClientTransport()
        let shutdown = StackShutdown(within: .milliseconds(limit)) { print("closed") }
        let network = transport.drained(by: shutdown).server(baseURL: server)
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let group = ServiceGroup(
            services: [shutdown, Announcement(start: start)],
            gracefulShutdownSignals: [.sigterm],
            logger: Logger(label: "StoppedService") { _ in SwiftLogNoOpLogHandler() }
        )
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                // The test sends SIGTERM when the request arrives, which ends a process without services.
                for await _ in started {}
                await send("call", over: network)
            }
            try await group.run()
            try await tasks.waitForAll()
        }
        await send("late call", over: network)
        await send("late exchange", over: transport.server(baseURL: server))
    }

    private static func send(_ name: String, over network: some NetworkingComponent) async {
        do {
            print("\(name): \(try await network.data(HTTPRequestData(path: "held")).status.code)")
        } catch {
            print("\(name): \((error as? NetworkingError)?.kind.rawValue ?? "\(error)")")
        }
    }

    /// Prints that the shutdown has begun; it is the last service, so it is stopped first.
    private struct Announcement: Service {
        let start: AsyncStream<Void>.Continuation

        func run() async throws {
            start.finish()
            try await gracefulShutdown()
            StoppedService.print("stopping")
        }
    }

    /// Writes a line at once, and not through a buffer that would end with the process.
    private static func print(_ line: String) {
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
enum StoppedService {
    static func main() {}
}
#endif
