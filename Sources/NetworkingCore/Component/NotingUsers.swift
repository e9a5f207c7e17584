extension NetworkingComponent {
    /// Returns a request that belongs to the users who are signed in now, whenever it is sent.
    ///
    /// It also goes to the servers that are in use now: if the app changes a `SwitchableServer`, the request still goes
    /// to the former server, and the stack adds no credentials to it.
    ///
    /// A call notes both itself. Use this method for work that sends several requests or waits before it sends one,
    /// such as a list of pages or a queue:
    ///
    /// ```swift
    /// let first = network.notingUsers(of: .get("items"))
    /// let items = try await network.data(first)
    /// // Fails if another user has signed in meanwhile:
    /// let rest = try await network.data(HTTPRequestData.get("items/more").keepingUsers(of: first))
    /// ```
    ///
    /// - Parameter request: The request. If it keeps the users of earlier work, it is returned unchanged.
    /// - Returns: The request.
    public func notingUsers(of request: HTTPRequestData) -> HTTPRequestData {
        guard !request.content.value.users.areKept else { return request }
        var (request, probe) = (request, request)
        probe.content.value.users = NotedUsers()
        probe.content.value.users.notesServers = true
        probe.destination.stage = .resolving(isRelative: false)
        resolve(&probe)
        request.content.value.users = probe.content.value.users
        request.content.value.users.notesServers = false
        request.content.value.users.areKept = true
        return request
    }

    /// Returns whether a request that a part of the stack sends again is still for the user of the response to it.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - principal: The principal of the response; `nil` if it names none.
    /// - Returns: `false` if another user has signed in, or the user has signed out.
    package func isSameUser(of request: HTTPRequestData, as principal: Principal?) -> Bool {
        principal.map { self.principal(for: request.withoutUsers).isSame(as: $0) } ?? true
    }
}

extension HTTPRequestData {
    /// Notes the users of another stack, to which the request may be sent in place of this one.
    ///
    /// - Parameters:
    ///   - component: The other stack.
    ///   - request: The request as the other stack receives it.
    package mutating func noteUsers(of component: some NetworkingComponent, for request: HTTPRequestData) {
        var probe = request
        // Its encoding takes time, and the users do not depend on it.
        probe.body = nil
        probe.content.value.users = content.value.users
        probe.destination.stage = .resolving(isRelative: false)
        component.resolve(&probe)
        content.value.users = probe.content.value.users
    }
}
