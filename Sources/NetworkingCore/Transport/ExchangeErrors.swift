import FoundationForNetworking
import HTTPTypes

/// Errors of exchanges, with the same texts for every transport.
extension HTTPRequestData {
    /// The error for a response that is not HTTP.
    package var invalidResponse: NetworkingError {
        NetworkingError(.invalidResponse, request: self)
    }

    /// The error for a body that ended before the length that its head announced.
    package func truncated(
        _ head: HTTPResponse,
        received: Int64,
        of expected: Int64,
        underlying: (any Error)? = nil
    ) -> NetworkingError {
        NetworkingError(
            .truncated,
            request: self,
            response: response(with: head),
            underlying: underlying,
            reason: "The body ended after \(received) of \(expected) bytes. Try again if the request may be repeated."
        )
    }

    /// The error for a compressed body that exceeds the decompression limit.
    package func decompressionLimitExceeded(_ head: HTTPResponse?, after received: Int64) -> NetworkingError {
        NetworkingError(
            .tooLarge,
            request: self,
            response: head.map { response(with: $0) },
            reason: "The decompressed body exceeds decompressionLimit; the exchange was cancelled after \(received) "
                + "bytes. Raise the limit if you trust this server."
        )
    }

    /// The response of an exchange that failed after its head, without the body.
    package func response(with head: HTTPResponse) -> HTTPResponseData {
        HTTPResponseData(request: self, http: head, body: .collected(Data()))
    }

    /// The reason for a body that cannot be decoded.
    ///
    /// Pass `nil` for a coding that the head does not name, which may be a transfer coding.
    package static func undecodable(_ coding: String?) -> String {
        guard let coding else {
            return
                "The body is not valid in its Content-Encoding or Transfer-Encoding, or this transport cannot decode "
                + "it."
        }
        return
            "The body is not valid in its Content-Encoding, \(PrintableText.singleLine(coding)), or this transport "
            + "cannot decode it."
    }

    /// The reason for a chunked body that was cut off.
    package static let endedBetweenChunks =
        "The body ended before its last chunk. Try again if the request may be repeated."

    /// Returns the reason for a connection that could not be secured.
    ///
    /// - Parameter detail: The cause, as the TLS library describes it.
    /// - Returns: The reason.
    package static func unsecured(_ detail: String) -> String {
        "No secure connection to the server could be made (\(detail)). "
            + "Check its certificate and the clock of this device."
    }
}

extension HTTPResponse {
    /// Whether a body may follow this head (RFC 9112 section 6.3).
    package func hasBody(inResponseTo method: HTTPRequest.Method) -> Bool {
        method != .head && status.code >= 200 && status.code != 204 && status.code != 304
    }
}
