/// A transport for a stack that has none yet: every request fails with an error that says so.
///
/// Use it as the default for a network that an app or a test provides later.
///
/// ```swift
/// struct Profiles {
///     var network: any NetworkingComponent = UnimplementedTransport()
/// }
/// ```
public struct UnimplementedTransport: NetworkingComponent {
    private let label: String

    /// Creates a transport that fails.
    ///
    /// - Parameter label: The name of the missing transport, for the message.
    public init(_ label: String = "a transport") {
        self.label = label
    }

    /// Sets a placeholder authority, so that a relative request fails because of the missing transport.
    ///
    /// Without it, the request would fail because of its missing server.
    public func resolve(_ request: inout HTTPRequestData) {
        if request.authority == nil {
            request.authority = "unimplemented.invalid"
        }
    }

    /// Fails with ``NetworkingError/Kind/unimplemented``.
    public func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        throw NetworkingError(
            .unimplemented,
            request: request,
            reason: "The request cannot be sent because \(label) was never provided. Provide URLSession.shared, or a "
                + "MockTransport in a test."
        )
    }
}

extension UnimplementedTransport: CustomStringConvertible {
    /// The line of an outline.
    public var description: String {
        "UnimplementedTransport"
    }
}
