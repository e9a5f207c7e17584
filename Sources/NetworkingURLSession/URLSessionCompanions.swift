#if URLSession && canImport(FoundationNetworking)
import Foundation
import FoundationNetworking
import NetworkingCore
import Synchronization

/// The companions of the sessions that are used as components.
///
/// They are stored for the whole process, because a URLSession has no property for its companion. Without this, every
/// send would create a session.
final class URLSessionCompanions: Sendable {
    static let shared = URLSessionCompanions()

    private struct Entry {
        weak var session: URLSession?
        let pool: URLSessionPool
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        /// The number of uses since the last search for released sessions.
        var uses = 0
    }

    private let state = Mutex(State())

    /// Returns the companion of a session for the exchange of a request.
    ///
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/invalidRequest`` if the session has a delegate.
    func pool(for request: HTTPRequestData, of session: URLSession) throws -> URLSessionPool {
        guard session.delegate == nil else {
            throw NetworkingError(
                .invalidRequest,
                request: request,
                reason: "This URLSession has a delegate, which the library cannot call on Linux. "
                    + "Use URLSessionTransport(configuration:), or a session without a delegate."
            )
        }
        return pool(of: session)
    }

    fileprivate func pool(of session: URLSession) -> URLSessionPool {
        // The pools of released sessions end with their last reference, outside the lock.
        let (pool, _) = state.withLock { state -> (URLSessionPool, [Entry]) in
            state.uses += 1
            let known = state.entries[ObjectIdentifier(session)].flatMap { $0.session === session ? $0.pool : nil }
            // Searching after as many uses as there are entries costs one look at an entry for each use.
            if let known, state.uses <= state.entries.count { return (known, []) }
            state.uses = 0
            let orphans = state.entries.values.filter { $0.session == nil }
            if !orphans.isEmpty {
                state.entries = state.entries.filter { $0.value.session != nil }
            }
            if let known { return (known, orphans) }
            let pool = URLSessionPool(session.configuration, reuse: .standard)
            state.entries[ObjectIdentifier(session)] = Entry(session: session, pool: pool)
            return (pool, orphans)
        }
        return pool
    }
}

extension URLSession {
    /// Returns why a request may have waited for a connection, if open streams occupy all of them; otherwise `nil`.
    func shortage(for request: HTTPRequestData) -> String? {
        URLSessionCompanions.shared.pool(of: self).connectionShortage(for: request)
    }
}
#endif
