import FoundationForNetworking
public import HTTPTypes

// This file decides where a credential may be sent: to the server that belongs to the part of the stack that adds it
// (`CredentialServers`), over https or to the loopback address, and never along with a redirect to another origin.

extension HTTPRequestData {
    /// Sets a header field with a secret, which replaces the fields with that name.
    ///
    /// The field is redacted in logs and errors, is not indexed by the header compression of HTTP/2, and is removed by
    /// a redirect to another origin. If a modifier calls this in `resolve`, the field is sent only to the server that
    /// the nearest `server` modifier names.
    ///
    /// - Parameters:
    ///   - value: The secret.
    ///   - name: The name of the field.
    public mutating func setCredential(_ value: String, for name: HTTPField.Name) {
        headerFields.setSecret(value, for: name)
        if isResolving {
            addServerCredential(name)
        } else if place != .outside, !isHandled(.authorization) || name != .authorization {
            // A part that handles the Authorization field sets it only if the request has none.
            openPassage.credentials = StackCredentials(of: nil, [name], [], after: passage?.value.credentials)
        }
    }

    /// Sets a query item with a secret.
    ///
    /// Its value is redacted wherever the request is printed, and is not sent to another machine over plain http. If a
    /// modifier calls this in `resolve`, the item is sent only to the server that the nearest `server` modifier names.
    ///
    /// - Parameters:
    ///   - value: The secret.
    ///   - name: The name of the item.
    public mutating func setCredential(_ value: String, forQueryItem name: String) {
        query[name] = value
        settings.secretQueryItems.insert(name.lowercased())
        if isResolving {
            assignServer(to: .queryItem(name))
        } else if place != .outside {
            openPassage.credentials = StackCredentials(of: nil, [], [name], after: passage?.value.credentials)
        }
    }

    // MARK: Over plain http

    /// Whether the request goes to another machine over plain http, where a third party could read a secret.
    package var isPlaintext: Bool {
        scheme == "http" && !isLoopback
    }

    /// Whether a third party could read a credential in the request, and the request does not allow that.
    package var exposesCredentials: Bool {
        isPlaintext && !allowsPlaintextCredentials
    }

    /// Whether the request goes to this machine.
    package var isLoopback: Bool {
        Authority(authority ?? "").isLoopback
    }

    /// Throws if a transport would pass a request to this machine to a proxy over plain http.
    ///
    /// The proxy is another machine, or passes the request on to one, so the permission to send secrets to the loopback
    /// address does not hold.
    ///
    /// - Parameter solution: How to keep such requests from the proxy.
    /// - Throws: ``NetworkingError/Kind/invalidRequest`` unless the request allows plaintext credentials.
    package func refuseProxyOnLoopback(solution: String) throws {
        guard scheme == "http", isLoopback, !allowsPlaintextCredentials else { return }
        throw NetworkingError(
            .invalidRequest,
            request: self,
            reason: "A proxy would receive this request to this machine over plain http. \(solution)"
        )
    }

    /// Returns the reason for refusing to send a secret over plain http.
    static func plaintextRefusal(of what: String) -> String {
        "\(what) would be sent over plain http, where it can be intercepted. "
            + "Use https, or set allowsPlaintextCredentials if this network is trusted."
    }

    /// Throws if a secret of the request would be sent over plain http to another machine.
    package func refusePlaintext(of what: String) throws {
        guard exposesCredentials else { return }
        throw NetworkingError(.invalidRequest, request: self, reason: Self.plaintextRefusal(of: what))
    }

    // MARK: To the stack's server

    /// Records that the stack has set a field with a credential, which belongs to the nearest server.
    mutating func addServerCredential(_ name: HTTPField.Name) {
        assignServer(to: .field(name))
    }

    /// Records the credentials that a closure of the app has set while the stack resolves the request.
    ///
    /// - Parameters:
    ///   - formerFields: The header fields before the closure.
    ///   - formerTarget: The target before the closure.
    mutating func addServerCredentials(notIn formerFields: HeaderFields, _ formerTarget: String?) {
        for field in headerFields.httpFields where field.isCredential {
            if formerFields[values: field.name] != headerFields[values: field.name] {
                addServerCredential(field.name)
            }
        }
        guard target != formerTarget else { return }
        var former = HTTPRequestData()
        former.target = formerTarget
        let formerItems = former.query.items
        for item in query.items where CredentialNames.queryItems.redacts(item.name) && !formerItems.contains(item) {
            assignServer(to: .queryItem(item.name))
        }
    }

    /// Assigns the nearest server to a part of the stack, while the stack resolves the request.
    mutating func assignServer(to owner: CredentialServers.Owner) {
        if credentialServers == nil {
            credentialServers = CopyOnWrite(CredentialServers(nearest: hasServer ? authority : nil))
        }
        credentialServers?.value.assignServer(to: owner)
    }

    /// Records a server that the stack names, and sets the authority if it is open.
    ///
    /// - Parameters:
    ///   - server: The authority of the server.
    ///   - overriding: Whether the server also replaces an authority that the request already has.
    ///   - term: The time in which the app uses the server; `nil` if the server cannot be changed.
    ///   - members: The machines that serve it under other authorities; `nil` if there are none.
    mutating func setServer(
        authority server: String,
        overriding: Bool,
        during term: ServerTerm? = nil,
        members: ServerMembers? = nil
    ) {
        let current = authority
        if overriding || current == nil {
            authority = server
            destination.server = .named
        } else if isAuthority(of: server) || members?.contains(current ?? "", isPlain: scheme == "http") == true {
            destination.server = .named
        } else {
            if destination.server == .unnamed { destination.server = .other }
            // From here on, the nearest server is not the target of the request.
            if credentialServers == nil { credentialServers = CopyOnWrite(CredentialServers(nearest: server)) }
        }
        if term != nil || members != nil, credentialServers == nil {
            credentialServers = CopyOnWrite(CredentialServers(nearest: nil))
        }
        if credentialServers != nil {
            credentialServers?.value.name(server, during: term, members: members)
        }
    }

    /// Returns whether the request goes to the server of a part or a field.
    func goesToServer(of owner: CredentialServers.Owner) -> Bool {
        guard isForServer, let authority, let credentialServers else { return false }
        return credentialServers.value.isServer(authority, isPlain: scheme == "http", of: owner)
    }

    /// Returns whether the authority of the request is a server's, in any spelling.
    func isAuthority(of server: String?) -> Bool {
        guard let authority, let server else { return authority == server }
        let isPlain = scheme == "http"
        return authority == server
            || AuthorityKey(authority, isPlain: isPlain) == AuthorityKey(server, isPlain: isPlain)
    }

    /// Removes the credentials that the stack set for servers other than the target of the request.
    ///
    /// The transport reports them with an event, because resolving a request must have no side effects.
    mutating func withholdCredentials() {
        guard let owners = credentialServers?.value.credentials, !owners.isEmpty else { return }
        let withheld = owners.filter { !goesToServer(of: $0) }
        credentialServers?.value.removeCredentials()
        guard !withheld.isEmpty else { return }
        withheldCredentials = withheld.compactMap { owner in
            switch owner {
            case .field(let name):
                headerFields[name] = nil
                return name.rawName
            case .queryItem(let name):
                query[name] = nil
                return name
            case .part:
                return nil
            }
        }
    }

    // MARK: On the way through a stack

    /// Removes the credentials that the parts of a stack have added while the request was sent.
    mutating func removeCredentialsOfWay() {
        if isHandled(.authorization) {
            headerFields[.authorization] = nil
        }
        if cookieSession != nil {
            headerFields[.cookie] = nil
        }
        var next = passage?.value.credentials
        while let added = next {
            for name in added.fields {
                headerFields[name] = nil
            }
            for name in added.queryItems {
                query[name] = nil
            }
            next = added.earlier
        }
    }

    // MARK: Through redirects

    /// Removes the credentials before a redirect or a link to another origin is followed.
    ///
    /// They are not restored on a later hop.
    package mutating func removeCredentials(under policy: RedirectPolicy) {
        headerFields.removeAll { policy.treatsAsCredential($0) }
        destination.leaveServer()
        if box != nil {
            settings.custom.removeCredentials()
        }
        if passage != nil {
            openPassage.options.removeCredentials()
        }
    }
}
