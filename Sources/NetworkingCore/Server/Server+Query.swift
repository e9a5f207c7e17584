extension NetworkingComponent {
    /// Encodes the query of each request to the stack's server in one encoding, for servers that require it.
    ///
    /// ```swift
    /// let network = URLSession.shared.server(queryEncoding: .form)   // a space becomes +
    /// ```
    ///
    /// Every item is decoded and encoded again. Without this modifier, a query is sent as it was created. A request
    /// with its own authority keeps its query.
    ///
    /// - Parameter encoding: The encoding.
    /// - Returns: A component that sends requests with their query in that encoding.
    public func server(queryEncoding encoding: QueryEncoding) -> some NetworkingComponent {
        modified(
            Server("queryEncoding: \(encoding)") { request in
                if request.isRelative {
                    request.query.reencode(with: encoding)
                }
            }
        )
    }
}
