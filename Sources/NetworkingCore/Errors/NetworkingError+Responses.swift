import FoundationForNetworking
package import HTTPTypes

extension NetworkingError {
    /// The error for a response with a status that the request does not accept.
    package static func refusedStatus(of response: HTTPResponseData) -> NetworkingError {
        let isUnauthorized = response.status.code == 401
        return NetworkingError(
            isUnauthorized ? .unauthorized : .status,
            request: response.sentRequest,
            response: response,
            reason: isUnauthorized ? nil : "The server responded with \(response.status.text). The body may say why."
        )
    }

    /// The error for a body that exceeds its maximum length.
    package static func tooLarge(_ request: HTTPRequestData, head: HTTPResponse, limit: Int64) -> NetworkingError {
        NetworkingError(
            .tooLarge,
            request: request,
            response: HTTPResponseData(request: request, http: head, body: .collected(Data())),
            reason: "The body is longer than \(limit) bytes. Raise maximumResponseBytes, or send the body to a sink."
        )
    }

    /// The error of a call that exceeded its time limit.
    package static func deadlineExceeded(
        _ limit: Duration,
        kind: Kind = .deadline,
        by request: HTTPRequestData,
        underlying: (any Error)? = nil
    ) -> NetworkingError {
        NetworkingError(
            kind,
            request: request,
            underlying: underlying,
            reason: "The call was not complete within \(limit.roundedText), including all attempts and waits."
        )
    }
}
