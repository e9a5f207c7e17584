#if TestServer
import Foundation
import Networking
import NetworkingTestServer

/// A server on the loopback address in a process of its own, which a test can kill or stop.
///
/// It prints its port, answers each request with that port, and ends with its standard input.
@main
enum AnsweringServer {
    static func main() async throws {
        try await withTestServer { server in
            let port = "\(server.port)"
            server.dispatch { _ in .text(port) }
            FileHandle.standardOutput.write(Data("\(port)\n".utf8))
            await endOfInput()
        }
    }

    private static func endOfInput() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                while !FileHandle.standardInput.availableData.isEmpty {}
                continuation.resume()
            }
        }
    }
}
#else
@main
enum AnsweringServer {
    static func main() {}
}
#endif
