import HTTPTypes

extension NetworkingComponent {
    /// Changes one property of each request.
    ///
    /// ```swift
    /// let network = URLSession.shared.server(mutate: \.maximumResponseBytes) { _ in 1 << 20 }
    /// ```
    ///
    /// Like every `server` modifier, it runs once for each send, and not again for its retries. It does not run for a
    /// request with disabled ``HTTPRequestData/serverMutations``.
    ///
    /// - Parameters:
    ///   - property: The property.
    ///   - transform: Returns the new value for the old one. It must be pure, because it may be called without a send.
    /// - Returns: A component that sends the changed requests.
    public func server<Value>(
        mutate property: any WritableKeyPath<HTTPRequestData, Value> & Sendable,
        with transform: @escaping @Sendable (Value) -> Value
    ) -> some NetworkingComponent {
        modified(
            Server("mutate: \(property.outlined)") { request in
                request.mutateForServer { $0[keyPath: property] = transform($0[keyPath: property]) }
            }
        )
    }

    /// Changes each request.
    ///
    /// Header fields and query items with credentials that the closure sets are sent only to the server that the
    /// nearest `server` modifier names.
    ///
    /// - Parameter mutate: Changes the request. It must be pure, because it may be called several times, and without a
    ///   send.
    /// - Returns: A component that sends the changed requests.
    public func server(
        mutateRequest mutate: @escaping @Sendable (inout HTTPRequestData) -> Void
    ) -> some NetworkingComponent {
        modified(Server("mutateRequest") { $0.mutateForServer(mutate) })
    }
}

extension HTTPRequestData {
    /// Changes the request with the app's closure; credentials that it sets go only to the stack's server.
    fileprivate mutating func mutateForServer(_ mutate: (inout HTTPRequestData) -> Void) {
        let (fields, target) = (headerFields, target)
        mutate(&self)
        addServerCredentials(notIn: fields, target)
    }
}

/// Rewrites requests for a server, with one mutation for each of the `server` modifiers.
struct Server: UpstreamLimited, CustomStringConvertible {
    /// What a modifier does with the path of a request.
    enum PathChange {
        /// It sets a path that is open.
        case open
        /// It writes a prefix, after which no path is open.
        case prefix
    }

    /// The server that the modifier names.
    let authority: String?
    /// The header field with a credential that the modifier sets.
    let credential: HTTPField.Name?
    /// What the modifier does with the path.
    let path: PathChange?
    private let settings: String
    private let mutate: @Sendable (inout HTTPRequestData) -> Void

    init(
        _ settings: String,
        authority: String? = nil,
        credential: HTTPField.Name? = nil,
        path: PathChange? = nil,
        _ mutate: @escaping @Sendable (inout HTTPRequestData) -> Void
    ) {
        self.settings = settings
        self.authority = authority
        self.credential = credential
        self.path = path
        self.mutate = mutate
    }

    func resolve(_ request: inout HTTPRequestData) {
        guard request.serverMutations == .enabled else { return }
        mutate(&request)
    }

    var stackPart: StackPart {
        StackPart(
            roles: credential == .authorization ? [.server, .authorizationField] : [.server],
            server: authority,
            rules: (credential == nil ? [] : [CredentialScope([]).rule]) + (path == .open ? [.openPath] : [])
        )
    }

    var description: String {
        "server(\(settings))"
    }
}

extension StackRule {
    /// The rule that no prefix outside has set the path before a modifier sees it open.
    fileprivate static let openPath = StackRule { place in
        place.outer.first { ($0 as? Server)?.path == .prefix }
            .map { prefix in
                "\(place.name) has no effect on requests to the stack's server, because \(prefix.outlineName) outside "
                    + "of it has already set their path. Place server(path:) outside of the prefix."
            }
    }
}
