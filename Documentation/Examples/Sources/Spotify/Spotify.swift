import Backend
import Foundation
import Networking
import NetworkingOAuth

/// A client of Spotify's Web API for one user.
struct Spotify: Sendable {
    let network: any NetworkingComponent
    let client: OAuthClient

    /// Creates the client, signed in if an earlier run has stored a session.
    init(over transport: some NetworkingComponent = URLSession.shared, sessionsIn storage: FileSessionStorage) throws {
        client = OAuthClient(
            .spotify(
                clientID: "example-player",
                redirectURI: URL(string: "com.example.player://callback")!,
                scopes: ["user-read-private", "user-follow-read"]
            ),
            session: try storage.session(for: ""),
            in: storage
        )
        network =
            transport
            .timeout(.seconds(10))
            .authenticated(oauth: client)
            .retry()
            .checkedStatusCode(as: SpotifyError.self)
            .decoder(.json(keys: .convertFromSnakeCase))
            .server(baseURL: URL(string: "https://api.spotify.com/v1")!)
    }

    var isSignedIn: Bool {
        client.session != nil
    }

    /// Signs in with an authorization code and PKCE.
    func signIn(in browser: some OAuthUserAgent) async throws {
        try await network.oauth(client).signIn(with: .authorizationCode(browser))
    }

    /// Removes the tokens from this device, because Spotify has no endpoint that revokes them.
    func signOut() async throws {
        try await network.oauth(client).signOut()
    }

    func profile() async throws -> Profile {
        try await network.request(.me)
    }

    /// The followed artists, in pages that are fetched when the loop reaches them.
    func followedArtists(perPage limit: Int = 10) -> some AsyncSequence<Artist, any Error> {
        network.elements(
            .followedArtists(limit: limit),
            next: .cursor(query: "after") { $0.artists.cursors.after },
            of: \.artists.items
        )
    }
}

extension Request where Response == Profile {
    static var me: Self { .get("me") }
}

extension Request where Response == FollowedArtists {
    static func followedArtists(limit: Int) -> Self {
        .get("me/following", query: ["type": "artist", "limit": limit])
    }
}

struct Profile: Decodable, Sendable {
    let displayName: String
}

struct Artist: Decodable, Sendable {
    let id: String
    let name: String
}

struct FollowedArtists: Decodable, Sendable {
    let artists: Page

    struct Page: Decodable, Sendable {
        let items: [Artist]
        let cursors: Cursors
    }

    struct Cursors: Decodable, Sendable {
        let after: String?
    }
}

/// The body of an error response.
///
/// Calls throw it as an error.
struct SpotifyError: Error, Decodable {
    let error: Detail

    struct Detail: Decodable {
        let status: Int
        let message: String
    }
}

/// A browser with a user that approves, in place of `WebAuthenticationSession { window }` on Apple's platforms.
struct Browser: OAuthUserAgent {
    let open: @Sendable (URL) async throws -> URL

    func authorize(_ authorization: OAuthAuthorization) async throws -> OAuthCallback {
        OAuthCallback(try await open(authorization.url), to: authorization)
    }
}

@main
enum Example {
    static func main() async {
        let service = SpotifyService()
        await withBackend(service) { server in
            try await withTemporaryDirectory { directory in
                let storage = FileSessionStorage(directory: directory.appending(path: "sessions"))
                let internet = LocalInternet(server)
                let spotify = try Spotify(over: internet, sessionsIn: storage)

                let browser = Browser { try await service.openInBrowser($0, over: internet) }
                try await spotify.signIn(in: browser)
                let profile = try await spotify.profile()
                print("\(profile.displayName) follows:")
                service.expireAccessToken()
                var count = 0
                for try await artist in spotify.followedArtists(perPage: 2) {
                    print("  \(artist.name)")
                    count += 1
                }
                let pages = server.requests(for: .get, path: "/v1/me/following").count
                expect(count == 5 && pages == 4, "three pages have all artists, and the first is sent again")
                expect(service.signIns == 1 && service.issuedTokens == 2, "the refresh token renews the session")

                expect(try Spotify(over: internet, sessionsIn: storage).isSignedIn, "the next run finds the session")
                try await spotify.signOut()
                expect(try !Spotify(over: internet, sessionsIn: storage).isSignedIn, "nothing is left on this device")
                do {
                    _ = try await spotify.profile()
                    expect(false, "a call without a session fails")
                } catch let error as NetworkingError where error.isUnauthorized {
                    print("Signed out. After that: \(error.localizedDescription)")
                }
            }
        }
    }
}
