/// A component of a network client: it sends a request and returns a response.
///
/// A component that ends a stack is a *transport* (`URLSession`, ``MockTransport``). Everything else is a
/// ``NetworkingModifier`` around another component; ``modified(_:)`` combines the two into one component. A whole
/// client is therefore one value:
///
/// ```swift
/// let network = URLSession.shared
///     .timeout(.seconds(10))
///     .logged()
///     .server(authority: "api.example.com")
///
/// let response = try await network.data(HTTPRequestData(path: "hello"))
/// ```
///
/// The transport is written first. The modifier that is written last is the outermost one: it receives a request first
/// and its response last.
///
/// Conform to ``NetworkingTransport`` to write a transport of your own, and to ``NetworkingModifier`` for a part that
/// passes requests on. A component of your own that sends through another one names it in a property `upstream`, which
/// links the two into one stack. The rest follows from the link:
///
/// ```swift
/// struct Tagged: NetworkingComponent {
///     let upstream: any NetworkingComponent
///
///     func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
///         var request = request
///         request.headerFields[.accept] = "application/json"
///         return try await upstream.send(request)
///     }
/// }
/// ```
///
/// The property may have any type of component, optional or not. A component without it is a transport.
public protocol NetworkingComponent: _ComponentDeclarations, Sendable {
    /// Sends a request and returns its response when the exchange is complete.
    ///
    /// When this method returns, the whole body has arrived, either in ``HTTPResponseData/body`` or in the request's
    /// sink.
    ///
    /// If the call is cancelled, its transfer and every wait end at once. Nothing more is sent, and the call throws
    /// `CancellationError`, neither wrapped nor replaced.
    ///
    /// - Parameter request: The request to send.
    /// - Returns: The response, whatever its status code is.
    /// - Throws: `CancellationError` if the caller was cancelled, ``NetworkingError`` for failures that this library
    ///   detects, and the errors of other components unchanged.
    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData

    /// Rewrites a request as sending it would, without sending it.
    ///
    /// The outermost component of a stack calls this once for each send, for the whole chain. The method is pure: it
    /// does no I/O, counts nothing and does not read the environment. The default rewrites the request as the upstream
    /// component does, and a transport rewrites nothing.
    ///
    /// - Parameter request: The request to rewrite.
    func resolve(_ request: inout HTTPRequestData)

    /// Returns the principal (the user or service) that a request would be sent for.
    ///
    /// Caches, deduplication and per-user limits use it as part of their key, at every place in the stack. The default
    /// returns the principal of the upstream component, and `nil` for a transport.
    ///
    /// - Parameter request: The request.
    /// - Returns: The principal, or `nil` if the request carries no credentials.
    func principal(for request: HTTPRequestData) -> Principal?
}

extension NetworkingComponent {
    /// Rewrites a request as the upstream component does.
    public func resolve(_ request: inout HTTPRequestData) {
        next?.resolve(&request)
    }

    /// Returns the principal of the upstream component; `nil` for a transport.
    public func principal(for request: HTTPRequestData) -> Principal? {
        next?.principal(for: request)
    }
}

// A transport is asked for each request, so it does not look for an upstream.
extension NetworkingComponent where _Upstream == Never? {
    /// Rewrites nothing.
    public func resolve(_ request: inout HTTPRequestData) {}

    /// Returns `nil`.
    public func principal(for request: HTTPRequestData) -> Principal? {
        nil
    }
}
