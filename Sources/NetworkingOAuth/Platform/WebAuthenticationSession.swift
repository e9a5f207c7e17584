#if Crypto
#if canImport(AuthenticationServices) && (os(macOS) || os(iOS) || os(visionOS))
public import AuthenticationServices
import Foundation
import NetworkingCore

/// Shows the page in the system's sheet, which shares the browser's cookies and hides the user's input from the app
/// (`ASWebAuthenticationSession`).
///
/// <!-- snippet: fragment Apple's platforms -->
/// ```swift
/// let browser = WebAuthenticationSession { window }
/// try await network.oauth(client).signIn(with: .authorizationCode(browser))
/// ```
///
/// The redirect URI uses a custom scheme of the app (`com.example.shop:/callback`), or is an https URL of a domain
/// associated with the app. If the user closes the sheet, the error is ``OAuthError/denied``. If the caller is
/// cancelled, the sheet closes.
public struct WebAuthenticationSession: OAuthUserAgent {
    private let isEphemeral: Bool
    private let anchor: @MainActor @Sendable () -> ASPresentationAnchor

    /// Creates a user agent.
    ///
    /// - Parameters:
    ///   - isEphemeral: Whether the page starts without the browser's cookies and leaves none behind.
    ///   - anchor: Returns the window to show the sheet over; called on the main actor for each sign-in.
    public init(isEphemeral: Bool = false, anchor: @escaping @MainActor @Sendable () -> ASPresentationAnchor) {
        self.isEphemeral = isEphemeral
        self.anchor = anchor
    }

    /// Shows the page.
    public func authorize(_ authorization: OAuthAuthorization) async throws -> OAuthCallback {
        let end = Suspension<URL>()
        let sheet = await Sheet(over: anchor)
        try await sheet.show(authorization, isEphemeral: isEphemeral, ending: end)
        do {
            return OAuthCallback(try await end.value(until: nil), to: authorization)
        } catch is CancellationError {
            await sheet.close()
            throw CancellationError()
        }
    }
}

/// The sheet while it is shown.
@MainActor
private final class Sheet: NSObject, ASWebAuthenticationPresentationContextProviding {
    private let anchor: ASPresentationAnchor
    private var session: ASWebAuthenticationSession?

    init(over anchor: @MainActor @Sendable () -> ASPresentationAnchor) {
        self.anchor = anchor()
    }

    func show(_ authorization: OAuthAuthorization, isEphemeral: Bool, ending end: Suspension<URL>) throws {
        // Sendable, because the system calls it on its own queue.
        let session = ASWebAuthenticationSession(url: authorization.url, callback: try authorization.callback) {
            @Sendable url, error in
            if let url {
                end.resume(with: .success(url))
            } else if (error as? ASWebAuthenticationSessionError)?.code == .canceledLogin {
                end.resume(with: .failure(OAuthError.denied))
            } else {
                end.resume(with: .failure(OAuthError.cannotBeShown(error)))
            }
        }
        session.presentationContextProvider = self
        session.prefersEphemeralWebBrowserSession = isEphemeral
        self.session = session
        guard session.start() else { throw OAuthError.cannotBeShown(nil) }
    }

    func close() {
        session?.cancel()
    }

    // Nonisolated, because not every SDK declares an actor for this method.
    nonisolated func presentationAnchor(for session: ASWebAuthenticationSession) -> ASPresentationAnchor {
        anchor
    }
}

extension OAuthAuthorization {
    /// The callback that the system waits for.
    fileprivate var callback: ASWebAuthenticationSession.Callback {
        get throws {
            switch (redirectURI.scheme?.lowercased(), redirectURI.host()) {
            case ("https", let host?):
                return .https(host: host, path: redirectURI.path())
            case (let scheme?, _) where scheme != "http":
                return .customScheme(scheme)
            default:
                throw OAuthError(
                    .misconfigured,
                    "The system's sign-in sheet cannot redirect to http. Register a redirect URI with a scheme of the "
                        + "app, or with https."
                )
            }
        }
    }
}

extension OAuthError {
    fileprivate static func cannotBeShown(_ error: (any Error)?) -> OAuthError {
        OAuthError(
            .misconfigured,
            underlying: error,
            "The sign-in page could not be shown. Check the window that presents it."
        )
    }
}
#endif
#endif
