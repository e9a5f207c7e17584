/// Whether the stack's `server` modifiers apply to a request.
public enum ServerMutations: Sendable, Hashable {
    /// They do.
    case enabled
    /// The request is sent exactly as it was specified.
    case disabled
}

extension NetworkingComponent {
    /// Changes one property of each request.
    ///
    /// ```swift
    /// let network = URLSession.shared.server(mutate: \.maximumResponseBytes) { _ in 1 << 20 }
    /// ```
    ///
    /// Like every `server` modifier it runs once for each send, for requests that are sent again too, and not for a
    /// request whose ``HTTPRequestData/serverMutations`` are disabled.
    ///
    /// - Parameters:
    ///   - property: The property.
    ///   - transform: Makes the new value of the old one. It is pure: it may be asked without anything being sent.
    /// - Returns: A component that sends requests changed like this.
    public func server<Value>(
        mutate property: any WritableKeyPath<HTTPRequestData, Value> & Sendable,
        with transform: @escaping @Sendable (Value) -> Value
    ) -> some NetworkingComponent {
        modified(
            Server("mutate: \(property.outlined)") { request in
                request[keyPath: property] = transform(request[keyPath: property])
            }
        )
    }

    /// Changes each request.
    ///
    /// - Parameter mutate: Changes the request. It is pure: it may be asked without anything being sent.
    /// - Returns: A component that sends requests changed like this.
    public func server(
        mutateRequest mutate: @escaping @Sendable (inout HTTPRequestData) -> Void
    ) -> some NetworkingComponent {
        modified(Server("mutateRequest", mutate))
    }
}

/// Rewrites requests for a server; the whole `server` family is this modifier with one mutation or another.
struct Server: NetworkingModifier, CustomStringConvertible {
    private let settings: String
    private let mutate: @Sendable (inout HTTPRequestData) -> Void

    init(_ settings: String, _ mutate: @escaping @Sendable (inout HTTPRequestData) -> Void) {
        self.settings = settings
        self.mutate = mutate
    }

    func resolve(_ request: inout HTTPRequestData) {
        guard request.serverMutations == .enabled else { return }
        mutate(&request)
    }

    var description: String {
        "server(\(settings))"
    }
}
