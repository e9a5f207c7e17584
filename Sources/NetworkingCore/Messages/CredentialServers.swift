import HTTPTypes

/// The server of each credential of a request: the server that the nearest `server` modifier names.
///
/// That is the nearest `server` outside of the part that adds the credential, or the nearest one inside if there is
/// none outside. In `transport.authenticated(with: tokens).server(baseURL: a).server(baseURL: b)` requests go to `b`,
/// which is outermost, and the tokens belong to `a`.
struct CredentialServers: Sendable {
    /// The owner of a server: a part of the stack, a header field or a query item.
    enum Owner: Sendable, Hashable {
        /// A modifier that adds credentials when a request is sent.
        case part(Part)
        /// A header field that the stack sets while it resolves a request.
        case field(HTTPField.Name)
        /// A query item that the stack sets while it resolves a request.
        case queryItem(String)

        fileprivate var isPart: Bool {
            if case .part = self { true } else { false }
        }
    }

    /// The identity of a modifier.
    ///
    /// The object is retained, so no other modifier can get the same identity.
    final class Part: Sendable, Hashable {
        static func == (lhs: Part, rhs: Part) -> Bool {
            lhs === rhs
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(ObjectIdentifier(self))
        }
    }

    // An array, because a stack has one or two owners, and a linear search of those is faster than hashing.
    private var servers: [(owner: Owner, server: Named?)] = []
    /// The server that was named last.
    ///
    /// A stack is resolved from the outside in, so this is the nearest server outside.
    private var nearest: Named?

    /// A server that the stack names.
    private struct Named: Sendable {
        let authority: String
        /// The time in which the app uses the server; `nil` if the server cannot be changed.
        let term: ServerTerm?
        /// The machines that serve it under other authorities; `nil` if there are none.
        let members: ServerMembers?
    }

    init(nearest: String?) {
        self.nearest = nearest.map { Named(authority: $0, term: nil, members: nil) }
    }

    /// Records a server that the stack names, with its members if it has some, and the time in which the app uses it if
    /// it can be changed.
    mutating func name(_ authority: String, during term: ServerTerm?, members: ServerMembers?) {
        let named = Named(authority: authority, term: term, members: members)
        nearest = named
        for index in servers.indices where servers[index].server == nil {
            servers[index].server = named
        }
    }

    /// Assigns the nearest server to a part or a field, in place of an earlier one.
    mutating func assignServer(to owner: Owner) {
        servers.removeAll { $0.owner == owner }
        servers.append((owner, nearest))
    }

    /// Returns whether a request goes to the server of a part or a field, and the app has not changed it since.
    ///
    /// - Parameters:
    ///   - authority: The authority of the request.
    ///   - isPlain: Whether the scheme of the request is http.
    ///   - owner: The part or the field.
    /// - Returns: `true` if it does.
    func isServer(_ authority: String, isPlain: Bool, of owner: Owner) -> Bool {
        guard let server = servers.first(where: { $0.owner == owner })?.server, server.term?.isOver != true else {
            return false
        }
        return server.authority == authority
            || AuthorityKey(server.authority, isPlain: isPlain) == AuthorityKey(authority, isPlain: isPlain)
            || server.members?.contains(authority, isPlain: isPlain) == true
    }

    /// Returns whether an authority is that of a server with members that the stack names, or of one of its members.
    func hasMember(_ authority: String, isPlain: Bool) -> Bool {
        func contains(_ server: Named?) -> Bool {
            guard let server, let members = server.members else { return false }
            return members.contains(authority, isPlain: isPlain)
                || AuthorityKey(server.authority, isPlain: isPlain) == AuthorityKey(authority, isPlain: isPlain)
        }
        return contains(nearest) || servers.contains { contains($0.server) }
    }

    /// The fields and query items that the stack has set.
    var credentials: [Owner] {
        servers.map(\.owner).filter { !$0.isPart }
    }

    /// Removes the fields and query items, after it has been decided whether they are sent.
    mutating func removeCredentials() {
        servers.removeAll { !$0.owner.isPart }
    }
}
