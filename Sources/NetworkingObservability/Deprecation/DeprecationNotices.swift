import FoundationForNetworking
import NetworkingCore
import Synchronization

/// The announcements that `deprecationsReported` has found.
///
/// Share one instance between stacks to collect their notices. It keeps those of at most 256 routes; further routes are
/// ignored. If an announcement changes, its notice is replaced, up to 8 times for each route.
public final class DeprecationNotices: Sendable {
    /// The announcement for a route.
    public struct Notice: Sendable, Hashable, CustomStringConvertible {
        /// The method, the server, and the template of the path or else the path, without secrets:
        /// `GET https://api.example.com/users/{id}`.
        public let route: String
        /// The announcement.
        public let deprecation: Deprecation

        /// The route and the dates:
        /// `GET https://api.example.com/users is deprecated since 2026-06-30, ends on 2027-06-30`.
        public var description: String {
            let dates = deprecation.dates.map { " \($0)" } ?? ""
            return deprecation.isDeprecated ? "\(route) is deprecated\(dates)" : "\(route)\(dates)"
        }
    }

    private struct Entry {
        var notice: Notice
        var changes = 0
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var routes: [String] = []
    }

    private let state = Mutex(State())

    private static let maximumRoutes = 256
    private static let maximumChanges = 8

    /// Creates an object without notices.
    public init() {}

    /// The latest notice of each route, in the order in which the routes were first found.
    public var all: [Notice] {
        state.withLock { state in state.routes.compactMap { state.entries[$0]?.notice } }
    }

    /// Removes all notices, so that each announcement is reported again.
    public func removeAll() {
        state.withLock { $0 = State() }
    }

    /// Adds an announcement.
    ///
    /// - Returns: The notice; `nil` if the announcement is known or the table is full.
    func add(_ deprecation: Deprecation, of request: HTTPRequestData, route: String?) -> Notice? {
        let notice = Notice(route: request.routeText(route), deprecation: deprecation)
        return state.withLock { state in
            if let entry = state.entries[notice.route] {
                guard entry.notice != notice, entry.changes < Self.maximumChanges else { return nil }
                state.entries[notice.route] = Entry(notice: notice, changes: entry.changes + 1)
                return notice
            }
            guard state.routes.count < Self.maximumRoutes else { return nil }
            state.routes.append(notice.route)
            state.entries[notice.route] = Entry(notice: notice)
            return notice
        }
    }
}

extension HTTPRequestData {
    /// Returns the method, the server and a route, or else the path, as one line without secrets.
    fileprivate func routeText(_ route: String?) -> String {
        let redaction = Redaction.standard.redactingSecrets(of: self)
        guard let route, let authority else {
            return PrintableText.cut(redaction.shown(redaction.target(of: self).open), to: 512)
        }
        let server = "\(scheme ?? "https")://\(redaction.authority(authority))"
        let path = route.hasPrefix("/") ? route : "/\(route)"
        return PrintableText.cut(redaction.shown("\(method) \(server)\(path)"), to: 512)
    }
}
