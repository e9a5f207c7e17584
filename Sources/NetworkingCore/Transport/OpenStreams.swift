import Synchronization

/// The streams that are open over one transport, counted by server and user.
///
/// Over HTTP/1.1, an open stream occupies a connection, and a transport limits its connections to a server. While
/// streams occupy all of them, every other request to that server waits. This type detects such a wait, so that it can
/// be reported.
package final class OpenStreams: Sendable {
    /// The transport's limit of connections to a server.
    private let limit: Int
    /// The number of open streams to all servers: if it is zero, an exchange costs only this check.
    private let total = Atomic(0)
    private let state = Mutex<[Key: Entry]>([:])

    /// The key of the exchanges that share connections.
    package struct Key: Hashable, Sendable {
        private let scheme: String?
        private let authority: AuthorityKey?
        private let owner: ConnectionOwner?

        init(_ request: HTTPRequestData, owner: ConnectionOwner?) {
            scheme = request.scheme
            authority = request.authorityKey
            self.owner = owner
        }
    }

    /// The registration of one exchange, which ends with ``OpenStreams/end(_:)``.
    package final class Part: Sendable {
        fileprivate let key: Key
        fileprivate let isStream: Bool
        fileprivate let waiter: Waiter?
        fileprivate let isOver = Atomic(false)

        fileprivate init(key: Key, isStream: Bool, waiter: Waiter?) {
            self.key = key
            self.isStream = isStream
            self.waiter = waiter
        }
    }

    package init(limit: Int) {
        self.limit = limit
    }

    /// Begins an exchange, and reports if it has to wait for a connection.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - owner: The user that the connection belongs to, if the transport keeps users apart.
    /// - Returns: The registration, or `nil` if the exchange neither is a stream nor waits.
    package func begin(_ request: HTTPRequestData, owner: ConnectionOwner? = nil) -> Part? {
        let isStream = request.sink?.isReaderPaced == true
        guard isStream || total.load(ordering: .relaxed) > 0 else { return nil }
        let key = Key(request, owner: owner)
        let waiter = state.withLock { state -> Waiter? in
            var entry = state[key] ?? Entry()
            defer { state[key] = entry.isUnused ? nil : entry }
            let waiter = entry.streams >= limit ? Waiter(request) : nil
            if let waiter { entry.waiters.append(waiter) }
            if isStream { entry.streams += 1 }
            return waiter
        }
        if isStream { total.add(1, ordering: .relaxed) }
        guard isStream || waiter != nil else { return nil }
        waiter?.report()
        return Part(key: key, isStream: isStream, waiter: waiter)
    }

    /// Ends the registration of an exchange; does nothing if it has ended.
    ///
    /// The exchange that has waited longest gets its connection, if it had one.
    package func end(_ part: Part) {
        guard !part.isOver.exchange(true, ordering: .relaxed) else { return }
        let next = state.withLock { state -> Waiter? in
            guard var entry = state[part.key] else { return nil }
            defer { state[part.key] = entry.isUnused ? nil : entry }
            if part.isStream { entry.streams -= 1 }
            // An exchange that still waits has no connection to pass on.
            if let index = entry.waiters.firstIndex(where: { $0 === part.waiter }) {
                entry.waiters.remove(at: index)
                return nil
            }
            return entry.waiters.isEmpty ? nil : entry.waiters.removeFirst()
        }
        if part.isStream { total.subtract(1, ordering: .relaxed) }
        part.waiter?.end()
        next?.end()
    }

    /// Returns the reason why a request may have waited: streams occupy every connection that it could use.
    ///
    /// `nil` if they do not.
    package func shortage(for request: HTTPRequestData, owner: ConnectionOwner? = nil) -> String? {
        guard total.load(ordering: .relaxed) >= limit else { return nil }
        let streams = state.withLock { $0[Key(request, owner: owner)]?.streams ?? 0 }
        guard streams >= limit else { return nil }
        return
            "\(streams) streams to this server are open, and this transport makes \(limit) connections to a server, so "
            + "the request may have waited for one. Close streams, or create the transport with a larger "
            + "maximumConnectionsPerHost."
    }

    private struct Entry {
        var streams = 0
        var waiters: [Waiter] = []

        var isUnused: Bool { streams == 0 && waiters.isEmpty }
    }

    /// An exchange that waits for a connection.
    ///
    /// The end of its wait is reported once.
    fileprivate final class Waiter: Sendable {
        private let request: HTTPRequestData
        private let clock = NetworkEnvironment.current.clock
        private let start: Duration
        private let isOver = Atomic(false)

        init(_ request: HTTPRequestData) {
            self.request = request
            start = clock.now
        }

        func report() {
            request.emit(WaitEvent.waiting(.connection, nil))
        }

        func end() {
            guard !isOver.exchange(true, ordering: .relaxed) else { return }
            request.emit(WaitEvent.waited(.connection, clock.now - start))
        }
    }
}

extension Wait {
    /// An exchange waits because open streams occupy every connection that the transport makes to the server.
    ///
    /// `AsyncHTTPClientTransport` and, on Linux over plain http, URLSession report it.
    public static let connection = Wait("connection")
}
