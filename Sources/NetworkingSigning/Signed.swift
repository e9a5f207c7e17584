import NetworkingAuthentication
public import NetworkingCore

extension NetworkingComponent {
    /// Signs each attempt and each hop as it is about to be sent.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .timeout(.seconds(10))
    ///     .signed(with: AWSSigner(credentials, region: "eu-central-1", service: "execute-api"))
    ///     .retry()
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// Place it innermost except for `timeout`, so that nothing changes a signed request: inside `retry`, `throttled`
    /// and `authenticated`. It follows redirects instead of the transport, unless a `redirected` further out does. A
    /// `redirected` further in still decides which redirects to follow.
    ///
    /// Only requests to the server that the stack names next to this modifier, and to `authorities`, are signed. All
    /// others pass unsigned, as do exempt requests and requests with the `authenticationMethod` `.anonymous`. Responses
    /// belong to the key: `cached` and `deduplicated` do not share them with other keys. A cancelled caller gets
    /// `CancellationError`.
    ///
    /// - Parameters:
    ///   - signer: The signer.
    ///   - authorities: Hosts that get signed requests in addition to the stack's server, each with its port unless
    ///     that is the default of the scheme.
    ///   - isExempt: Returns `true` for requests that are sent unsigned. It must not have side effects.
    /// - Returns: A component that throws the errors of the signer, and `NetworkingError.Kind.invalidRequest` if
    ///   neither the stack nor `authorities` names a server.
    public func signed(
        with signer: some RequestSigner,
        at authorities: [String] = [],
        except isExempt: (@Sendable (HTTPRequestData) -> Bool)? = nil
    ) -> some NetworkingComponent {
        modified(Signed(signer: signer, scope: CredentialScope(authorities), isExempt: isExempt))
    }
}

struct Signed<Signer: RequestSigner>: NetworkingModifier, CustomStringConvertible {
    let signer: Signer
    let scope: CredentialScope
    let isExempt: (@Sendable (HTTPRequestData) -> Bool)?

    /// The maximum number of signatures for one request.
    private static var maximumSignatures: Int { 3 }

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        // A transport that follows redirects would send the signature to other servers.
        let principal = { (hop: HTTPRequestData) in self.principal(for: hop, upstream: upstream) }
        return try await request.takingOverRedirects(for: principal, over: upstream) { hop in
            guard wants(hop) else { return try await upstream.send(hop) }
            guard scope.admits(hop) else {
                try scope.withhold("signatures are", from: hop)
                return try await upstream.send(hop)
            }
            return try await exchange(hop, upstream: upstream)
        }
    }

    func resolve(_ request: inout HTTPRequestData) {
        scope.resolve(&request)
        scope.noteUser(own, of: &request)
    }

    func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal? {
        let others = upstream.principal(for: request)
        guard wants(request), scope.admits(request) else { return others }
        return others.joined(by: scope.notedUser(of: request) ?? own)
    }

    /// The principal that responses belong to.
    private var own: Principal {
        Principal(id: signer.keyID)
    }

    private func wants(_ request: HTTPRequestData) -> Bool {
        guard request.authenticationMethod != .anonymous, isExempt?(request) != true else { return false }
        guard signer.scheme != nil else { return true }
        return request.authenticationMethod.map { $0 == signer.method } ?? true
            && !request.isHandled(.authorization) && !request.headerFields.contains(.authorization)
    }

    private func exchange(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        var request = request
        let sinkUse = request.observeSink()
        var signatures = 1
        while true {
            let attempt = try await signed(request)
            // The app may have changed the server while the signer was working.
            guard scope.admits(request) else {
                try scope.withhold("signatures are", from: request)
                return try await upstream.send(request)
            }
            // The key of the signer may belong to another user since the call began, and again during the exchange.
            let own = own
            try scope.checkUser(own, of: request)
            let result = try await upstream.outcome(of: attempt)
            if let response = attempt.response(in: result), try await signsAgain(attempt, after: response),
                signatures < Self.maximumSignatures, request.canBeSentAgain(sinkUse)
            {
                try Task.checkCancellation()
                // Data that the sink already has need not be sent again.
                request.sink?.prepare(&request)
                signatures += 1
                continue
            }
            return try result.belonging(to: own).get()
        }
    }

    private func signsAgain(_ attempt: HTTPRequestData, after response: HTTPResponseData) async throws -> Bool {
        // The response of another server, reached through a redirect, is unrelated to this signature.
        guard scope.admits(response.sentRequest) else { return false }
        if waits(attempt), response.status == .unauthorized, !attempt.isAsked(for: signer.scheme, by: response) {
            return false
        }
        return try await cancellable { try await signer.signsAgain(after: response) }
    }

    /// Whether a request was sent unsigned, to wait for the server's challenge.
    private func waits(_ attempt: HTTPRequestData) -> Bool {
        signer.scheme != nil && !attempt.headerFields.contains(.authorization)
    }

    private func signed(_ request: HTTPRequestData) async throws -> HTTPRequestData {
        var request = request
        // The transport would describe the body later, and thereby change the signed fields.
        request.describeBody()
        // Signers read the length of the body, which would otherwise wait for the disk on the caller's thread.
        if let body = request.body, body.isOnDisk {
            request.body = try await body.measured(until: request.exchangeLimit)
        }
        let unsigned = request
        try await cancellable { try await signer.sign(&request) }
        request.recordCredentials(of: own, since: unsigned)
        if let scheme = signer.scheme {
            if request.headerFields.contains(.authorization) {
                request.handle(.authorization)
            } else {
                // It waits for a challenge, and other modifiers may have credentials that the server accepts.
                request.offer(scheme)
            }
        }
        return request
    }

    /// Runs an operation of the signer; if the caller is cancelled, throws `CancellationError` whatever the signer
    /// throws.
    private func cancellable<Value>(_ work: nonisolated(nonsending) () async throws -> Value) async throws -> Value {
        do {
            let value = try await work()
            try Task.checkCancellation()
            return value
        } catch {
            try Task.checkCancellation()
            throw error
        }
    }

    var stackPart: StackPart {
        StackPart(
            roles: signer.stackPart.roles.union([.signing]),
            options: signer.stackPart.options.union([.authenticationMethod]),
            rules: [
                scope.rule,
                .notOutside(
                    .retry,
                    "is outside retry, so all attempts have the signature of the first. Put it inside."
                ),
            ] + signer.stackPart.rules
        )
    }

    var description: String {
        let settings = ["with: \(Signer.self)", scope.setting].compactMap(\.self)
        return "signed(\(settings.joined(separator: ", ")))"
    }
}
