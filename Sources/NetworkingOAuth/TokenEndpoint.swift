#if Crypto
import FoundationForNetworking
import HTTPTypes
import NetworkingResilience
import NetworkingCore

/// An endpoint that issues or revokes tokens.
struct TokenEndpoint {
    let system: OAuthSystem
    let url: URL
    let network: AnyNetworkingComponent
    let purpose: OAuthEndpointRequest.Purpose
    /// Adds proofs of the key, and keeps the nonces of the endpoint.
    let proofs: DPoPProofs
    /// The key that the tokens are bound to; `nil` for bearer tokens.
    var key: DPoPKey?
    /// Whether the key belongs to a session, whose tokens must not become bearer tokens.
    var isRenewing = false

    /// Whether a bearer token is refused.
    var requiresKey: Bool {
        system.dpop == .required || isRenewing
    }

    /// The maximum duration of one request.
    static let timeout = Duration.seconds(30)
    /// The maximum size of a response, in bytes.
    static let maximumBody: Int64 = 1 << 20

    /// Requests tokens.
    ///
    /// - Parameters:
    ///   - grant: The type of the grant.
    ///   - fields: The fields of the grant.
    /// - Returns: The tokens.
    /// - Throws: ``OAuthError``, and `NetworkingError` if the endpoint cannot be reached.
    func tokens(for grant: String, _ fields: [URLQueryItem]) async throws -> TokenResponse {
        let items = [URLQueryItem(name: "grant_type", value: grant)] + fields + system.furtherFields(besides: fields)
        let now = NetworkEnvironment.current.clock.date
        let response = try await self.response(to: items)
        return try TokenResponse(response, to: self, at: now, redacting: secrets(among: items))
    }

    /// Posts a form together with the client authentication of the app.
    ///
    /// - Parameter fields: The fields of the form.
    /// - Returns: The response, whatever its status.
    /// - Throws: `NetworkingError` if there is no response, and the errors of the app's ``OAuthSystem/prepareRequest``.
    func response(to fields: [URLQueryItem]) async throws -> HTTPResponseData {
        var fields = fields
        var credential: String?
        switch system.authentication {
        case .none:
            fields.append(URLQueryItem(name: "client_id", value: system.clientID))
        case .body(let secret):
            fields.append(URLQueryItem(name: "client_id", value: system.clientID))
            fields.append(URLQueryItem(name: "client_secret", value: secret))
        case .basic(let secret):
            // Form-encoded first (RFC 6749 section 2.3.1), so that a colon in the ID does not end it. A space becomes
            // %20, which every decoder accepts; some take a plus sign literally.
            let encoding = QueryEncoding.strict
            let pair = "\(encoding.encode(system.clientID)):\(encoding.encode(secret))"
            credential = "Basic \(Data(pair.utf8).base64EncodedString())"
        }
        var request = HTTPRequestData(method: .post, url: url, body: .form(fields))
        request.headerFields[.accept] = "application/json"
        // The provider may quote the secrets. Values under six bytes are not redacted, because they are likely to be
        // part of other words.
        for secret in secrets(among: fields) where secret.utf8.count >= 6 {
            request.markSecret(secret)
        }
        if let credential {
            request.setCredential(credential, for: .authorization)
        }
        if let prepare = system.prepareRequest {
            let original = OAuthEndpointRequest(purpose: purpose, fields: fields, request: request)
            let secrets = secrets(among: fields).filter { $0.utf8.count >= 6 }
            request = try await prepare(original)
            for secret in secrets { request.markSecret(secret) }
        }
        return try await proven(request)
    }

    /// Sends a request with a proof of the key, and once more if the endpoint requires a nonce (RFC 9449 section 8).
    ///
    /// The endpoint reads a code or a refresh token only after the proof, so it may be sent twice.
    private func proven(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        guard let key else { return try await network.plainResponse(to: request) }
        var isRepetition = false
        while true {
            var attempt = request
            try proofs.prove(&attempt, with: key)
            let response = try await network.plainResponse(to: attempt)
            proofs.learn(from: response, with: key)
            guard !isRepetition, response.dpopNonce != nil, response.status.kind == .clientError,
                OAuthTokenFields(response)?.error == "use_dpop_nonce", request.body?.isReplayable ?? true
            else { return response }
            isRepetition = true
        }
    }

    /// Returns the values that errors must not quote from a response of the endpoint.
    private func secrets(among fields: [URLQueryItem]) -> [String] {
        let names: Set = [
            "code", "code_verifier", "refresh_token", "device_code", "token", "client_assertion", "assertion",
        ]
        return fields.filter { names.contains($0.name) }.compactMap(\.value)
            + [system.authentication.secret].compactMap(\.self)
    }
}

extension NetworkingComponent {
    /// Sends a request of the protocol itself, without modifying its URL or its credentials and without following
    /// redirects.
    func plainResponse(to request: HTTPRequestData) async throws -> HTTPResponseData {
        var request = request
        guard let url = request.url, url.isProtected else {
            throw OAuthError(
                .misconfigured,
                "The issuer is neither https nor on this machine, so no request was sent to it. Use its https URL."
            )
        }
        request.authenticationMethod = .anonymous
        request.serverMutations = .disabled
        request.redirects = .never
        // The requests that hold the limiter's permits may be waiting for this response.
        request.isThrottled = false
        if request.method != .get {
            // A code or a refresh token that arrives twice counts as stolen (RFC 9700 section 4.14.2), and a request
            // that seems lost may have arrived.
            request.retryPolicy = .never
        }
        request.maximumResponseBytes = TokenEndpoint.maximumBody
        do {
            return try await data(request, timeout: TokenEndpoint.timeout)
        } catch let error as NetworkingError {
            // A stack that validates statuses reports the response in its error.
            guard error.kind == .status || error.kind == .unauthorized, let response = error.response else {
                throw error
            }
            return response
        }
    }
}

extension OAuthSystem {
    /// Returns the additional form fields that the provider requires, without fields that the protocol itself defines.
    func furtherFields(besides fields: [URLQueryItem]) -> [URLQueryItem] {
        let own = Set(
            fields.map(\.name) + ["grant_type", "client_id", "client_secret", "code_verifier", "redirect_uri"]
        )
        return withResources(tokenParameters.filter { !own.contains($0.name) })
    }

    /// Returns parameters together with the resources that the tokens are for (RFC 8707 section 2).
    func withResources(_ parameters: [URLQueryItem]) -> [URLQueryItem] {
        guard !resources.isEmpty else { return parameters }
        return parameters.filter { $0.name != "resource" } + resources.map { URLQueryItem(name: "resource", value: $0) }
    }
}

extension URL {
    /// Whether requests to the URL cannot be read in transit: it is https, or on this machine.
    var isProtected: Bool {
        guard ["https", "http"].contains(scheme?.lowercased()), host()?.isEmpty == false else { return false }
        return !HTTPRequestData(method: .get, url: self).isPlaintext
    }

    /// Whether the URL is on this machine or in a private network although the server that names it is not.
    func isOutOfReach(of server: URL) -> Bool {
        isOnThisMachine(butNot: server) || isInPrivateNetwork(butNot: server)
    }

    /// Whether the URL is on this machine although the server that names it is on another one.
    func isOnThisMachine(butNot server: URL) -> Bool {
        place.mayNameThisMachine && !server.place.mayNameThisMachine
    }

    /// Whether the URL has a private or link-local address although the server that names it has not.
    private func isInPrivateNetwork(butNot server: URL) -> Bool {
        place.isInPrivateNetwork && !server.place.isInPrivateNetwork && !server.place.mayNameThisMachine
    }

    private var place: Authority {
        Authority(HTTPRequestData(method: .get, url: self).authority ?? "")
    }
}
#endif
