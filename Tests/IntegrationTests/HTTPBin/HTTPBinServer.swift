#if URLSession && (os(Linux) || os(macOS))
import Foundation
import Testing

/// httpbin on a free port of the loopback address, in a process of its own that ends with its suite.
struct HTTPBinServer: SuiteTrait, TestScoping {
    /// Where the server of the running suite is.
    @TaskLocal static var url: URL?

    /// Whether the interpreter has what the server needs; found out once, though each test of the suite asks.
    static var isAvailable: Bool {
        get async { await availability.value }
    }

    private static let availability = Task { await Python.has("httpbin, waitress") }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let process = Python.process(Self.program)
        let input = Pipe()
        let output = Pipe()
        process.standardInput = input
        process.standardOutput = output
        let (end, ending) = AsyncStream.makeStream(of: Never.self)
        process.terminationHandler = { _ in ending.finish() }
        try process.run()
        let result: Result<Void, any Error>
        do {
            let port = try #require(await Self.port(from: output.fileHandleForReading), "httpbin did not start")
            let url = try #require(URL(string: "http://127.0.0.1:\(port)"))
            try await Self.$url.withValue(url) { try await function() }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        process.terminate()
        for await _ in end {}
        try input.fileHandleForWriting.close()
        try result.get()
    }

    /// Serves with HTTP/1.1 and kept connections, and prints the port once it listens.
    ///
    /// It ends at the end of its input, so that it does not outlive a test run that is killed.
    private static let program = """
        import os, sys, threading
        from httpbin import app
        from waitress import create_server
        server = create_server(app, host="127.0.0.1", port=0, threads=32)
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
        print(server.effective_port, flush=True)
        signal.alarm(0)
        server.run()
        """

    /// The number that the program prints; nil when it ends without.
    private static func port(from output: FileHandle) async -> Int? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global()
                .async {
                    let line = String(decoding: output.availableData, as: UTF8.self)
                    continuation.resume(returning: Int(line.trimmingCharacters(in: .newlines)))
                }
        }
    }
}

extension Trait where Self == HTTPBinServer {
    /// Runs the tests of a suite while httpbin runs.
    static var httpBin: HTTPBinServer {
        HTTPBinServer()
    }
}
#endif
