#if LoopbackRedirect
import Networking

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Has the user's browser show the page, and receives the answer on this machine: for command-line tools (RFC 8252
/// section 7.3).
///
/// ```swift
/// let client = OAuthClient(
///     .provider(
///         issuer: "https://login.example.com",
///         clientID: "shop-cli",
///         redirectURI: URL(string: "http://127.0.0.1/callback")!
///     )
/// )
/// let browser = LoopbackUserAgent { url in
///     print("Sign in at \(url)")
///     try? await LoopbackUserAgent.openInBrowser(url)
/// }
/// try await network.oauth(client).signIn(with: .authorizationCode(browser))
/// ```
///
/// While it waits, it listens on 127.0.0.1: on the port of the redirect URI, or on one that is free when that names
/// none, which providers have to allow for. It answers the browser with a page that says that it can be closed, and
/// listens no more. Whatever else comes is refused and ends nothing: other hosts (a name that somebody has made lead
/// here), paths, methods, and answers to another sign-in. Requests are bounded in size and time. Several may wait at
/// the same time, on ports of their own.
///
/// The redirect URI is http with the host 127.0.0.1 or localhost. Prefer the former: who asks for `localhost` may get
/// to another program that listens on `::1` (section 8.3). It needs the trait `LoopbackRedirect`.
public struct LoopbackUserAgent: OAuthUserAgent {
    private let texts: Texts
    private let open: @Sendable (URL) async throws -> Void

    /// Creates a user agent.
    ///
    /// - Parameters:
    ///   - texts: What the browser says in the end.
    ///   - open: Opens a page in the browser, or prints its URL. The answer may come while it runs, which cancels it
    ///     and does not wait for it; when it throws, nobody waits any longer.
    public init(texts: Texts = Texts(), open: @escaping @Sendable (URL) async throws -> Void) {
        self.texts = texts
        self.open = open
    }

    /// Listens, opens the page, and waits for the answer.
    ///
    /// - Parameter authorization: The page to show, and where it leads.
    /// - Returns: The URL that the browser came with, and the authorization with the port that it was given.
    /// - Throws: ``OAuthError`` of the kind ``OAuthError/Kind/misconfigured`` when the redirect URI does not lead here,
    ///   or its port cannot be had; `CancellationError`; what `open` throws.
    public func authorize(_ authorization: OAuthAuthorization) async throws -> OAuthCallback {
        let asked = try LoopbackAddress(of: authorization.redirectURI)
        let listener = try await LoopbackListener(port: asked.port)
        let authorization =
            asked.port == nil ? authorization.redirecting(toPort: Int(listener.port)) : authorization
        let reception = LoopbackReception(of: authorization, at: asked.with(port: listener.port), texts: texts)
        // Not a child task: it may be stuck in a browser that does not hear of the cancellation, and nobody needs it
        // any more.
        let opening = OwnedTask.immediate { [open] in
            do {
                try await open(authorization.url)
            } catch {
                reception.giveUp(with: error)
            }
        }
        defer { opening.cancel() }
        do {
            let url = try await withThrowingTaskGroup(of: URL?.self) { group in
                defer { group.cancelAll() }
                group.addTask {
                    await listener.serve(reception)
                    return nil
                }
                group.addTask { try await reception.answer() }
                for try await case let url? in group {
                    return url
                }
                throw CancellationError()
            }
            return OAuthCallback(url, to: authorization)
        } catch {
            // What the cancelled opening throws is not what happened.
            try Task.checkCancellation()
            throw error
        }
    }
}

extension LoopbackUserAgent {
    /// What the browser says in the end, in plain text.
    ///
    /// None of it says that somebody is signed in, since the app has yet to redeem what it got.
    public struct Texts: Sendable, Hashable {
        /// The language of the others, as HTML names it.
        public var language = "en"
        /// The title of the page.
        public var title = "Sign-in"
        /// The provider's answer has come.
        public var received = "The app has the answer and goes on. You can close this page."
        /// The provider's answer is a no.
        public var refused = "Nobody was signed in; the app says why. You can close this page."
        /// What came answers another sign-in, or nobody's.
        public var unexpected =
            "This does not belong to the sign-in that the app waits for. Go on where the app has sent you."
        /// The answer had come before.
        public var over = "This sign-in is over. You can close this page."

        /// Creates the standard texts, which are English.
        public init() {}
    }
}
#endif
