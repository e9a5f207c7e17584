import Foundation
import Networking
import NetworkingTestServer
import Synchronization

/// Simulates an OAuth provider, a user that approves everything, the browser, and an API that requires a token.
package final class ProviderService: Service {
    private let issuer = TokenIssuer()
    private let revoked = Atomic(0)

    package init() {}

    /// Opens a page as a browser does, and follows its redirect.
    package func openInBrowser(_ page: URL) async throws {
        try await URLSession.shared.data(HTTPRequestData(url: page))
    }

    /// Makes the current access token invalid.
    package func expireAccessToken() {
        issuer.expireAccessToken()
    }

    /// The number of times that the user has signed in.
    package var signIns: Int {
        issuer.signIns
    }

    /// The number of tokens that were revoked.
    package var revocations: Int {
        revoked.load(ordering: .relaxed)
    }

    package func script(_ server: TestServer) {
        let root = server.url.absoluteString
        let metadata = [
            "issuer": root,
            "authorization_endpoint": "\(root)/authorize",
            "token_endpoint": "\(root)/token",
            "revocation_endpoint": "\(root)/revoke",
        ]
        server.route(.get, "/.well-known/oauth-authorization-server") { _ in try .json(metadata) }
        server.route(.get, "/authorize") { [issuer] request in issuer.authorize(request) }
        server.route(.post, "/token") { [issuer] request in try issuer.tokens(for: request) }
        server.route(.post, "/revoke") { [self] _ in
            revoked.add(1, ordering: .relaxed)
            return .ok
        }
        server.route(.get, "/orders") { [issuer] request in
            issuer.accepts(request) ? .json(text: #"["Espresso cup", "Moka pot"]"#) : .status(.unauthorized)
        }
    }
}
