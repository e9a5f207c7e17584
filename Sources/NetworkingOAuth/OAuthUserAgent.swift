#if Crypto
public import FoundationForNetworking
public import NetworkingCore
import Synchronization

/// Shows users the page of a provider, and returns the URL that it redirects them to.
///
/// Apps on Apple's platforms use `WebAuthenticationSession`, command-line tools use `LoopbackUserAgent` (trait
/// `LoopbackRedirect`), and apps that receive the URL in their own way use ``ExternalUserAgent``. A test can use a user
/// agent that signs in without a user:
///
/// ```swift
/// struct Agreeing: OAuthUserAgent {
///     func authorize(_ authorization: OAuthAuthorization) async throws -> OAuthCallback {
///         let callback = try await provider.signIn(at: authorization.url)
///         return OAuthCallback(callback, to: authorization)
///     }
/// }
/// ```
public protocol OAuthUserAgent: Sendable {
    /// Lets a user sign in.
    ///
    /// - Parameter authorization: The page to show, and its redirect URI.
    /// - Returns: The URL that the provider redirected the user to. The caller validates it.
    /// - Throws: `CancellationError` if the caller is cancelled, which also closes the page; ``OAuthError/denied`` if
    ///   the user has closed it; or the reason why the page could not be shown.
    func authorize(_ authorization: OAuthAuthorization) async throws -> OAuthCallback
}

/// The URL that a provider redirected the user to, and the authorization that it belongs to.
public struct OAuthCallback: Sendable {
    let url: URL
    let authorization: OAuthAuthorization

    /// Creates a callback.
    ///
    /// - Parameters:
    ///   - url: The URL that the provider redirected the user to.
    ///   - authorization: The authorization of the page that was shown, with the port of the receiver.
    public init(_ url: URL, to authorization: OAuthAuthorization) {
        self.url = url
        self.authorization = authorization
    }
}

extension OAuthCallback: RedactedDescription {}

extension OAuthError {
    /// The error that an ``OAuthUserAgent`` throws when the user declines.
    public static var denied: OAuthError {
        OAuthError(.denied, "The user closed the page without signing in.")
    }
}

/// Opens the page in the system's browser, and waits until the app receives the URL.
///
/// <!-- snippet: fragment SwiftUI -->
/// ```swift
/// let browser = ExternalUserAgent { url in await UIApplication.shared.open(url) }
///
/// WindowGroup { ContentView() }
///     .onOpenURL { browser.handle($0) }
/// ```
///
/// Only one page can wait at a time: a second sign-in ends the first with ``OAuthError/Kind/superseded``.
public final class ExternalUserAgent: OAuthUserAgent {
    private struct Wait {
        let authorization: OAuthAuthorization
        let end: Suspension<URL>
    }

    private let open: @Sendable (URL) async throws -> Void
    private let wait = Mutex<Wait?>(nil)

    /// Creates a user agent.
    ///
    /// - Parameter open: A closure that opens a page in the browser.
    public init(open: @escaping @Sendable (URL) async throws -> Void) {
        self.open = open
    }

    /// Opens the page, and waits for ``handle(_:)``.
    ///
    /// A cancelled caller gets `CancellationError`; the page stays open in the browser.
    public func authorize(_ authorization: OAuthAuthorization) async throws -> OAuthCallback {
        let end = Suspension<URL>()
        let former = wait.withLock { wait in
            defer { wait = Wait(authorization: authorization, end: end) }
            return wait
        }
        former?.end.resume(with: .failure(OAuthError.superseded))
        defer {
            wait.withLock { wait in
                if wait?.end === end { wait = nil }
            }
        }
        try await open(authorization.url)
        return OAuthCallback(try await end.value(until: nil), to: authorization)
    }

    /// Handles a URL that the app was opened with.
    ///
    /// - Parameter url: The URL.
    /// - Returns: `true` if a sign-in was waiting for this URL; `false` for any other URL, and for the same URL the
    ///   second time.
    @discardableResult
    public func handle(_ url: URL) -> Bool {
        let end = wait.withLock { wait -> Suspension<URL>? in
            guard let end = wait?.end, wait?.authorization.matches(redirect: url) == true else { return nil }
            wait = nil
            return end
        }
        return end?.resume(with: .success(url)) ?? false
    }
}
#endif
