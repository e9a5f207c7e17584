#if LoopbackRedirect
public import FoundationForNetworking
import NetworkingCore
import NetworkingLoopback

/// Opens the page in the user's browser, and receives the callback on this machine: for command-line tools (RFC 8252
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
/// While it waits, it listens on the port of the redirect URI. If the URI has no port, it uses any free port, which the
/// provider must allow. After the callback it shows the user a page that can be closed, and stops listening. It refuses
/// every other request and keeps waiting: other hosts (DNS rebinding), paths and methods, and callbacks of another
/// sign-in. Requests are limited in size and time. Several user agents may wait at the same time, each on a separate
/// port.
///
/// The redirect URI is http with the host 127.0.0.1 or localhost. Prefer the former (section 8.3). A browser may look
/// `localhost` up as 127.0.0.1 or as `::1`, so this type then listens on both, and fails if another program uses the
/// port of one of them. This type needs the trait `LoopbackRedirect`.
public struct LoopbackUserAgent: OAuthUserAgent {
    /// The maximum duration of a connection.
    private static let maximumTime = Duration.seconds(10)

    private let texts: Texts
    private let open: @Sendable (URL) async throws -> Void

    /// Creates a user agent.
    ///
    /// - Parameters:
    ///   - texts: The texts of the final page.
    ///   - open: Opens a page in the browser, or prints its URL. If the callback arrives while the closure runs, the
    ///     closure is cancelled and not awaited. If it throws, the sign-in fails with its error.
    public init(texts: Texts = Texts(), open: @escaping @Sendable (URL) async throws -> Void) {
        self.texts = texts
        self.open = open
    }

    /// Listens, opens the page, and waits for the callback.
    ///
    /// - Parameter authorization: The page to show, and its redirect URI.
    /// - Returns: The URL that the browser requested, and the authorization with the assigned port.
    /// - Throws: ``OAuthError`` of the kind ``OAuthError/Kind/misconfigured`` if the redirect URI is not local or its
    ///   port is not available; `CancellationError`; errors of `open`.
    public func authorize(_ authorization: OAuthAuthorization) async throws -> OAuthCallback {
        let asked = try LoopbackAddress(of: authorization.redirectURI)
        let listener: LoopbackListener
        do {
            listener = try await LoopbackListener(
                port: asked.port,
                isOnBothAddresses: asked.isName,
                waitsForPort: true
            )
        } catch let fault as LoopbackFault {
            throw OAuthError(fault)
        }
        let authorization =
            asked.port == nil ? authorization.redirecting(toPort: Int(listener.port)) : authorization
        let reception = LoopbackReception(of: authorization, at: asked.with(port: listener.port), texts: texts)
        // Not a child task: a browser may ignore the cancellation and block it, and its result is no longer needed.
        let opening = OwnedTask.immediate { [open] in
            do {
                try await open(authorization.url)
            } catch {
                reception.fail(with: error)
            }
        }
        defer { opening.cancel() }
        do {
            let url = try await withThrowingTaskGroup(of: URL?.self) { group in
                defer { group.cancelAll() }
                group.addTask {
                    let clock = NetworkEnvironment.current.clock
                    await listener.serve(atMost: Self.maximumTime, on: clock) { try await reception.serve($0) }
                    return nil
                }
                group.addTask { try await reception.callback() }
                for try await case let url? in group {
                    return url
                }
                throw CancellationError()
            }
            return OAuthCallback(url, to: authorization)
        } catch {
            // An error of the cancelled `open` closure is not the cause.
            try Task.checkCancellation()
            throw error
        }
    }
}

extension OAuthError {
    fileprivate init(_ fault: LoopbackFault) {
        let place = fault.place.prefix(1).uppercased() + fault.place.dropFirst()
        let reason =
            switch fault.reason {
            case .inUse:
                "\(place), which the redirect URI names, is in use by another program. Quit that program, or omit the "
                    + "port if the provider allows any."
            case .forbidden:
                "\(place), which the redirect URI names, may not be used by this user. Use a port above 1023, or omit "
                    + "the port if the provider allows any."
            case .other(let message?): "\(place) is not available for the redirect (\(message))."
            case .other(nil): "\(place) is not available for the redirect."
            }
        self.init(.misconfigured, underlying: fault, reason)
    }
}

extension LoopbackUserAgent {
    /// The texts of the final page, in plain text.
    ///
    /// They do not claim that the user is signed in, because the app has yet to redeem the code.
    public struct Texts: Sendable, Hashable {
        /// The language of the texts, as an HTML language code.
        public var language = "en"
        /// The title of the page.
        public var title = "Sign-in"
        /// Shown when the provider has sent a code.
        public var received = "The app has received the response. You can close this page."
        /// Shown when the provider has refused.
        public var refused = "You were not signed in. See the app for the reason. You can close this page."
        /// Shown for a request that does not belong to this sign-in.
        public var unexpected =
            "This page does not belong to the current sign-in. Continue on the page that the app opened."
        /// Shown when the callback had already arrived.
        public var over = "This sign-in is over. You can close this page."

        /// Creates the default texts, in English.
        public init() {}
    }
}
#endif
