extension HTTPRequestData {
    /// Names the stack's server while a stack rewrites the request, and sets its name as an open authority.
    ///
    /// A modifier calls this in `resolve`. The request is then sent with the credentials of the stack to that server,
    /// to its members, and to no other one.
    ///
    /// - Parameter server: The server.
    public mutating func setServer(_ server: ServerMembers) {
        setServer(authority: server.authority, overriding: false, members: server)
    }

    /// Returns whether the request has the name of a server as its authority, in any spelling.
    ///
    /// A request to one of its members does not.
    ///
    /// - Parameter server: The server.
    /// - Returns: `true` if it does.
    public func isAddressed(to server: ServerMembers) -> Bool {
        isAuthority(of: server.authority)
    }
}
