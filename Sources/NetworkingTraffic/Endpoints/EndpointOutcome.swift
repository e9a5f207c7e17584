import NetworkingCore
import NetworkingResilience

extension EndpointTable.Outcome {
    init(_ response: HTTPResponseData) {
        self.init(CircuitResult(response))
    }

    /// Interprets an error.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - request: The request, as it was sent to the endpoint.
    init(_ error: any Error, of request: HTTPRequestData) {
        // A part further in may have failed at another server, such as that of its tokens.
        if let error = error as? NetworkingError, !error.followsRedirect, error.request.authority != request.authority {
            self = .nothing
        } else {
            self.init(CircuitResult(error, of: request))
        }
    }

    private init(_ result: CircuitResult) {
        self =
            switch result {
            // Any response shows that the endpoint works.
            case .success, .response, .limited: .success
            case .failure: .failure
            case .nothing: .nothing
            }
    }
}
