#if Crypto
public import NetworkingCore

extension AWSSigner {
    /// Returns a request signed in its query, so that other clients can send it.
    ///
    /// ```swift
    /// let request = HTTPRequestData(url: URL(string: "https://bucket.s3.eu-central-1.amazonaws.com/film.mov")!)
    /// let link = try await signer.presigned(request, lifetime: .seconds(3600)).url
    /// ```
    ///
    /// Any client with the URL can send the request until the lifetime ends or the credentials expire, whichever is
    /// first. Header fields of the request are signed too, and must be sent with it. For S3 the body is not signed; for
    /// other services it is, unless the option `payload` differs. Printing the request redacts the signature; printing
    /// its URL does not.
    ///
    /// - Parameters:
    ///   - request: The request, with its authority.
    ///   - lifetime: The lifetime of the signature: one second to seven days, in whole seconds.
    /// - Returns: The request, with the signature in its query, replacing any earlier one.
    /// - Throws: `NetworkingError.Kind.invalidRequest` without an authority, and the errors of ``sign(_:)``.
    public func presigned(
        _ request: HTTPRequestData,
        lifetime: Duration = .seconds(900)
    ) async throws -> HTTPRequestData {
        guard request.authority != nil else {
            throw NetworkingError(
                .invalidRequest,
                request: request,
                reason: "The request has no authority, which its signature covers. Give it a complete URL."
            )
        }
        var request = request
        try await signQuery(of: &request, for: lifetime)
        // The signer does not renew this signature, so a refusal must not lead to another attempt.
        request[.clockReading] = nil
        return request
    }
}
#endif
