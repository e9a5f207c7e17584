/// The function that a network client is: it takes a request and answers with a response.
///
/// A component that ends a stack is a *transport* (`URLSession`, ``MockTransport``). Everything else is a
/// ``NetworkingModifier`` around another component, and ``modified(_:)`` makes the two one component again. So a whole
/// client is one value:
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
/// The transport is written first; the modifier written last is the outermost, which sees a request first and its
/// response last.
///
/// Conform to this protocol to write a transport of your own. Conform to ``NetworkingModifier`` for everything that
/// passes requests on.
public protocol NetworkingComponent: RequestOptionReader, Sendable {
    /// Sends a request and returns once the exchange is over.
    ///
    /// When this returns, the whole body has arrived: in ``HTTPResponseData/body``, or in the request's sink.
    ///
    /// A cancelled call ends its transfer and every wait at once, sends nothing more and throws `CancellationError`
    /// itself, neither wrapped nor replaced.
    ///
    /// - Parameter request: The request to send.
    /// - Returns: The response, whatever its status code is.
    /// - Throws: `CancellationError` when the caller was cancelled, ``NetworkingError`` for what this library finds
    ///   wrong, and the errors of other people's components as they are.
    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData

    /// Rewrites a request the way sending it would, without sending it.
    ///
    /// Called once for each send, by the outermost component of a stack, for the whole chain. It is pure: no I/O, no
    /// counting, no look into the environment. The default rewrites nothing.
    ///
    /// - Parameter request: The request to rewrite.
    func resolve(_ request: inout HTTPRequestData)

    /// Tells on whose behalf a request would be sent.
    ///
    /// What remembers responses (caches, deduplication, limits per user) keys on this, wherever in the stack it
    /// stands. The default is nobody.
    ///
    /// - Parameter request: The request in question.
    /// - Returns: The principal, or nil when the request carries nobody's credentials.
    func principal(for request: HTTPRequestData) -> Principal?

    /// The modifiers of the component, outermost first.
    ///
    /// The default is none, as for a transport. A component that sends through another one returns that one's
    /// modifiers, so that ``diagnostics`` covers them.
    var modifiers: [any NetworkingModifier] { get }
}

extension NetworkingComponent {
    /// Rewrites nothing.
    public func resolve(_ request: inout HTTPRequestData) {}

    /// Answers that the request is nobody's.
    public func principal(for request: HTTPRequestData) -> Principal? {
        nil
    }
}
