import FoundationForNetworking
import HTTPTypes

extension NetworkingComponent {
    /// Sends a request and returns its decoded response, together with the response itself.
    ///
    /// ```swift
    /// let (user, response) = try await network.value(.user(id: 42))
    /// ```
    ///
    /// - Parameter request: The request.
    /// - Returns: The value and the response that it was decoded from.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/status`` or ``NetworkingError/Kind/unauthorized``
    ///   if the request does not accept the status, of kind ``NetworkingError/Kind/decoding`` if the body cannot be
    ///   decoded, any other error of ``Request/decode`` unchanged, or the errors of ``data(_:trackedBy:progress:)``.
    public func value<Response: Sendable>(
        _ request: Request<Response>
    ) async throws -> (body: Response, response: HTTPResponseData) {
        try await value(of: request, sending: prepared(request.http))
    }

    /// Sends a request that ``routed(_:keepingUsers:)`` of this stack has returned, and decodes the response as
    /// ``value(_:)-(Request<Response>)`` does.
    package func value<Response: Sendable>(
        _ request: Request<Response>,
        routed: HTTPRequestData
    ) async throws -> (body: Response, response: HTTPResponseData) {
        try await value(of: request, sending: prepared(routed: routed))
    }

    // Inlined, because a call of an async function costs as much as a layer of a stack.
    @inline(__always)
    private func value<Response: Sendable>(
        of request: Request<Response>,
        sending underway: HTTPRequestData
    ) async throws -> (body: Response, response: HTTPResponseData) {
        let response = try await carry(underway, for: request.http)
        // The rewritten request decides, because the stack may accept more statuses than its caller.
        guard underway.acceptedStatuses.contains(response.status) else {
            throw NetworkingError.refusedStatus(of: response)
        }
        // A short body is decoded on the caller's executor: a switch costs 14 us, as much as decoding a few kilobytes.
        let body =
            response.data.count > 16_384
            ? try await decodeElsewhere(request, from: response) : try decodeHere(request, from: response)
        return (body, response)
    }

    /// Sends a request and returns its decoded body, together with the response.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - type: The type to decode.
    ///   - decoder: The decoder; `nil` uses that of the request or the stack, and then a plain `JSONDecoder`.
    /// - Returns: The value and the response that it was decoded from.
    /// - Throws: The errors of ``value(_:)-(Request<Response>)``.
    public func value<Body: Decodable & Sendable>(
        _ request: HTTPRequestData,
        as type: Body.Type,
        decoder: (any BodyDecoder)? = nil
    ) async throws -> (body: Body, response: HTTPResponseData) {
        try await value(Request<Body>(request, decoder: decoder))
    }

    /// Sends a request and returns its decoded response.
    ///
    /// - Parameter request: The request.
    /// - Returns: The value.
    /// - Throws: The errors of ``value(_:)-(Request<Response>)``.
    public func request<Response: Sendable>(_ request: Request<Response>) async throws -> Response {
        try await value(request).body
    }

    /// Sends a request and returns its decoded body.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - type: The type to decode.
    ///   - decoder: The decoder; `nil` uses that of the request or the stack, and then a plain `JSONDecoder`.
    /// - Returns: The value.
    /// - Throws: The errors of ``value(_:)-(Request<Response>)``.
    public func request<Body: Decodable & Sendable>(
        _ request: HTTPRequestData,
        as type: Body.Type,
        decoder: (any BodyDecoder)? = nil
    ) async throws -> Body {
        try await value(request, as: type, decoder: decoder).body
    }
}

extension NetworkingComponent {
    /// Sends a request and returns its response, if the request accepts the status.
    ///
    /// ```swift
    /// try await network.perform(.delete("users/\(id)"))
    /// ```
    ///
    /// Unlike ``data(_:trackedBy:progress:)``, it throws an error for a status that is not accepted. A failure is
    /// therefore noticed even if the app does not read the response.
    ///
    /// - Parameter request: The request.
    /// - Returns: The response.
    /// - Throws: The errors of ``value(_:)-(Request<Response>)``, without those of decoding.
    @discardableResult
    public func perform(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await value(Request<HTTPResponseData>(request) { $0 }).body
    }

    /// Sends a request and returns its decoded response, or the error of the call.
    ///
    /// ```swift
    /// switch await network.result(of: .user(id: 42)) {
    /// case .success(let user): show(user)
    /// case .failure(let error) where error.isCancelled: break
    /// case .failure(let error): show(error.localizedDescription)
    /// }
    /// ```
    ///
    /// - Parameter request: The request.
    /// - Returns: The value, or the error that ``value(_:)-(Request<Response>)`` throws; `CancellationError` if the
    ///   caller was cancelled.
    public func result<Response: Sendable>(of request: Request<Response>) async -> Result<Response, any Error> {
        do {
            return .success(try await value(request).body)
        } catch {
            return .failure(error)
        }
    }

    /// Sends a request and returns its response, whatever the status, or the error of the call.
    ///
    /// - Parameter request: The request.
    /// - Returns: The response, or the error that ``data(_:trackedBy:progress:)`` throws.
    public func result(of request: HTTPRequestData) async -> Result<HTTPResponseData, any Error> {
        do {
            return .success(try await data(request))
        } catch {
            return .failure(error)
        }
    }
}

@concurrent
private func decodeElsewhere<Response: Sendable>(
    _ request: Request<Response>,
    from response: HTTPResponseData
) async throws -> Response {
    try decodeHere(request, from: response)
}

private func decodeHere<Response>(_ request: Request<Response>, from response: HTTPResponseData) throws -> Response {
    do {
        return try request.decode(response)
    } catch let error as DecodingError {
        throw NetworkingError.undecodable(response, as: Response.self, error)
    } catch {
        // An error of the app's own decoding or transform is not replaced.
        throw error
    }
}
