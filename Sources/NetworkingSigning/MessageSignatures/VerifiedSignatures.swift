#if Crypto
public import NetworkingCore

extension NetworkingComponent {
    /// Accepts only responses with a valid signature (RFC 9421), and throws an error for all others.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .verifiedSignatures(by: MessageVerifier(serverKey, keyID: "server-1", requiring: [.status, .contentDigest]))
    ///     .cached()
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// Place it inside `cached`, because the cache stores responses for longer than their signatures are valid. It
    /// follows redirects instead of the transport: each response is verified, including redirects. A sink receives the
    /// body before the signature is verified, so the body cannot be compared with its digest. Create the verifier with
    /// `checksBody: false`, and check the data that the sink has received.
    ///
    /// - Parameter verifier: The verifier.
    /// - Returns: A component that throws the errors of ``MessageVerifier/verify(_:label:)-(HTTPResponseData,_)``, with
    ///   the response.
    public func verifiedSignatures(by verifier: MessageVerifier) -> some NetworkingComponent {
        modified(VerifiedSignatures(verifier: verifier))
    }
}

struct VerifiedSignatures: NetworkingModifier, CustomStringConvertible {
    let verifier: MessageVerifier

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        // An unsigned redirect must not choose the response that is accepted.
        let principal = { (hop: HTTPRequestData) in upstream.principal(for: hop) }
        return try await request.takingOverRedirects(for: principal, over: upstream) { hop in
            let response = try await upstream.send(hop)
            try await verifier.verify(response)
            return response
        }
    }

    var description: String {
        "verifiedSignatures"
    }
}
#endif
