extension NetworkingComponent {
    /// Throws an error for responses with a status that the request does not accept.
    ///
    /// ```swift
    /// let network = URLSession.shared.checkedStatusCode { response in
    ///     response.status == .notFound ? ShopError.noSuchProduct : nil
    /// }
    /// ```
    ///
    /// Without this modifier, `data` returns any response, while `value` always checks the status. Other parts of the
    /// stack find the response of a custom error with ``HTTPRequestData/response(of:)``, so `retry`, `authenticated`,
    /// `cached` and an outbox decide by what the server said, whichever error is thrown. Place it outside of
    /// `authenticated` and `retry` nevertheless, so that an error keeps the attempts before it.
    ///
    /// - Parameter error: Creates a custom error for a refused response; `nil`, or a result of `nil`, uses the
    ///   library's.
    /// - Returns: A component that throws a ``NetworkingError`` of kind ``NetworkingError/Kind/unauthorized`` for 401
    ///   and of kind ``NetworkingError/Kind/status`` for any other status outside ``HTTPRequestData/acceptedStatuses``,
    ///   or the error of `error`.
    public func checkedStatusCode(
        _ error: (@Sendable (HTTPResponseData) -> (any Error)?)? = nil
    ) -> some NetworkingComponent {
        modified(CheckedStatusCode(error: error))
    }
}

extension NetworkingComponent {
    /// Throws the server's own description of a problem for responses with a status that the request does not accept.
    ///
    /// ```swift
    /// struct Problem: Error, Decodable {
    ///     let code: Int
    ///     let message: String
    /// }
    ///
    /// let network = URLSession.shared.retry().checkedStatusCode(as: Problem.self)
    /// do {
    ///     try await network.perform(.post("orders", body: .json(order)))
    /// } catch let problem as Problem {
    ///     show(problem.message)
    /// }
    /// ```
    ///
    /// Place it as ``checkedStatusCode(_:)``. A body that does not decode is reported as that modifier reports it, so
    /// that the response is not lost.
    ///
    /// - Parameters:
    ///   - type: The type of the errors.
    ///   - decoder: The decoder; `nil` uses that of the request or the stack, and then a plain `JSONDecoder`.
    /// - Returns: A component that throws a value of the type, or the errors of ``checkedStatusCode(_:)``.
    public func checkedStatusCode<Problem: Error & Decodable & SendableMetatype>(
        as type: Problem.Type,
        decoder: (any BodyDecoder)? = nil
    ) -> some NetworkingComponent {
        checkedStatusCode { try? $0.decodeBody(as: Problem.self, by: decoder) }
    }

    /// Throws an error made from the server's own description of a problem for responses with a status that the request
    /// does not accept.
    ///
    /// ```swift
    /// let network = URLSession.shared.checkedStatusCode(as: Problem.self) { problem, response in
    ///     ShopError(code: problem.code, status: response.status.code)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type to decode the body into.
    ///   - decoder: The decoder; `nil` uses that of the request or the stack, and then a plain `JSONDecoder`.
    ///   - transform: Creates the error from the decoded body and the response.
    /// - Returns: A component that throws these errors, or those of ``checkedStatusCode(_:)`` if a body does not
    ///   decode.
    public func checkedStatusCode<Body: Decodable & SendableMetatype>(
        as type: Body.Type,
        decoder: (any BodyDecoder)? = nil,
        transform: @escaping @Sendable (Body, HTTPResponseData) -> any Error
    ) -> some NetworkingComponent {
        checkedStatusCode { response in
            (try? response.decodeBody(as: Body.self, by: decoder)).map { transform($0, response) }
        }
    }
}

struct CheckedStatusCode: UpstreamLimited, CustomStringConvertible {
    let error: (@Sendable (HTTPResponseData) -> (any Error)?)?

    // Inlined into its witness, so that a call has one frame less.
    @inline(__always)
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        if error != nil {
            request.refusedResponse?.clear()
        }
        return try checked(await upstream.send(request), for: request)
    }

    // Not inlined, because its values would take memory in every call that waits for its response.
    @inline(never)
    private func checked(_ response: HTTPResponseData, for request: HTTPRequestData) throws -> HTTPResponseData {
        guard !request.acceptedStatuses.contains(response.status) else { return response }
        guard let error = error?(response) else { throw NetworkingError.refusedStatus(of: response) }
        request.refusedResponse?.record(response, as: error)
        throw error
    }

    func resolve(_ request: inout HTTPRequestData) {
        // Set here, because the parts further out look for the response when they receive the error.
        if error != nil, request.refusedResponse == nil {
            request.refusedResponse = RefusedResponse()
        }
    }

    var description: String {
        "checkedStatusCode"
    }
}
