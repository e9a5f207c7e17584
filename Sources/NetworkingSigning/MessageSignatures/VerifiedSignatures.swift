#if Crypto
public import Networking

extension NetworkingComponent {
    /// Lets responses through whose signature is good (RFC 9421), and fails the others.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .verifiedSignatures(by: MessageVerifier(serverKey, keyID: "server-1", requiring: [.status, .contentDigest]))
    ///     .cached()
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// Inside of `cached`, which keeps responses for longer than signatures are good. It follows redirects in place of
    /// the transport: each response counts, also one that sends the request elsewhere. A sink has the body before the
    /// signature is looked at, and then the body cannot be compared with its digest: make the verifier with
    /// `checksBody: false`, and check what the sink has taken.
    ///
    /// - Parameter verifier: Verifies them.
    /// - Returns: A component that throws what ``MessageVerifier/verify(_:label:)-(HTTPResponseData,_)`` throws, with
    ///   the response.
    public func verifiedSignatures(by verifier: MessageVerifier) -> some NetworkingComponent {
        modified(VerifiedSignatures(verifier: verifier))
    }
}

struct VerifiedSignatures: NetworkingModifier, CustomStringConvertible {
    let verifier: MessageVerifier

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        // A redirect that nobody has signed must not choose the response that is accepted.
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
