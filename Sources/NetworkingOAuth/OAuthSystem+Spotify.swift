#if Crypto
public import Networking

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension OAuthSystem {
    /// Spotify, for an app whose users sign in.
    ///
    /// ```swift
    /// let spotify = OAuthClient(
    ///     .spotify(clientID: id, redirectURI: URL(string: "shop://callback")!, scopes: ["user-read-email"])
    /// )
    /// let network = URLSession.shared
    ///     .authenticated(oauth: spotify)
    ///     .server(authority: "api.spotify.com")
    /// ```
    ///
    /// - Parameters:
    ///   - clientID: The client ID of the app's dashboard.
    ///   - redirectURI: One of the redirect URIs of the dashboard.
    ///   - scopes: What the app may do, such as `user-read-email`.
    /// - Returns: The system; its requests are of the method `AuthenticationMethod.spotify`.
    public static func spotify(clientID: String, redirectURI: URL, scopes: [String] = []) -> OAuthSystem {
        var system = OAuthSystem(
            server: OAuthServer(
                authorizationEndpoint: URL(string: "https://accounts.spotify.com/authorize"),
                tokenEndpoint: URL(string: "https://accounts.spotify.com/api/token")!
            ),
            clientID: clientID,
            redirectURI: redirectURI,
            scopes: scopes
        )
        system.authenticationMethod = .spotify
        return system
    }
}

extension AuthenticationMethod {
    /// The tokens of Spotify.
    public static let spotify = AuthenticationMethod(rawValue: "spotify")
}
#endif
