#if Crypto
public import FoundationForNetworking
public import NetworkingCore

extension OAuthSystem {
    /// Returns the system for Spotify, for an app with users that sign in.
    ///
    /// ```swift
    /// let spotify = OAuthClient(
    ///     .spotify(clientID: clientID, redirectURI: URL(string: "shop://callback")!, scopes: ["user-read-email"])
    /// )
    /// let network = URLSession.shared
    ///     .authenticated(oauth: spotify)
    ///     .server(authority: "api.spotify.com")
    /// ```
    ///
    /// - Parameters:
    ///   - clientID: The client ID from the app's dashboard.
    ///   - redirectURI: One of the redirect URIs in the dashboard.
    ///   - scopes: The scopes to request, such as `user-read-email`.
    /// - Returns: The system; its authentication method is `AuthenticationMethod.spotify`.
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
