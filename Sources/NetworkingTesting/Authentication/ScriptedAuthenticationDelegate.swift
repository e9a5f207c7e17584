public import Networking
import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A delegate that gives credentials by script or by closure, counts who asks, and waits where a test wants it to.
///
/// ```swift
/// let delegate = ScriptedAuthenticationDelegate<Session>(refreshing: [.success(renewed), .failure(Refused())])
/// let tokens = TokenStore(session, delegate: delegate)
/// let network = transport.authenticated(with: tokens).server(authority: "api.example.com")
///
/// delegate.hold()
/// async let responses = (network.data(first), network.data(second))
/// try await delegate.waitForCalls()      // the refresh has begun
/// delegate.letGo()
/// _ = try await responses
/// #expect(delegate.refreshes == 1)
/// ```
///
/// Each answer of a script is given once and in order. A call that finds the script used up, or none there, fails with
/// ``AuthenticationScriptEnd``, which says what to add. A call that is held ends at once when it is cancelled.
public final class ScriptedAuthenticationDelegate<Credentials: AuthenticatingCredentials>: AuthenticationDelegate {
    /// Gets credentials, as ``Networking/AuthenticationDelegate/authorize(over:)`` does.
    public typealias Authorize = @Sendable (_ network: any NetworkingComponent) async throws -> Credentials
    /// Renews credentials, as ``Networking/AuthenticationDelegate/refresh(_:after:over:)`` does.
    public typealias Refresh =
        @Sendable (
            _ credentials: Credentials,
            _ response: HTTPResponseData?,
            _ network: any NetworkingComponent
        ) async throws -> Credentials

    /// What the delegate was asked for.
    public enum Call: Sendable {
        /// For credentials, where there were none.
        case authorize
        /// For new ones instead of these: the server answered with the response, or they had run out where it is nil.
        case refresh(Credentials, after: HTTPResponseData?)
    }

    private let onAuthorize: Authorize
    private let onRefresh: Refresh
    private let state = Mutex(State())

    /// Creates a delegate that answers by script.
    ///
    /// - Parameters:
    ///   - authorizing: The answers to who has no credentials, in order.
    ///   - refreshing: The answers to who has some, in order.
    public convenience init(
        authorizing: [Result<Credentials, any Error>] = [],
        refreshing: [Result<Credentials, any Error>] = []
    ) {
        let authorizations = Script(answers: authorizing, name: "authorizing")
        let refreshes = Script(answers: refreshing, name: "refreshing")
        self.init(authorize: { _ in try authorizations.next() }, refresh: { _, _, _ in try refreshes.next() })
    }

    /// Creates a delegate that answers by closure.
    ///
    /// - Parameters:
    ///   - authorize: Gets credentials; without it nobody can be signed in.
    ///   - refresh: Renews credentials.
    public init(authorize: Authorize? = nil, refresh: @escaping Refresh) {
        onAuthorize =
            authorize ?? { _ in throw AuthenticationScriptEnd(call: "authorize", script: "authorize:", count: 0) }
        onRefresh = refresh
    }

    /// What it was asked for, in order.
    public var calls: [Call] {
        state.withLock { $0.calls }
    }

    /// How often it was asked for credentials where there were none.
    public var authorizations: Int {
        calls.count { call in
            if case .authorize = call { true } else { false }
        }
    }

    /// How often it was asked to renew credentials.
    public var refreshes: Int {
        calls.count { call in
            if case .refresh = call { true } else { false }
        }
    }

    /// How many calls are under way, held ones among them.
    public var active: Int {
        state.withLock { $0.active }
    }

    /// Holds calls from now on until ``letGo()``, before they answer.
    ///
    /// - Parameter isDeaf: Whether a cancellation does not reach them either, as with a server that has seen the
    ///   request.
    public func hold(deafly isDeaf: Bool = false) {
        state.withLock { state in
            state.isHolding = true
            state.isDeaf = isDeaf
        }
    }

    /// Lets the calls that are held go on, and later ones answer at once.
    public func letGo() {
        let held = state.withLock { state in
            state.isHolding = false
            defer { state.held = [:] }
            return state.held.values
        }
        for wait in held {
            wait.resume()
        }
    }

    /// Waits until it has been asked so often.
    ///
    /// - Parameter count: How often, since it was made.
    /// - Throws: `CancellationError` when the caller is cancelled.
    public func waitForCalls(_ count: Int = 1) async throws {
        let wait = Suspension<Void>()
        let id = state.withLock { $0.waits.add(wait, until: count, current: $0.calls.count) }
        try await wait.value { self.state.withLock { $0.waits.remove(id) } }
    }

    /// Gives the next credentials.
    public func authorize(over network: any NetworkingComponent) async throws -> Credentials {
        try await answer(.authorize) { try await onAuthorize(network) }
    }

    /// Gives the next credentials in place of others.
    public func refresh(
        _ credentials: Credentials,
        after response: HTTPResponseData?,
        over network: any NetworkingComponent
    ) async throws -> Credentials {
        try await answer(.refresh(credentials, after: response)) {
            try await onRefresh(credentials, response, network)
        }
    }

    private func answer(
        _ call: Call,
        _ operation: nonisolated(nonsending) () async throws -> Credentials
    ) async throws -> Credentials {
        let (hold, isDeaf, id, served) = state.withLock { $0.begin(call) }
        defer { state.withLock { $0.active -= 1 } }
        for wait in served {
            wait.resume()
        }
        if let hold, isDeaf {
            // A task of its own, since nobody's cancellation reaches that; it ends when it is let go.
            try await Task.detached { try await hold.value() }.value
        } else if let hold {
            try await hold.value { self.state.withLock { $0.held[id] = nil } }
        }
        return try await operation()
    }

    private struct State {
        var calls: [Call] = []
        var active = 0
        var isHolding = false
        var isDeaf = false
        var held: [Int: Suspension<Void>] = [:]
        var waits = CountWaits()
        private var lastID = 0

        /// Notes a call, and answers what it waits for and whom to wake.
        mutating func begin(_ call: Call) -> (Suspension<Void>?, isDeaf: Bool, Int, [Suspension<Void>]) {
            calls.append(call)
            active += 1
            lastID += 1
            if isHolding {
                held[lastID] = Suspension()
            }
            return (held[lastID], isDeaf, lastID, waits.takeReached(calls.count))
        }
    }

    private final class Script: Sendable {
        private let answers: [Result<Credentials, any Error>]
        private let name: String
        private let given = Mutex(0)

        init(answers: [Result<Credentials, any Error>], name: String) {
            self.answers = answers
            self.name = name
        }

        func next() throws -> Credentials {
            let index = given.withLock { given in
                defer { given += 1 }
                return given
            }
            guard answers.indices.contains(index) else {
                throw AuthenticationScriptEnd(
                    call: name == "refreshing" ? "refresh" : "authorize",
                    script: "\(name):",
                    count: answers.count
                )
            }
            return try answers[index].get()
        }
    }
}

/// A ``ScriptedAuthenticationDelegate`` was asked for more than a test gave it.
public struct AuthenticationScriptEnd: ReasonedError, LocalizedError, CustomStringConvertible {
    /// What was asked for, how many answers there were, and where to add one.
    public let description: String

    /// The same.
    public var errorDescription: String? {
        description
    }

    fileprivate init(call: String, script: String, count: Int) {
        let answers = count == 0 ? "no answer" : count == 1 ? "one answer" : "\(count) answers"
        description =
            "The test's delegate has \(answers) to \(call), and was asked once more. "
            + "Add one to \(script), or find out why the stack asks."
    }

    package var reason: String {
        description
    }

    package var isForeseen: Bool {
        false
    }
}
