extension NetworkingComponent {
    /// Throws an error for responses whose status the request does not accept.
    ///
    /// ```swift
    /// let network = URLSession.shared.checkedStatusCode { response in
    ///     response.status == .notFound ? ShopError.noSuchProduct : nil
    /// }
    /// ```
    ///
    /// Without this modifier, `data` returns any response, while `value` always checks the status. Place it outside of
    /// `retry`, which decides by responses. Inside, `retry` reads the response from the error.
    ///
    /// - Parameter error: Creates a custom error for a refused response; `nil` uses the library's.
    /// - Returns: A component that throws a ``NetworkingError`` of kind ``NetworkingError/Kind/unauthorized`` for 401
    ///   and of kind ``NetworkingError/Kind/status`` for any other status outside ``HTTPRequestData/acceptedStatuses``,
    ///   or the error of `error`.
    public func checkedStatusCode(
        _ error: @escaping @Sendable (HTTPResponseData) -> (any Error)? = { _ in nil }
    ) -> some NetworkingComponent {
        modified(CheckedStatusCode(error: error))
    }
}

struct CheckedStatusCode: NetworkingModifier, CustomStringConvertible {
    let error: @Sendable (HTTPResponseData) -> (any Error)?

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        let response = try await upstream.send(request)
        guard !request.acceptedStatuses.contains(response.status) else { return response }
        throw error(response) ?? NetworkingError.refusedStatus(of: response)
    }

    var description: String {
        "checkedStatusCode"
    }
}
