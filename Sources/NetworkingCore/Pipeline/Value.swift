import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension NetworkingComponent {
    /// Sends a request and returns what its response decodes to, with the response.
    ///
    /// ```swift
    /// let (user, response) = try await network.value(.user(id: 42))
    /// ```
    ///
    /// - Parameter request: The request.
    /// - Returns: The value and the response that it was decoded from.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/status`` or
    ///   ``NetworkingError/Kind/unauthorized`` when the status is not among the request's accepted ones, of kind
    ///   ``NetworkingError/Kind/decoding`` when the body does not decode, and what ``data(_:progress:)`` throws.
    public func value<Response: Sendable>(
        _ request: Request<Response>
    ) async throws -> (body: Response, response: HTTPResponseData) {
        // Asked of the request as the chain rewrites it: a stack may accept more than its caller knows of.
        let resolved = resolved(request.http)
        var response = try await begin(resolved)
        response.request = request.http
        guard resolved.acceptedStatuses.contains(response.status) else {
            throw NetworkingError.refusedStatus(of: response)
        }
        // Off the caller's executor only when that pays: the trip costs 14 us, as much as decoding some kilobytes.
        let body =
            response.data.count > 16_384
            ? try await decodeElsewhere(request, from: response) : try decodeHere(request, from: response)
        return (body, response)
    }

    /// Sends a request and returns its body decoded, with the response.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - type: The type to decode.
    ///   - decoder: The decoder; a plain `JSONDecoder` by default.
    /// - Returns: The value and the response that it was decoded from.
    /// - Throws: What ``value(_:)`` throws.
    public func value<Body: Decodable & Sendable>(
        _ request: HTTPRequestData,
        as type: Body.Type,
        decoder: any BodyDecoder = JSONDecoder()
    ) async throws -> (body: Body, response: HTTPResponseData) {
        try await value(Request<Body>(request, decoder: decoder))
    }

    /// Sends a request and returns what its response decodes to.
    ///
    /// - Parameter request: The request.
    /// - Returns: The value.
    /// - Throws: What ``value(_:)`` throws.
    public func request<Response: Sendable>(_ request: Request<Response>) async throws -> Response {
        try await value(request).body
    }

    /// Sends a request and returns its body decoded.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - type: The type to decode.
    ///   - decoder: The decoder; a plain `JSONDecoder` by default.
    /// - Returns: The value.
    /// - Throws: What ``value(_:)`` throws.
    public func request<Body: Decodable & Sendable>(
        _ request: HTTPRequestData,
        as type: Body.Type,
        decoder: any BodyDecoder = JSONDecoder()
    ) async throws -> Body {
        try await value(request, as: type, decoder: decoder).body
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
        // A transform that says what is wrong in its own terms is not covered up.
        throw error
    }
}

extension NetworkingError {
    /// The error for a response whose status the request does not accept.
    package static func refusedStatus(of response: HTTPResponseData) -> NetworkingError {
        let isUnauthorized = response.status.code == 401
        return NetworkingError(
            isUnauthorized ? .unauthorized : .status,
            request: response.sentRequest,
            response: response,
            reason: isUnauthorized ? nil : "The server answered \(response.status.text). Its body may say why."
        )
    }
}
