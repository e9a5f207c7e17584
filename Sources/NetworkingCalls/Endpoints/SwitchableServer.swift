public import FoundationForNetworking
public import NetworkingCore
import Synchronization

extension NetworkingComponent {
    /// Sends requests to a server with a base URL that the app can change while it runs.
    ///
    /// ```swift
    /// let server = SwitchableServer(production)
    /// let network = URLSession.shared
    ///     .authenticated(with: tokens)
    ///     .server(baseURL: server)
    ///
    /// try server.change(to: staging)   // for all later calls
    /// ```
    ///
    /// Otherwise it works like `server(baseURL:)` with a URL. Credentials that the stack adds next to this modifier go
    /// only to the current server. A request with its own authority gets them only if that authority is the one of the
    /// current server.
    ///
    /// - Parameter server: The server. Several stacks may share it.
    /// - Returns: A component that sends requests to the current base URL of that server.
    public func server(baseURL server: SwitchableServer) -> some NetworkingComponent {
        modified(SwitchedServer(server: server))
    }
}

/// A server with a base URL that the app can change while it runs, for example from production to staging.
///
/// ```swift
/// let server = SwitchableServer(production)
/// let network = URLSession.shared.server(baseURL: server)
/// try server.change(to: staging)
/// ```
///
/// The base URL is read once, when a call starts. A call that has started before a change stays with its server for all
/// of its attempts, and a list, a stream or a transfer for all of its requests. Once the scheme or the authority has
/// changed, the stack adds no credentials to them, because they could be those of the new server. `retry` does not send
/// a request that has lost its credentials. Change the server first, and then sign in to it.
public final class SwitchableServer: Sendable {
    private let state: Mutex<State>

    private struct State: Sendable {
        let baseURL: URL
        /// The modifier of `server(baseURL:)` for the URL, so that both follow the same rules.
        let modifier: any UpstreamLimited
        /// The period in which the app uses this server; a change to another server ends it.
        let term: ServerTerm

        init(_ baseURL: URL, during term: ServerTerm) {
            self.baseURL = baseURL
            self.term = term
            modifier = term.server(baseURL: baseURL)
        }
    }

    /// Creates a server.
    ///
    /// - Parameter baseURL: The URL. Its query and fragment are not used.
    /// - Precondition: `baseURL` is an http or https URL with a host and without credentials.
    public init(_ baseURL: URL) {
        let fault = Self.fault(of: baseURL)
        precondition(fault == nil, fault ?? "")
        state = Mutex(State(baseURL, during: ServerTerm()))
    }

    /// The current base URL.
    public var baseURL: URL {
        state.withLock { $0.baseURL }
    }

    /// Changes the base URL for all later calls.
    ///
    /// - Parameter baseURL: The URL. Its query and fragment are not used.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/invalidRequest`` if the URL is not an http or
    ///   https URL, has no host, or contains credentials. The base URL is not changed then.
    public func change(to baseURL: URL) throws(NetworkingError) {
        if let fault = Self.fault(of: baseURL) {
            throw NetworkingError(.invalidRequest, request: HTTPRequestData(url: baseURL), reason: fault)
        }
        state.withLock { state in
            // Another path of the same server has the same credentials.
            guard !Self.isSameServer(state.baseURL, baseURL) else {
                state = State(baseURL, during: state.term)
                return
            }
            let former = state.term
            state = State(baseURL, during: ServerTerm())
            former.end()
        }
    }

    private static func isSameServer(_ first: URL, _ second: URL) -> Bool {
        HTTPRequestData(url: first).origin == HTTPRequestData(url: second).origin
    }

    /// The modifier for the current base URL.
    fileprivate var modifier: any UpstreamLimited {
        state.withLock { $0.modifier }
    }

    /// Returns the reason why a URL cannot be a base URL; `nil` if it can.
    private static func fault(of url: URL) -> String? {
        let base = HTTPRequestData(url: url)
        guard base.scheme == "https" || base.scheme == "http", base.host?.isEmpty == false else {
            return "A base URL must have the scheme https or http, and a host."
        }
        guard Authority(base.authority ?? "").userinfo == nil else {
            return "A base URL must not contain credentials. Set the Authorization field instead."
        }
        return nil
    }
}

extension SwitchableServer: CustomStringConvertible, CustomReflectable {
    /// The current base URL, without its query.
    public var description: String {
        var base = HTTPRequestData(url: baseURL)
        base.query = [:]
        return base.absoluteString ?? ""
    }

    /// The contents of a dump, without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["baseURL": description])
    }
}

/// Rewrites requests for the current base URL of a server.
// It reads the state of the server in `resolve`, which other modifiers must not do: a change must affect the next
// request, even if it is only resolved and not sent.
private struct SwitchedServer: UpstreamLimited, CustomStringConvertible {
    let server: SwitchableServer

    func resolve(_ request: inout HTTPRequestData) {
        request.server(of: server, current: server.modifier).resolve(&request)
    }

    var stackPart: StackPart {
        StackPart(roles: [.server], server: server.modifier.stackPart.server)
    }

    var description: String {
        "server(baseURL: \"\(server)\", switchable)"
    }
}
