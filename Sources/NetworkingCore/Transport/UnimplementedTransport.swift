/// The transport of a stack that has none: every request fails and says so.
///
/// It is the default for what an app or a test has yet to provide.
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
    /// - Parameter label: What is missing, for the message.
    public init(_ label: String = "a transport") {
        self.label = label
    }

    /// Names an authority that leads nowhere, so that a relative request fails for the reason that matters.
    ///
    /// The stack that was never provided would have named its server.
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
            reason: "Nothing is there to send it: \(label) was never provided. "
                + "Provide URLSession.shared, or a MockTransport in a test."
        )
    }
}

extension UnimplementedTransport: CustomStringConvertible {
    /// The line of an outline.
    public var description: String {
        "UnimplementedTransport"
    }
}
