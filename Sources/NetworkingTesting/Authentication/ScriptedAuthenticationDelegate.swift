public import FoundationForNetworking
public import NetworkingAuthentication
public import NetworkingCore
import Synchronization

/// A delegate that returns credentials from a script or closure, counts its calls, and can hold them for a test.
///
/// ```swift
/// let delegate = ScriptedAuthenticationDelegate<Session>(refreshing: [.success(renewed), .failure(Refused())])
/// let tokens = TokenStore(session, delegate: delegate)
/// let network = transport.authenticated(with: tokens).server(authority: "api.example.com")
///
/// delegate.hold()
/// async let responses = (network.data(first), network.data(second))
/// try await delegate.waitForCalls()      // the refresh has begun
/// delegate.release()
/// _ = try await responses
/// #expect(delegate.refreshes == 1)
/// ```
///
/// Each script entry is used once, in order. A call fails with ``AuthenticationScriptEnd``, which explains what to add,
/// if the script is empty or used up. A held call ends immediately when it is cancelled.
public final class ScriptedAuthenticationDelegate<Credentials: AuthenticatingCredentials>: AuthenticationDelegate {
    /// Returns credentials, like `AuthenticationDelegate.authorize(over:)`.
    public typealias Authorize = @Sendable (_ network: any NetworkingComponent) async throws -> Credentials
    /// Returns new credentials, like `AuthenticationDelegate.refresh(_:after:over:)`.
    public typealias Refresh =
        @Sendable (
            _ credentials: Credentials,
            _ response: HTTPResponseData?,
            _ network: any NetworkingComponent
        ) async throws -> Credentials

    /// A call to the delegate.
    public enum Call: Sendable {
        /// Credentials were requested because there were none.
        case authorize
        /// New credentials were requested, because the server refused these with the response or, if it is nil, because
        /// they had expired.
        case refresh(Credentials, after: HTTPResponseData?)
    }

    private let onAuthorize: Authorize
    private let onRefresh: Refresh
    private let state = Mutex(State())

    /// Creates a delegate that returns results from a script.
    ///
    /// - Parameters:
    ///   - authorizing: The results of calls without existing credentials, in order.
    ///   - refreshing: The results of calls that refresh credentials, in order.
    public convenience init(
        authorizing: [Result<Credentials, any Error>] = [],
        refreshing: [Result<Credentials, any Error>] = []
    ) {
        let authorizations = Script(results: authorizing, name: "authorizing")
        let refreshes = Script(results: refreshing, name: "refreshing")
        self.init(authorize: { _ in try authorizations.next() }, refresh: { _, _, _ in try refreshes.next() })
    }

    /// Creates a delegate that calls closures.
    ///
    /// - Parameters:
    ///   - authorize: Returns credentials; if it is nil, `authorize` calls fail.
    ///   - refresh: Returns new credentials.
    public init(authorize: Authorize? = nil, refresh: @escaping Refresh) {
        onAuthorize =
            authorize ?? { _ in throw AuthenticationScriptEnd(call: "authorize", script: "authorize:", count: 0) }
        onRefresh = refresh
    }

    /// The calls, in order.
    public var calls: [Call] {
        state.withLock { $0.calls }
    }

    /// The number of calls that requested credentials because there were none.
    public var authorizations: Int {
        calls.count { call in
            if case .authorize = call { true } else { false }
        }
    }

    /// The number of calls that requested a refresh.
    public var refreshes: Int {
        calls.count { call in
            if case .refresh = call { true } else { false }
        }
    }

    /// The number of calls in flight, including held calls.
    public var active: Int {
        state.withLock { $0.active }
    }

    /// Holds each later call until ``release()``, before it uses the script or calls the closure.
    ///
    /// - Parameter ignoresCancellation: Whether held calls also ignore cancellation, like a server that has already
    ///   received the request.
    public func hold(ignoringCancellation ignoresCancellation: Bool = false) {
        state.withLock { state in
            state.isHolding = true
            state.ignoresCancellation = ignoresCancellation
        }
    }

    /// Resumes the held calls and stops holding later ones.
    public func release() {
        let held = state.withLock { state in
            state.isHolding = false
            defer { state.held = [:] }
            return state.held.values
        }
        for wait in held {
            wait.resume()
        }
    }

    /// Waits until the delegate has received a number of calls.
    ///
    /// - Parameter count: The number of calls since its creation.
    /// - Throws: `CancellationError` if the caller is cancelled.
    public func waitForCalls(_ count: Int = 1) async throws {
        let wait = Suspension<Void>()
        let id = state.withLock { $0.waits.add(wait, until: count, current: $0.calls.count) }
        try await wait.value(until: nil) { self.state.withLock { $0.waits.remove(id) } }
    }

    /// Returns the next credentials.
    public func authorize(over network: any NetworkingComponent) async throws -> Credentials {
        try await perform(.authorize) { try await onAuthorize(network) }
    }

    /// Returns the next credentials in place of existing ones.
    public func refresh(
        _ credentials: Credentials,
        after response: HTTPResponseData?,
        over network: any NetworkingComponent
    ) async throws -> Credentials {
        try await perform(.refresh(credentials, after: response)) {
            try await onRefresh(credentials, response, network)
        }
    }

    private func perform(
        _ call: Call,
        _ operation: nonisolated(nonsending) () async throws -> Credentials
    ) async throws -> Credentials {
        let (hold, ignoresCancellation, id, served) = state.withLock { $0.begin(call) }
        defer { state.withLock { $0.active -= 1 } }
        for wait in served {
            wait.resume()
        }
        if let hold, ignoresCancellation {
            // A detached task does not inherit cancellation; it ends when the call is released.
            try await Task.detached { try await hold.value(until: nil) }.value
        } else if let hold {
            try await hold.value(until: nil) { self.state.withLock { $0.held[id] = nil } }
        }
        return try await operation()
    }

    private struct State {
        var calls: [Call] = []
        var active = 0
        var isHolding = false
        var ignoresCancellation = false
        var held: [Int: Suspension<Void>] = [:]
        var waits = CountWaits()
        private var lastID = 0

        /// Records a call and returns its hold and the waits to resume.
        mutating func begin(_ call: Call) -> (Suspension<Void>?, ignoresCancellation: Bool, Int, [Suspension<Void>]) {
            calls.append(call)
            active += 1
            lastID += 1
            if isHolding {
                held[lastID] = Suspension()
            }
            return (held[lastID], ignoresCancellation, lastID, waits.takeReached(calls.count))
        }
    }

    private final class Script: Sendable {
        private let results: [Result<Credentials, any Error>]
        private let name: String
        private let given = Mutex(0)

        init(results: [Result<Credentials, any Error>], name: String) {
            self.results = results
            self.name = name
        }

        func next() throws -> Credentials {
            let index = given.withLock { given in
                defer { given += 1 }
                return given
            }
            guard results.indices.contains(index) else {
                throw AuthenticationScriptEnd(
                    call: name == "refreshing" ? "refresh" : "authorize",
                    script: "\(name):",
                    count: results.count
                )
            }
            return try results[index].get()
        }
    }
}

/// An error for a call to a ``ScriptedAuthenticationDelegate`` that its script does not cover.
public struct AuthenticationScriptEnd: ReasonedError, LocalizedError, CustomStringConvertible {
    /// The call, the number of scripted results, and where to add one.
    public let description: String

    /// The same as `description`.
    public var errorDescription: String? {
        description
    }

    fileprivate init(call: String, script: String, count: Int) {
        let results = count == 0 ? "no result" : count == 1 ? "one result" : "\(count) results"
        description =
            "The test's delegate has \(results) for \(call), and was called once more. Add a result to \(script), or "
            + "find out why the stack calls it."
    }

    package var reason: String {
        description
    }

    package var countsAsRefusal: Bool {
        true
    }
}
