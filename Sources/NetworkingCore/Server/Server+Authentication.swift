extension NetworkingComponent {
    /// Sets the authentication method of requests that have none.
    ///
    /// - Parameters:
    ///   - method: The method; the modifier of that method, upstream, acts on it.
    ///   - overriding: Whether it replaces the method of requests that have one.
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
