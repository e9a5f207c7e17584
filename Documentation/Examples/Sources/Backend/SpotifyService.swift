import Foundation
import Networking
import NetworkingTestServer

/// Simulates a part of Spotify: the pages and tokens of `accounts.spotify.com`, and the profile and the followed
/// artists of one user at `api.spotify.com`.
package final class SpotifyService: Service {
    private let issuer = TokenIssuer()
    private let artists = ["Björk", "Cibo Matto", "Cornelius", "Morcheeba", "Zero 7"]

    package init() {}

    /// Shows the sign-in page to a user that approves it.
    ///
    /// - Parameters:
    ///   - page: The page.
    ///   - network: The network of the browser.
    /// - Returns: The URL that the browser opens the app with.
    /// - Throws: The errors of the network, or `URLError` if the page does not redirect to the app.
    package func openInBrowser(_ page: URL, over network: some NetworkingComponent) async throws -> URL {
        var request = HTTPRequestData(url: page)
        request.redirects = .never
        let location = try await network.data(request).headerFields[.location] ?? ""
        guard let url = URL(string: location) else { throw URLError(.badServerResponse) }
        return url
    }

    /// Makes the current access token invalid.
    package func expireAccessToken() {
        issuer.expireAccessToken()
    }

    /// The number of times that the user has signed in.
    package var signIns: Int {
        issuer.signIns
    }

    /// The number of times that tokens were issued.
    package var issuedTokens: Int {
        issuer.issued
    }

    package func script(_ server: TestServer) {
        server.route(.get, "/authorize") { [issuer] request in issuer.authorize(request) }
        server.route(.post, "/api/token") { [issuer] request in try issuer.tokens(for: request) }
        server.route(.get, "/v1/me") { [issuer] request in
            guard issuer.accepts(request) else { return Self.refusal }
            return .json(text: #"{"id": "emily", "display_name": "Emily"}"#)
        }
        server.route(.get, "/v1/me/following") { [self] request in
            guard issuer.accepts(request) else { return Self.refusal }
            return followedArtists(request.queryValues)
        }
    }

    private static var refusal: TestResponse {
        .json(text: #"{"error": {"status": 401, "message": "The access token expired"}}"#, status: .unauthorized)
    }

    /// Returns a page of artists, which starts after the artist that the query names.
    private func followedArtists(_ query: [String: String]) -> TestResponse {
        guard query["type"] == "artist" else {
            return .json(text: #"{"error": {"status": 400, "message": "Invalid type"}}"#, status: .badRequest)
        }
        let start = query["after"].flatMap { id in artists.indices.first { "artist-\($0)" == id } }.map { $0 + 1 } ?? 0
        let page = artists.indices.dropFirst(start).prefix(query["limit"].flatMap { Int($0) } ?? 20)
        let items = page.map { #"{"id": "artist-\#($0)", "name": "\#(artists[$0])"}"# }.joined(separator: ", ")
        let isLast = page.endIndex == artists.endIndex
        let after = isLast ? "null" : #""artist-\#(page.endIndex - 1)""#
        return .json(text: #"{"artists": {"items": [\#(items)], "cursors": {"after": \#(after)}}}"#)
    }
}
