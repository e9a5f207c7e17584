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
    ///   - key: The value to set, of ``NetworkEnvironment`` itself or of an extension.
    ///   - value: The new value, for everything upstream.
    /// - Returns: A component that sends in that environment. The setter of a computed key runs once, in this call.
    public func environment<Value: Sendable>(
        _ key: any WritableKeyPath<NetworkEnvironment, Value> & Sendable,
        _ value: Value
    ) -> some NetworkingComponent {
        // The key path is applied here and not in each send, where it would cost three times as much as all the rest.
        var environment = NetworkEnvironment()
        environment[keyPath: key] = value
        return modified(EnvironmentValue(environment: environment, name: key.outlined))
    }
}

struct EnvironmentValue: UpstreamLimited, CustomStringConvertible, CustomReflectable {
    /// The default environment with the one value set.
    let environment: NetworkEnvironment
    let name: String

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        try await withEnvironment(NetworkEnvironment.current.merging(environment)) {
            try await upstream.send(request)
        }
    }

    var stackPart: StackPart {
        var part = StackPart()
        part.environment = environment
        return part
    }

    /// The name of the key without its value, which may be a secret.
    var description: String {
        "environment(\(name))"
    }

    var customMirror: Mirror {
        Mirror(self, children: ["key": name])
    }
}
