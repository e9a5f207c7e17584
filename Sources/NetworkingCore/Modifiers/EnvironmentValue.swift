extension NetworkingComponent {
    /// Sets a value of the environment for everything upstream.
    ///
    /// ```swift
    /// let network = MockTransport { _ in .ok() }
    ///     .timeout(.seconds(10))
    ///     .environment(\.clock, .manual(clock))
    /// ```
    ///
    /// - Parameters:
    ///   - key: The value to set: one of ``NetworkEnvironment``'s own, or one that an extension of it declares.
    ///   - value: What it is, for everything upstream.
    /// - Returns: A component that sends in that environment. A computed key's setter runs once, now.
    public func environment<Value: Sendable>(
        _ key: any WritableKeyPath<NetworkEnvironment, Value> & Sendable,
        _ value: Value
    ) -> some NetworkingComponent {
        // The key path is followed here and not in each send, which would cost three times the rest.
        var environment = NetworkEnvironment()
        environment[keyPath: key] = value
        return modified(EnvironmentValue(environment: environment, name: key.outlined))
    }
}

extension NetworkingComponent {
    /// The environment as the stack's `authenticated` sees it, for what signs in through the stack and is none of its
    /// requests.
    package var environmentOfCredentials: NetworkEnvironment {
        modifiers.prefix { !$0.roles.contains(.authentication) }
            .reduce(.current) { environment, part in
                (part as? EnvironmentValue).map { environment.merging($0.environment) } ?? environment
            }
    }
}

struct EnvironmentValue: NetworkingModifier, CustomStringConvertible, CustomReflectable {
    /// The default environment with the one value set.
    let environment: NetworkEnvironment
    let name: String

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        try await withEnvironment(NetworkEnvironment.current.merging(environment)) {
            try await upstream.send(request)
        }
    }

    /// Names the value but does not show it: it may be a secret of somebody's own.
    var description: String {
        "environment(\(name))"
    }

    var customMirror: Mirror {
        Mirror(self, children: ["key": name])
    }
}
