import Synchronization

// The user of a request is noted when its work begins, and compared where credentials are added. The work of a call
// begins when the outermost part of the stack receives it. A list, a stream or a transfer notes its users once, and
// each of its requests keeps them. With the users, it notes the servers that the app can change, so that all of its
// requests go to the servers at which it began.

extension HTTPRequestData {
    /// Notes the user that a store of credentials has signed in, unless the request belongs to an earlier user.
    ///
    /// A modifier that adds credentials calls it in `resolve`, and ``checkUser(_:signIn:of:)`` in `send`:
    ///
    /// ```swift
    /// protocol Tickets: AnyObject, Sendable {
    ///     var user: Principal? { get }
    ///     func next() async throws -> (user: Principal, text: String)
    /// }
    ///
    /// struct Ticketed: NetworkingModifier {
    ///     let tickets: any Tickets
    ///
    ///     func resolve(_ request: inout HTTPRequestData) {
    ///         request.noteUser(tickets.user, of: tickets)
    ///     }
    ///
    ///     func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal? {
    ///         request.user(of: tickets, signedIn: tickets.user)
    ///     }
    ///
    ///     func send(
    ///         _ request: HTTPRequestData,
    ///         upstream: some NetworkingComponent
    ///     ) async throws -> HTTPResponseData {
    ///         let ticket = try await tickets.next()
    ///         try request.checkUser(ticket.user, of: tickets)
    ///         var request = request
    ///         request.setCredential(ticket.text, for: .authorization)
    ///         var response = try await upstream.send(request)
    ///         response.principal = ticket.user
    ///         return response
    ///     }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - principal: The user; `nil` if no user is signed in. The request then belongs to the first user for whom it
    ///     is checked, or whom ``user(of:signedIn:signIn:)`` returns.
    ///   - signIn: The number of the sign-in, which a refresh keeps, for a store whose principals may change with a
    ///     refresh; otherwise `nil`.
    ///   - store: The object with the credentials, which several stacks may share.
    public mutating func noteUser(_ principal: Principal?, signIn: UInt64? = nil, of store: any AnyObject & Sendable) {
        guard !content.value.users.contains(store) else { return }
        content.value.users.add(principal, signIn, of: store)
    }

    /// Returns the user of the request in a store.
    ///
    /// `principal(for:)` returns it, so that cookies, caches and limits use the same user from the start of a call to
    /// its end. If no user was signed in at the start, the first user that this method returns becomes the user of the
    /// request, and ``checkUser(_:signIn:of:)`` then refuses the credentials of any other.
    ///
    /// - Parameters:
    ///   - store: The object with the credentials.
    ///   - principal: The user who is signed in; `nil` for none.
    ///   - signIn: The number of the sign-in, as in ``noteUser(_:signIn:of:)``.
    /// - Returns: The user; `principal` if the request has not been resolved.
    public func user(
        of store: any AnyObject & Sendable,
        signedIn principal: Principal?,
        signIn: UInt64? = nil
    ) -> Principal? {
        content.value.users.settle(principal, signIn, of: store)
    }

    /// Returns the user of the request in a store, if it has one, and changes nothing.
    package func notedUser(of store: any AnyObject & Sendable) -> Principal? {
        content.value.users.principal(of: store)
    }

    /// Returns the number of the sign-in that was noted with the user of a store.
    package func notedSignIn(of store: any AnyObject & Sendable) -> UInt64? {
        content.value.users.signIn(of: store)
    }

    /// Returns the server for which a request is resolved, of a server that the app can change.
    ///
    /// It is the one in use when the work of the request began, or the current one for work of a single call.
    ///
    /// - Parameters:
    ///   - object: The object that the app changes, which several stacks may share.
    ///   - current: The server that is in use now.
    /// - Returns: The server.
    package mutating func server<Value: Sendable>(of object: some AnyObject & Sendable, current: Value) -> Value {
        if let noted = content.value.users.server(of: object), let server = noted as? Value { return server }
        if content.value.users.notesServers {
            content.value.users.add(current, of: object)
        }
        return current
    }

    /// Returns the request as part of the work of another one: it belongs to the same users, and goes to the same
    /// server if the app changes the server of the stack.
    ///
    /// - Parameter other: A request that ``NetworkingComponent/notingUsers(of:)`` has returned.
    /// - Returns: The request.
    public func keepingUsers(of other: HTTPRequestData) -> HTTPRequestData {
        guard other.content.value.users.areKept else { return self }
        var request = self
        request.content.value.users = other.content.value.users
        return request
    }

    /// The request as a new call would send it, for the users who are signed in then.
    package var withoutUsers: HTTPRequestData {
        guard !content.value.users.isEmpty else { return self }
        var request = self
        request.content.value.users = NotedUsers()
        return request
    }

    /// Removes the users of an earlier send, unless the request belongs to longer work.
    mutating func forgetUsers() {
        guard !content.value.users.isEmpty, !content.value.users.areKept else { return }
        content.value.users = NotedUsers()
    }
}

/// The users for whom the work of a request began, one for each store of credentials.
struct NotedUsers: Sendable {
    /// The first user that signed in after the work had begun, shared by all requests of the work.
    final class FirstUser: Sendable {
        private let user = Mutex<(principal: Principal, signIn: UInt64?)?>(nil)

        var principal: Principal? {
            user.withLock { $0?.principal }
        }

        /// Returns the first user, which is the given one if there was none.
        func settle(_ principal: Principal, _ signIn: UInt64?) -> (principal: Principal, signIn: UInt64?) {
            user.withLock { user in
                let first = user ?? (principal, signIn)
                user = first
                return first
            }
        }
    }

    private struct Note: Sendable {
        // Retained, so that no other store can get the same address.
        let store: any AnyObject & Sendable
        let principal: Principal?
        let signIn: UInt64?
        /// The first user, if no user was signed in when the work began.
        let first: FirstUser?
    }

    private struct ServerNote: Sendable {
        let object: any AnyObject & Sendable
        let server: any Sendable
    }

    private var notes: [Note] = []
    private var servers: [ServerNote] = []
    /// Whether the users stay the same when the request is sent again.
    var areKept = false
    /// Whether the request is resolved to note the users and servers of longer work.
    var notesServers = false

    var isEmpty: Bool {
        notes.isEmpty && servers.isEmpty && !areKept
    }

    func contains(_ store: any AnyObject & Sendable) -> Bool {
        index(of: store) != nil
    }

    mutating func add(_ principal: Principal?, _ signIn: UInt64?, of store: any AnyObject & Sendable) {
        let first = principal == nil ? FirstUser() : nil
        notes.append(Note(store: store, principal: principal, signIn: signIn, first: first))
    }

    func principal(of store: any AnyObject & Sendable) -> Principal? {
        index(of: store).flatMap { notes[$0].principal ?? notes[$0].first?.principal }
    }

    func signIn(of store: any AnyObject & Sendable) -> UInt64? {
        index(of: store).flatMap { notes[$0].principal == nil ? nil : notes[$0].signIn }
    }

    /// Returns the user of a store, which is the given one if none was known.
    func settle(_ principal: Principal?, _ signIn: UInt64?, of store: any AnyObject & Sendable) -> Principal? {
        guard let index = index(of: store) else { return principal }
        guard let first = notes[index].first else { return notes[index].principal }
        return if let principal { first.settle(principal, signIn).principal } else { first.principal }
    }

    /// Whether credentials of a user may be added.
    ///
    /// A request without a note of the store belongs to no user of it.
    func admit(_ principal: Principal, _ signIn: UInt64?, of store: any AnyObject & Sendable) -> Bool {
        guard let index = index(of: store) else { return true }
        if let first = notes[index].first {
            let known = first.settle(principal, signIn)
            return signIn != nil && known.signIn == signIn || known.principal == principal
        }
        return signIn != nil && notes[index].signIn == signIn || notes[index].principal == principal
    }

    func server(of object: some AnyObject & Sendable) -> (any Sendable)? {
        servers.isEmpty ? nil : servers.first { $0.object === object }?.server
    }

    mutating func add(_ server: any Sendable, of object: any AnyObject & Sendable) {
        servers.append(ServerNote(object: object, server: server))
    }

    // By index, because copying a note takes as long as all the rest.
    private func index(of store: any AnyObject & Sendable) -> Int? {
        notes.indices.first { notes[$0].store === store }
    }
}
