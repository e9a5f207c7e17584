/// What the end of a stack says about itself: the options that it reads, its diagnostics and its connections.
///
/// ``NetworkingTransport`` includes it. Conform to it for a component that ends a stack and is no such transport.
public protocol TransportDescribing: NetworkingComponent, RequestOptionReader {
    /// The request options that the transport reads.
    ///
    /// The default is none.
    var requestOptions: Set<RequestOptionKey> { get }

    /// Returns the probable mistakes in the configuration of the transport, such as a host with a single pin.
    ///
    /// ``NetworkingComponent/diagnostics`` includes them. The default returns none.
    ///
    /// ```swift
    /// struct ProxyTransport: NetworkingTransport {
    ///     let proxy: URL?
    ///
    ///     func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
    ///         throw NetworkingError(.connection, request: request)
    ///     }
    ///
    ///     func transportDiagnostics(below modifiers: [any NetworkingModifier]) -> [StackDiagnostic] {
    ///         proxy == nil ? [StackDiagnostic("No proxy is set. Pass one.", aboutTransport: self)] : []
    ///     }
    /// }
    /// ```
    ///
    /// - Parameter modifiers: The modifiers of the whole stack, the outermost first.
    /// - Returns: The diagnostics.
    func transportDiagnostics(below modifiers: [any NetworkingModifier]) -> [StackDiagnostic]

    /// Returns the reason why a request may have waited for a connection, and a way to solve it.
    ///
    /// A transport with a limited number of connections returns it. The error of a `timeout` contains it. Such a
    /// transport also reports the wait, with `request.waiting(.connection) { … }`. The default returns `nil`.
    ///
    /// - Parameter request: The request, which has exceeded a time limit.
    /// - Returns: The reason; `nil` if it is not known.
    func connectionShortage(for request: HTTPRequestData) -> String?
}

extension TransportDescribing {
    /// No option.
    public var requestOptions: Set<RequestOptionKey> {
        []
    }

    /// Returns none.
    public func transportDiagnostics(below modifiers: [any NetworkingModifier]) -> [StackDiagnostic] {
        []
    }

    /// Returns `nil`.
    public func connectionShortage(for request: HTTPRequestData) -> String? {
        nil
    }
}
