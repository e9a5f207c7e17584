#if os(Linux) || os(macOS)
import Foundation
import Testing

/// A server in Python on a free port of the loopback address, in a process that ends with its suite.
struct PythonServer: SuiteTrait, TestScoping {
    /// The URL of the server of the current suite.
    @TaskLocal static var url: URL?

    /// A Python program that defines `app`, a WSGI application.
    let program: String

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await Python.withServer(Self.beginning + program + Self.end) { url in
            try await Self.$url.withValue(url) { try await function() }
        }
    }

    /// Authlib requires https otherwise.
    private static let beginning = """
        import os, sys, threading
        os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

        """

    /// Serves HTTP/1.1 with kept connections, under names that the programs do not use.
    private static let end = """

        from waitress import create_server
        listener = create_server(app, host="127.0.0.1", port=0, threads=32)
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
        print(listener.effective_port, flush=True)
        signal.alarm(0)
        listener.run()
        """
}

extension Trait where Self == PythonServer {
    /// Runs the tests of a suite while httpbin runs.
    static var httpBin: PythonServer {
        PythonServer(program: "from httpbin import app")
    }

    /// Runs the tests of a suite with oidc-provider-mock, a provider of OpenID Connect.
    static var oidcProviderMock: PythonServer {
        PythonServer(
            program: """
                from oidc_provider_mock import app
                app = app()
                """
        )
    }

    /// Runs the tests of a suite with a provider built on Authlib, which enforces the specifications strictly.
    static var authlib: PythonServer {
        PythonServer(program: authlibProgram)
    }
}

/// The Python modules that suites require.
///
/// Determined once for all tests.
enum PythonModules {
    static var haveHTTPBin: Bool {
        get async { await httpBin.value }
    }

    static var haveProviderMock: Bool {
        get async { await providerMock.value }
    }

    static var haveAuthlib: Bool {
        get async { await authlib.value }
    }

    private static let httpBin = Task { await Python.has("httpbin, waitress") }
    private static let providerMock = Task { await Python.has("oidc_provider_mock, waitress") }
    private static let authlib = Task { await Python.has("authlib, flask, waitress") }
}
#endif
