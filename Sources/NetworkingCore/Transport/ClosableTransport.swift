/// A transport with connections of its own, which can be closed before it is released.
///
/// A shutdown of a stack finds it in the chain (``NetworkingComponent/closableTransports``) and shuts it down. A
/// transport over a client that belongs to the app does not conform, because the app decides when to close that client.
///
/// ```swift
/// final class SocketTransport: ClosableTransport {
///     private let socket = Connection()
///     private let isOpen = Mutex(true)
///
///     func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
///         guard isOpen.withLock({ $0 }) else { throw NetworkingError(.rejected, request: request) }
///         return HTTPResponseData(request: request)
///     }
///
///     func shutdown() async throws {
///         isOpen.withLock { $0 = false }
///         socket.close()
///     }
/// }
/// ```
public protocol ClosableTransport: AnyObject, NetworkingTransport {
    /// Rejects new exchanges with an error of kind ``NetworkingError/Kind/rejected``, and closes the connections.
    ///
    /// Running exchanges may end first. If the caller is cancelled, the transport waits for them no longer. A second
    /// call does nothing.
    ///
    /// - Throws: The error of a connection that could not be closed.
    func shutdown() async throws
}

extension NetworkingComponent {
    /// The transports of the stack that can be shut down.
    public var closableTransports: [any ClosableTransport] {
        chain.compactMap { $0 as? any ClosableTransport }
    }
}

extension HTTPRequestData {
    /// The error of a transport that accepts no more exchanges.
    package var transportIsShutDown: NetworkingError {
        NetworkingError(
            .rejected,
            request: self,
            underlying: RefusedUse(textOf: .unimplemented),
            reason: "This transport has been shut down. Shut it down after the last request, or create another one."
        )
    }
}
