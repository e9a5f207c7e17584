#if URLSession && (os(Linux) || os(macOS))
import Foundation
import Testing

/// An httpbin server on a free port of the loopback address, in a process that ends with its suite.
struct HTTPBinServer: SuiteTrait, TestScoping {
    /// The URL of the server of the current suite.
    @TaskLocal static var url: URL?

    /// Whether the interpreter has the modules of the server.
    ///
    /// Determined once for all tests.
    static var isAvailable: Bool {
        get async { await availability.value }
    }

    private static let availability = Task { await Python.has("httpbin, waitress") }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await Python.withServer(Self.program) { url in
            try await Self.$url.withValue(url) { try await function() }
        }
    }

    /// Serves HTTP/1.1 with kept connections.
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
}

extension Trait where Self == HTTPBinServer {
    /// Runs the tests of a suite while httpbin runs.
    static var httpBin: HTTPBinServer {
        HTTPBinServer()
    }
}
#endif
