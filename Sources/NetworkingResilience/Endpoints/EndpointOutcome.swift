import NetworkingCore

extension EndpointTable.Outcome {
    /// The statuses of a server that fails, or of a gateway that does not reach it.
    private static let failures: StatusSet = [500, 502, 503, 504]

    init(_ response: HTTPResponseData) {
        // Any other response shows that the endpoint works.
        self = Self.failures.contains(response.status) ? .failure : .success
    }

    /// Interprets an error.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - request: The request, as it was sent to the endpoint.
    init(_ error: any Error, of request: HTTPRequestData) {
        // An attempt that was cancelled may end with any error.
        guard !(error is CancellationError), !Task.isCancelled, request.exchangeLimit?.isReached != true else {
            self = .nothing
            return
        }
        guard let error = error as? NetworkingError else {
            self = request.response(of: error).map { EndpointTable.Outcome($0) } ?? .nothing
            return
        }
        // A part further in may have failed at another server, such as that of its tokens.
        guard !error.wasNotProcessed, !error.followsRedirect, error.request.authority == request.authority else {
            self = .nothing
            return
        }
        let isOffline = error.isOffline || request.isOffline
        self =
            switch error.kind.meaning {
            case .unreachable, .interrupted: isOffline ? .nothing : .failure
            case .untrusted: error.isHandshakeFailure && !isOffline ? .failure : .nothing
            case .answered, .unusable: error.response.map { EndpointTable.Outcome($0) } ?? .nothing
            default: .nothing
            }
    }
}

extension HTTPRequestData {
    /// Whether the device has no network that could lead to the server.
    fileprivate var isOffline: Bool {
        guard let status = NetworkEnvironment.current.connectivity?.status else { return false }
        return !isLoopback && !status.isSatisfied
    }
}
