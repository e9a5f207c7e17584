/// The servers to which one part of a stack may send its credentials or signatures.
///
/// These are the server that the nearest `server` modifier names (``CredentialServers``), and the authorities that the
/// app names.
package struct CredentialScope: Sendable {
    /// The authorities that the app names, in lower case.
    private let authorities: Set<String>
    /// The same authorities, as requests over https and over plain http are compared with them.
    private let secureKeys: Set<AuthorityKey>
    private let plainKeys: Set<AuthorityKey>
    private let part = CredentialServers.Part()

    package init(_ authorities: [String]) {
        self.authorities = Set(authorities.map { $0.lowercased() })
        secureKeys = Set(authorities.map { AuthorityKey($0) })
        plainKeys = Set(authorities.map { AuthorityKey($0, isPlain: true) })
    }

    private var owner: CredentialServers.Owner {
        .part(part)
    }

    /// Assigns the nearest server to this part of the stack while a request is resolved.
    package func resolve(_ request: inout HTTPRequestData) {
        request.assignServer(to: owner)
    }

    /// Returns whether the credentials may be sent to the server of a request.
    package func admits(_ request: HTTPRequestData) -> Bool {
        guard let authority = request.authority else { return true }
        // A request that has left the server of the stack does not count as the stack's again.
        if request.goesToServer(of: owner) { return true }
        guard names(authority, isPlain: request.scheme == "http") else { return false }
        // Each server that has redirected the request has chosen where it goes.
        return request.formerOrigins.allSatisfy { owns($0, request) }
    }

    // MARK: Users

    /// Notes the user for whom the work of a request begins, for a part whose credentials are not in an object.
    package func noteUser(_ principal: Principal, of request: inout HTTPRequestData) {
        request.noteUser(principal, of: part)
    }

    /// Returns the user of this part for whom the work of a request began.
    package func notedUser(of request: HTTPRequestData) -> Principal? {
        request.notedUser(of: part)
    }

    /// Throws if credentials of this part belong to another user than the one for whom the work of a request began.
    package func checkUser(_ principal: Principal, of request: HTTPRequestData) throws {
        try request.checkUser(principal, of: part)
    }

    // MARK: Servers

    /// Returns whether an origin that has redirected a request may itself receive the credentials.
    private func owns(_ origin: [String], _ request: HTTPRequestData) -> Bool {
        let (isPlain, host, port) = (origin[0] == "http", origin[1], origin[2])
        let authority = "\(host.contains(":") ? "[\(host)]" : host):\(port)"
        return names(authority, isPlain: isPlain)
            || request.credentialServers?.value.isServer(authority, isPlain: isPlain, of: owner) == true
    }

    /// Returns whether the app names the authority of a request for the credentials.
    ///
    /// A name without a port is the default port of the request's scheme, and a name with a port is that port only.
    func names(_ authority: String, isPlain: Bool) -> Bool {
        guard !authorities.isEmpty else { return false }
        return (isPlain ? plainKeys : secureKeys).contains(AuthorityKey(authority, isPlain: isPlain))
    }

    /// Reports that a request is sent without the credentials, because it goes to another server.
    ///
    /// - Parameters:
    ///   - what: The credentials with their verb, for the middle of a sentence: "Bearer credentials are".
    ///   - request: The request.
    /// - Throws: ``NetworkingError/Kind/invalidRequest`` if neither the stack nor the app names a server for them.
    package func withhold(_ what: String, from request: HTTPRequestData) throws {
        guard request.hasServer || !authorities.isEmpty || request.serverMutations == .disabled else {
            throw NetworkingError(
                .invalidRequest,
                request: request,
                reason: "The stack does not say which server its \(what) for, so the request was not sent. "
                    + "Name it with server(authority:), or with the parameter at: of the modifier."
            )
        }
        request.emit(CredentialsEvent.withheld(WithheldCredentials(reason: .otherServer)))
    }

    /// The authorities that the app names, for a description.
    package var setting: String? {
        authorities.isEmpty ? nil : "at: \(authorities.sorted().joined(separator: ", "))"
    }
}
