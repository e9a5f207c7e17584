#if Crypto
public import Networking

extension AWSSigner {
    /// Signs a request in its query, for somebody else to send.
    ///
    /// ```swift
    /// let request = HTTPRequestData(url: URL(string: "https://bucket.s3.eu-central-1.amazonaws.com/film.mov")!)
    /// let link = try await signer.presigned(request, lifetime: .seconds(3600)).url
    /// ```
    ///
    /// Whoever has the URL can send the request until the lifetime is over, and no longer than the credentials are
    /// good. Header fields of the request are signed too, and have to be sent with it. The body is not signed for S3;
    /// for other services it is, unless the option `payload` says otherwise. The request hides the signature where it
    /// is printed, its URL does not.
    ///
    /// - Parameters:
    ///   - request: The request, with its authority.
    ///   - lifetime: How long the signature holds: a second to seven days, in whole seconds.
    /// - Returns: The request, with the signature in its query in place of any that was there.
    /// - Throws: `NetworkingError.Kind.invalidRequest` without an authority, and what ``sign(_:)`` throws.
    public func presigned(
        _ request: HTTPRequestData,
        lifetime: Duration = .seconds(900)
    ) async throws -> HTTPRequestData {
        guard request.authority != nil else {
            throw NetworkingError(
                .invalidRequest,
                request: request,
                reason: "The request has no authority, which its signature covers. Give it a whole URL."
            )
        }
        var request = request
        try await signQuery(of: &request, for: lifetime)
        // Whoever sends it, it is not signed anew.
        request[option: ClockReading.self] = nil
        return request
    }
}
#endif
