#if Crypto
import HTTPTypes
import Networking

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What gives out tokens, and makes them void.
struct TokenEndpoint {
    let system: OAuthSystem
    let url: URL
    let network: AnyNetworkingComponent

    /// How long one request may take.
    static let timeout = Duration.seconds(30)
    /// The longest answer that is read.
    static let maximumAnswer: Int64 = 1 << 20

    /// Asks for tokens.
    ///
    /// - Parameters:
    ///   - grant: The type of the grant.
    ///   - fields: Its fields.
    /// - Returns: The tokens.
    /// - Throws: ``OAuthError``, and `NetworkingError` when it cannot be reached.
    func tokens(for grant: String, _ fields: [URLQueryItem]) async throws -> TokenResponse {
        let items = [URLQueryItem(name: "grant_type", value: grant)] + fields + system.furtherFields(besides: fields)
        let now = NetworkEnvironment.current.clock.date
        let response = try await answer(to: items)
        return try TokenResponse(response, at: now, hiding: secrets(among: items))
    }

    /// Posts a form, with what proves that the app is the app.
    ///
    /// - Parameter fields: The fields of the form.
    /// - Returns: The response, whatever its status.
    /// - Throws: `NetworkingError` when there is none.
    func answer(to fields: [URLQueryItem]) async throws -> HTTPResponseData {
        var fields = fields
        var credential: String?
        switch system.authentication {
        case .none:
            fields.append(URLQueryItem(name: "client_id", value: system.clientID))
        case .body(let secret):
            fields.append(URLQueryItem(name: "client_id", value: system.clientID))
            fields.append(URLQueryItem(name: "client_secret", value: secret))
        case .basic(let secret):
            // Encoded as in a form first (RFC 6749 section 2.3.1), so that a colon in the id does not end it. A space
            // is %20, which every decoder knows; some take a plus sign for one.
            let encoding = QueryEncoding.strict
            let pair = "\(encoding.encode(system.clientID)):\(encoding.encode(secret))"
            credential = "Basic \(Data(pair.utf8).base64EncodedString())"
        }
        var request = HTTPRequestData(method: .post, url: url, body: .form(fields))
        request.headerFields[.accept] = "application/json"
        // The provider may quote them; what is shorter is likely to be part of other words.
        for secret in secrets(among: fields) where secret.utf8.count >= 6 {
            request.markSecret(secret)
        }
        if let credential {
            request.setCredential(credential, for: .authorization)
        }
        return try await network.plainAnswer(to: request)
    }

    /// What the endpoint must not be quoted with.
    private func secrets(among fields: [URLQueryItem]) -> [String] {
        let names: Set = [
            "code", "code_verifier", "refresh_token", "device_code", "token", "client_assertion", "assertion",
        ]
        return fields.filter { names.contains($0.name) }.compactMap(\.value)
            + [system.authentication.secret].compactMap(\.self)
    }
}

extension NetworkingComponent {
    /// Sends a request of the protocol itself: it goes where it says, with what it has, and not where it is redirected
    /// to.
    func plainAnswer(to request: HTTPRequestData) async throws -> HTTPResponseData {
        var request = request
        guard let url = request.url, url.isProtected else {
            throw OAuthError(
                .misconfigured,
                "The issuer is neither https nor on this machine, so it was not asked. Use its https URL."
            )
        }
        request.authenticationMethod = .anonymous
        request.serverMutations = .disabled
        request.redirects = .never
        // Those who hold its slots may wait for just this answer.
        request.isThrottled = false
        if request.method == .post {
            // A code or a refresh token that comes twice counts as stolen (RFC 9700 section 4.14.2), and what was lost
            // may have come.
            request.retryPolicy = .never
        }
        request.maximumResponseBytes = TokenEndpoint.maximumAnswer
        do {
            return try await data(request, timeout: TokenEndpoint.timeout)
        } catch let error as NetworkingError {
            // A stack that checks statuses has the answer in its error.
            guard error.kind == .status || error.kind == .unauthorized, let response = error.response else {
                throw error
            }
            return response
        }
    }
}

extension OAuthSystem {
    /// What the provider wants besides in a form, without what is the protocol's own.
    func furtherFields(besides fields: [URLQueryItem]) -> [URLQueryItem] {
        let own = Set(
            fields.map(\.name) + ["grant_type", "client_id", "client_secret", "code_verifier", "redirect_uri"]
        )
        return tokenParameters.filter { !own.contains($0.name) }
    }
}

extension URL {
    /// Whether requests to it cannot be read on the way: it is https, or on this machine.
    var isProtected: Bool {
        guard ["https", "http"].contains(scheme?.lowercased()), host()?.isEmpty == false else { return false }
        return !HTTPRequestData(method: .get, url: self).isPlaintext
    }

    /// Whether it is on this machine although the server that names it is on another one.
    func isOutOfReach(of server: URL) -> Bool {
        isLoopback && !server.isLoopback
    }

    private var isLoopback: Bool {
        HTTPRequestData(method: .get, url: self).isLoopback
    }
}
#endif
