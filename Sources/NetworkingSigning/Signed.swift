public import Networking

extension NetworkingComponent {
    /// Signs each attempt and each hop anew, as it is about to be sent.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .timeout(.seconds(10))
    ///     .signed(with: AWSSigner(key, region: "eu-central-1", service: "execute-api"))
    ///     .retry()
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// Innermost but for `timeout`, so that nothing changes a request that has been signed; inside of `retry`,
    /// `throttled` and `authenticated`. It follows redirects in place of the transport, unless `redirected` does
    /// further out; one further in still says which.
    ///
    /// Requests to the server that the stack names next to this modifier and to `authorities` are signed, others pass
    /// without. So do those that are exempt and those whose `authenticationMethod` is `.anonymous`. What comes back
    /// belongs to the key: `cached` and `deduplicated` do not share it with another's. A cancelled caller gets
    /// `CancellationError`.
    ///
    /// - Parameters:
    ///   - signer: Signs them.
    ///   - authorities: Hosts, with their ports if those are not the scheme's own, that get signatures besides the
    ///     stack's server.
    ///   - isExempt: Tells requests that go without. It must not have effects.
    /// - Returns: A component that throws what the signer throws, and `NetworkingError.Kind.invalidRequest` in a stack
    ///   that names no server.
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

    /// How often a signer may have its way with one request.
    private static var maximumSignatures: Int { 3 }

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        // A transport would take the signature along to where it was not made for.
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
    }

    func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal? {
        let others = upstream.principal(for: request)
        return wants(request) && scope.admits(request) ? others.joined(by: own) : others
    }

    /// Whose what comes back is.
    private var own: Principal {
        Principal(id: signer.keyID)
    }

    private func wants(_ request: HTTPRequestData) -> Bool {
        guard request.authenticationMethod != .anonymous, isExempt?(request) != true else { return false }
        guard signer.scheme != nil else { return true }
        return request.authenticationMethod.map { $0 == signer.method } ?? true
            && !request.isAuthorized && !request.headerFields.contains(.authorization)
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
            let result = try await upstream.outcome(of: attempt)
            if let response = result.response, try await signsAgain(attempt, after: response),
                signatures < Self.maximumSignatures, request.canBeSentAgain(sinkUse)
            {
                try Task.checkCancellation()
                // What the sink has need not be sent again.
                request.sink?.prepare(&request)
                signatures += 1
                continue
            }
            return try result.belonging(to: own).get()
        }
    }

    private func signsAgain(_ attempt: HTTPRequestData, after response: HTTPResponseData) async throws -> Bool {
        // The answer of another server, to which a redirect led, says nothing of this signature.
        guard scope.admits(response.sentRequest) else { return false }
        if waits(attempt), response.status == .unauthorized, !attempt.isAsked(for: signer.scheme, by: response) {
            return false
        }
        return try await cancellable { try await signer.signsAgain(after: response) }
    }

    /// Whether a request went without a signature, for the server to ask for it.
    private func waits(_ attempt: HTTPRequestData) -> Bool {
        signer.scheme != nil && !attempt.headerFields.contains(.authorization)
    }

    private func signed(_ request: HTTPRequestData) async throws -> HTTPRequestData {
        var request = request
        // The transport would say it of a body that came later, and change what is signed.
        request.describeBody()
        let unsigned = request
        try await cancellable { try await signer.sign(&request) }
        request.recordSignature(of: own, since: unsigned)
        if let scheme = signer.scheme {
            if request.headerFields.contains(.authorization) {
                request.isAuthorized = true
            } else {
                // It waits for a challenge, and others may have what the server asks for.
                request.offer(scheme)
            }
        }
        return request
    }

    /// Has the signer do something; what it makes of the caller's cancellation does not get out.
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

    var roles: Set<StackRole> { [.signing] }
    var requestOptions: Set<RequestOptionKey> { signer.requestOptions.union([.authenticationMethod]) }

    func diagnostics(in stack: StackPlace) -> [StackDiagnostic] {
        var diagnostics = scope.diagnostics(about: self, in: stack)
        if stack.isOutside(.retry) {
            diagnostics.append(
                StackDiagnostic(
                    "\(self) is outside retry, so all attempts have the signature of the first. Put it inside.",
                    about: self
                )
            )
        }
        return diagnostics
    }

    var description: String {
        let settings = ["with: \(Signer.self)", scope.setting].compactMap(\.self)
        return "signed(\(settings.joined(separator: ", ")))"
    }
}
