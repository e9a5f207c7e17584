#if URLSession
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import Synchronization

extension URLSessionTransport {
    /// Which requests may use a connection that an earlier request has used.
    ///
    /// libcurl, which runs URLSession on Linux, sends a request on a kept connection even if the server has sent something
    /// there that no request asked for. That becomes the response of the new request (L37 in `Documentation/Transports.md`).
    /// So a faulty server can give one user the response of another, unless their connections are apart.
    ///
    /// ```swift
    /// let transport = URLSessionTransport(connectionReuse: .never)   // for a server that is not trusted
    /// ```
    public enum ConnectionReuse: Sendable, Hashable {
        /// Every request may use every connection: the default on Apple's platforms.
        case always

        /// A request may use the connections of requests with the same credentials: the default on Linux.
        ///
        /// Requests without credentials have connections of their own. Credentials are the header fields that
        /// ``RedirectPolicy`` keeps at their origin, the query items that hold an API key, and the key of a signature. The
        /// cookies of the session's own storage do not count, because one storage belongs to one user.
        ///
        /// The transport keeps the connections of the last 64 users. A request with credentials that differ each time,
        /// other than a signature of `signed`, gets a new connection each time.
        case sameCredentials

        /// Every request gets a connection of its own, which is closed after the response.
        ///
        /// Costs a handshake for each request.
        case never

        /// The default of this platform.
        public static var standard: ConnectionReuse {
            #if canImport(FoundationNetworking)
            .sameCredentials
            #else
            .always
            #endif
        }
    }
}

/// The sessions of a transport, which keep the connections of its users apart.
///
/// Every URLSession has a pool of connections of its own, and there is no other way to choose a connection.
final class URLSessionPool: Sendable {
    /// The maximum number of sessions kept for users who send nothing at the moment.
    private static let maximumIdle = 64

    private let configuration: URLSessionConfiguration
    private let reuse: URLSessionTransport.ConnectionReuse
    private let common: URLSession
    private let state = Mutex(State())

    init(_ configuration: URLSessionConfiguration, reuse: URLSessionTransport.ConnectionReuse) {
        guard let configuration = configuration.copy() as? URLSessionConfiguration else {
            preconditionFailure("A copy of a URLSessionConfiguration is one.")
        }
        self.configuration = configuration
        self.reuse = reuse
        common = .forExchanges(configuration)
    }

    deinit {
        // A session keeps its delegate and its connections until it is invalidated.
        common.finishTasksAndInvalidate()
        for session in state.withLock({ $0.removeAll() }) {
            session.finishTasksAndInvalidate()
        }
    }

    /// Makes one exchange over the session whose connections the request may use.
    func respond(to request: HTTPRequestData) async throws -> HTTPResponseData {
        switch reuse {
        case .always:
            return try await common.respond(to: request)
        case .sameCredentials:
            guard let owner = ConnectionOwner(of: request) else { return try await common.respond(to: request) }
            let session = state.withLock { $0.borrow(owner) { .forExchanges(configuration) } }
            defer { state.withLock { $0.giveBack(owner) }?.finishTasksAndInvalidate() }
            return try await session.respond(to: request)
        case .never:
            let session = URLSession.forExchanges(configuration)
            defer { session.finishTasksAndInvalidate() }
            return try await session.respond(to: request)
        }
    }

    private struct State {
        private var entries: [ConnectionOwner: Entry] = [:]
        private var idleCount = 0
        private var useCount: UInt64 = 0

        /// Returns the session of an owner, which stays until it is given back.
        mutating func borrow(_ owner: ConnectionOwner, make: () -> URLSession) -> URLSession {
            var entry = entries[owner] ?? Entry(session: make())
            if entry.users == 0, entry.lastUse > 0 {
                idleCount -= 1
            }
            useCount += 1
            entry.users += 1
            entry.lastUse = useCount
            entries[owner] = entry
            return entry.session
        }

        /// Gives a session back, and returns the one that has been idle longest if there are too many.
        mutating func giveBack(_ owner: ConnectionOwner) -> URLSession? {
            entries[owner]?.users -= 1
            guard entries[owner]?.users == 0 else { return nil }
            idleCount += 1
            guard idleCount > URLSessionPool.maximumIdle,
                let oldest = entries.filter({ $0.value.users == 0 }).min(by: { $0.value.lastUse < $1.value.lastUse })
            else { return nil }
            idleCount -= 1
            entries[oldest.key] = nil
            return oldest.value.session
        }

        mutating func removeAll() -> [URLSession] {
            defer { entries = [:] }
            return entries.values.map(\.session)
        }
    }

    private struct Entry {
        let session: URLSession
        /// The number of exchanges that use it.
        var users = 0
        /// The number of the use that was the last; 0 before the first.
        var lastUse: UInt64 = 0
    }
}
#endif
