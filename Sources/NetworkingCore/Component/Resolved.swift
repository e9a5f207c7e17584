extension NetworkingComponent {
    /// Returns a request as the transport would receive it, without the parts that a send adds (tokens, validators).
    ///
    /// The request is neither sent nor checked.
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

    /// The authority that the stack fills in; `nil` if the stack names none.
    public var authority: String? {
        resolved(HTTPRequestData()).authority
    }
}
