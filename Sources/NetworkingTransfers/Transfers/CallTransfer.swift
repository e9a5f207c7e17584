public import NetworkingCore

extension NetworkingComponent {
    /// Starts to send a request and returns a handle to the call, which accepts any status code.
    ///
    /// ```swift
    /// let call = network.transfer(request)
    /// stopButton.action = { call.cancel() }
    /// let response = try await call.value
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - group: Retains the call until it ends, counts it, and can cancel it; `nil` if it belongs to no group.
    /// - Returns: The handle. Releasing it cancels the call, unless a group retains it. Its value is the response, or
    ///   the error that `data` throws.
    public func transfer(_ request: HTTPRequestData, in group: TransferGroup? = nil) -> Transfer<HTTPResponseData> {
        Transfer(of: notingUsers(of: request), in: group) { try await data($0) }
    }

    /// Starts to send a request and returns a handle to the call.
    ///
    /// Its value is the decoded response.
    ///
    /// - Parameters:
    ///   - request: The request, and how to decode its response.
    ///   - group: Retains the call until it ends, counts it, and can cancel it; `nil` if it belongs to no group.
    /// - Returns: The handle. Releasing it cancels the call, unless a group retains it. Its value is the decoded value
    ///   and the response, or the error that `value` throws.
    public func transfer<Response: Sendable>(
        _ request: Request<Response>,
        in group: TransferGroup? = nil
    ) -> Transfer<(body: Response, response: HTTPResponseData)> {
        Transfer(of: notingUsers(of: request.http), in: group) { http in
            var watched = request
            watched.http = http
            return try await value(watched)
        }
    }
}
