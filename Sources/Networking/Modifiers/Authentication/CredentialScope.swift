/// Where credentials and signatures may go: to the server that the stack names, and to authorities that the app names.
package struct CredentialScope: Sendable {
    private let authorities: Set<AuthorityKey>

    package init(_ authorities: [String]) {
        self.authorities = Set(authorities.map { AuthorityKey($0) })
    }

    /// Whether a request goes where they may go.
    package func admits(_ request: HTTPRequestData) -> Bool {
        guard let authority = request.authority else { return true }
        return request.isForServer
            || !authorities.isEmpty && authorities.contains(AuthorityKey(authority, isPlain: request.scheme == "http"))
    }

    /// Tells listeners that a request goes without, since it goes elsewhere.
    ///
    /// - Parameters:
    ///   - what: What it goes without, in words.
    ///   - request: The request.
    /// - Throws: ``NetworkingError/Kind/invalidRequest`` when nobody has said where they may go.
    package func withhold(_ what: String, from request: HTTPRequestData) throws {
        guard request.hasServer || !authorities.isEmpty || request.serverMutations == .disabled else {
            throw NetworkingError(
                .invalidRequest,
                request: request,
                reason: "The stack does not say which server its \(what) for, so the request was not sent. "
                    + "Name it with server(authority:), or with the parameter at: of the modifier."
            )
        }
        request.emit(.credentialsWithheld([.authorization]))
    }

    /// The authorities that the app names, for a description.
    package var setting: String? {
        authorities.isEmpty ? nil : "at: \(authorities.map(\.text).sorted().joined(separator: ", "))"
    }
}
