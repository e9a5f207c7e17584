#if LoopbackRedirect && (os(macOS) || os(Linux))
public import Foundation
import Networking

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension LoopbackUserAgent {
    /// Shows pages in the user's browser.
    ///
    /// ```swift
    /// try await network.oauth(client).signIn(with: .authorizationCode(LoopbackUserAgent.systemBrowser))
    /// ```
    ///
    /// Where there is none, as over SSH, signing in fails. A tool that prints the URL as well goes on: see
    /// ``LoopbackUserAgent``.
    public static var systemBrowser: LoopbackUserAgent {
        LoopbackUserAgent { try await openInBrowser($0) }
    }

    /// Opens a page in the user's browser, with `open` on macOS and `xdg-open` on Linux.
    ///
    /// It returns when the page has been handed over, which with some browsers is when they are closed. Cancelled, it
    /// returns at once, and the page stays.
    ///
    /// - Parameter url: The page: http or https.
    /// - Throws: ``OAuthError`` of the kind ``OAuthError/Kind/misconfigured`` when it cannot be opened, and
    ///   `CancellationError`.
    public static func openInBrowser(_ url: URL) async throws {
        // Others would start programs, and the URL may be a stranger's.
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
        // What browsers print is not the tool's.
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
        let status = try await end.value()
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
            "No browser could be opened with \(opener) (\(why)). Print the URL for the user to open, and go on without this error (try?), "
                + "or sign in by device code."
        )
    }
}

extension Process {
    /// Starts it with no signal blocked.
    ///
    /// On Linux it would begin with those blocked that the starting thread blocks, which are most of them, and a
    /// browser could not be ended.
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
