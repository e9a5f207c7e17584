#if Crypto
import Networking
import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Shows users the page of a provider, and brings back the URL that it sends them to.
///
/// `WebAuthenticationSession` is there for apps on Apple's platforms, `LoopbackUserAgent` (trait `LoopbackRedirect`)
/// for command-line tools and ``ExternalUserAgent`` for apps that get the URL in a way of their own. A test has one
/// that answers itself:
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
    /// Has a user sign in.
    ///
    /// - Parameter authorization: The page to show, and where it leads.
    /// - Returns: The URL that the provider sent the user to. What it says is checked by who asked.
    /// - Throws: `CancellationError` at the caller's cancellation, which takes the page away; ``OAuthError/denied``
    ///   when the user has closed it; or why it could not be shown.
    func authorize(_ authorization: OAuthAuthorization) async throws -> OAuthCallback
}

/// What came back from a page.
public struct OAuthCallback: Sendable {
    let url: URL
    let authorization: OAuthAuthorization

    /// Creates the answer.
    ///
    /// - Parameters:
    ///   - url: Where the provider sent the user.
    ///   - authorization: The authorization whose page was shown, with the port that it was given.
    public init(_ url: URL, to authorization: OAuthAuthorization) {
        self.url = url
        self.authorization = authorization
    }
}

extension OAuthCallback: CustomStringConvertible, CustomReflectable {
    /// The type, and nothing of the code in it.
    public var description: String {
        "OAuthCallback(<redacted>)"
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: [:])
    }
}

extension OAuthError {
    /// The user did not want to, for an ``OAuthUserAgent`` to say.
    public static var denied: OAuthError {
        OAuthError(.denied, "The user closed the page without signing in.")
    }
}

/// Has the system's browser show the page, and waits for the app to be given the URL.
///
/// ```swift
/// let browser = ExternalUserAgent { url in await UIApplication.shared.open(url) }
///
/// WindowGroup { … }
///     .onOpenURL { browser.handle($0) }
/// ```
///
/// One page at a time: who asks for another ends the wait for the first with ``OAuthError/Kind/superseded``.
public final class ExternalUserAgent: OAuthUserAgent {
    private struct Wait {
        let authorization: OAuthAuthorization
        let end: Suspension<URL>
    }

    private let open: @Sendable (URL) async throws -> Void
    private let wait = Mutex<Wait?>(nil)

    /// Creates a user agent.
    ///
    /// - Parameter open: Opens a page in the browser.
    public init(open: @escaping @Sendable (URL) async throws -> Void) {
        self.open = open
    }

    /// Opens the page, and waits for ``handle(_:)``.
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
        return OAuthCallback(try await end.value(), to: authorization)
    }

    /// Takes the URL that the app was opened with.
    ///
    /// - Parameter url: The URL.
    /// - Returns: Whether it was the answer that somebody waits for; others are not touched, nor the same once more.
    @discardableResult
    public func handle(_ url: URL) -> Bool {
        let end = wait.withLock { wait -> Suspension<URL>? in
            guard let end = wait?.end, wait?.authorization.isAnswered(by: url) == true else { return nil }
            wait = nil
            return end
        }
        return end?.resume(with: .success(url)) ?? false
    }
}
#endif
