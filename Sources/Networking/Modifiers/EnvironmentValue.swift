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
    /// - Returns: A component that sends in that environment.
    public func environment<Value: Sendable>(
        _ key: any WritableKeyPath<NetworkEnvironment, Value> & Sendable,
        _ value: Value
    ) -> some NetworkingComponent {
        modified(EnvironmentValue(key: key, value: value))
    }
}

struct EnvironmentValue<Value: Sendable>: NetworkingModifier, CustomStringConvertible, CustomReflectable {
    let key: any WritableKeyPath<NetworkEnvironment, Value> & Sendable
    let value: Value

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        var environment = NetworkEnvironment.current
        environment[keyPath: key] = value
        return try await withEnvironment(environment) { try await upstream.send(request) }
    }

    /// Names the value but does not show it: it may be a secret of somebody's own.
    var description: String {
        "environment(\(key.outlined))"
    }

    var customMirror: Mirror {
        Mirror(self, children: ["key": key.outlined])
    }
}
