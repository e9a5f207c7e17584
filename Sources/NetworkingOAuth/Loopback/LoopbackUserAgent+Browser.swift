#if LoopbackRedirect && (os(macOS) || os(Linux))
import CLibraryForNetworking
public import Foundation
import NetworkingCore

extension LoopbackUserAgent {
    /// A user agent that opens pages in the user's browser.
    ///
    /// ```swift
    /// try await network.oauth(client).signIn(with: .authorizationCode(LoopbackUserAgent.systemBrowser))
    /// ```
    ///
    /// Without a browser, for example over SSH, signing in fails. A tool that also prints the URL can continue: see
    /// ``LoopbackUserAgent``.
    public static var systemBrowser: LoopbackUserAgent {
        LoopbackUserAgent { try await openInBrowser($0) }
    }

    /// Opens a page in the user's browser, with `open` on macOS and `xdg-open` on Linux.
    ///
    /// Returns when the browser has taken over the page; with some browsers, only after the user has closed the
    /// browser. A cancelled caller gets `CancellationError` at once, and the page stays open.
    ///
    /// - Parameter url: The page: http or https.
    /// - Throws: ``OAuthError`` of the kind ``OAuthError/Kind/misconfigured`` if the page cannot be opened, and
    ///   `CancellationError`.
    public static func openInBrowser(_ url: URL) async throws {
        // Other schemes could start programs, and the URL may not be trustworthy.
        guard ["http", "https"].contains(url.scheme?.lowercased()) else {
            throw OAuthError(
                .misconfigured,
                "A page that is neither http nor https is not opened. Check the provider's endpoints."
            )
        }
        let process = Process()
        #if os(macOS)
        process.executableURL = URL(filePath: "/usr/bin/open")
        process.arguments = [url.absoluteString]
        #else
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["xdg-open", url.absoluteString]
        #endif
        // The browser's output must not mix with that of the tool.
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let end = Suspension<Int32>()
        process.terminationHandler = { end.resume(with: .success($0.terminationStatus)) }
        do {
            try process.runWithSignals()
        } catch {
            throw noBrowser("it could not be started")
        }
        let status = try await end.value(until: nil)
        guard status == 0 else { throw noBrowser("status \(status)") }
    }

    private static func noBrowser(_ why: String) -> OAuthError {
        #if os(macOS)
        let opener = "open"
        #else
        let opener = "xdg-open"
        #endif
        return OAuthError(
            .misconfigured,
            "No browser could be opened with \(opener) (\(why)). Print the URL for the user to open and ignore this "
                + "error (try?), or sign in with a device code."
        )
    }
}

extension Process {
    /// Starts the process with no signal blocked.
    ///
    /// On Linux a process inherits the signals that the starting thread blocks, which are most of them, and the browser
    /// could then not be terminated.
    fileprivate func runWithSignals() throws {
        #if os(Linux)
        var none = sigset_t()
        var former = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &former)
        defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
        #endif
        try run()
    }
}
#endif
