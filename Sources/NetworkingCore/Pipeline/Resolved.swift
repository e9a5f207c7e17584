extension NetworkingComponent {
    /// Shows a request as the transport would get it, before what a send adds (tokens, validators).
    ///
    /// Nothing is sent, and nothing is checked.
    ///
    /// ```swift
    /// network.resolved(HTTPRequestData(path: "hello")).url   // https://api.example.com/v1/hello
    /// ```
    ///
    /// - Parameter request: The request.
    /// - Returns: The request, rewritten by the whole chain. Sending it does not rewrite it again.
    public func resolved(_ request: HTTPRequestData) -> HTTPRequestData {
        var request = request
        request.resolve(by: self)
        return request
    }

    /// The authority that the stack fills in; nil when it names none.
    public var authority: String? {
        resolved(HTTPRequestData()).authority
    }
}
