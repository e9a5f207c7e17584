extension NetworkingComponent {
    /// Sets how requests that do not say so are to be authenticated.
    ///
    /// - Parameters:
    ///   - method: The method; the modifier of that method, upstream, acts on it.
    ///   - overriding: Whether it replaces the method of requests that name one.
    /// - Returns: A component that sends requests with that method.
    public func server(
        authenticationMethod method: AuthenticationMethod,
        overriding: Bool = false
    ) -> some NetworkingComponent {
        modified(
            Server("authenticationMethod: \(method.rawValue)\(overriding.setting)") { request in
                if overriding || request.authenticationMethod == nil {
                    request.authenticationMethod = method
                }
            }
        )
    }
}
