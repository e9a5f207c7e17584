import HTTPTypes
import NetworkingCore

/// The conclusion about the health of a server from the result of a request.
enum CircuitResult: Sendable {
    /// The server has processed the request.
    case success
    /// The server failed. It may ask clients to wait.
    case failure(CircuitBreaker.Failure, retryAfter: Duration? = nil)
    /// The server refused the request for a reason in the request itself.
    ///
    /// It does not count, but shows a probe that the server responds.
    case response
    /// The server refused the request because there are too many of them.
    ///
    /// It is a response that does not count, and that decides nothing about a probe.
    case limited
    /// The request says nothing about the server.
    case nothing

    /// The statuses of a server that fails, or of a gateway that does not reach it.
    private static let failures: Set<Int> = [500, 502, 503, 504]

    init(_ response: HTTPResponseData) {
        // A failure is stored, so it must not contain the reason phrase, which is text of any length from the network.
        self =
            switch response.status.code {
            case ..<400: .success
            // A server that redirects a request to another one works, whatever the other server does.
            case _ where response.isOfAnotherServer: .success
            case 429: .limited
            case let code where Self.failures.contains(code):
                .failure(.status(HTTPResponse.Status(code: code)), retryAfter: response.retryAfter)
            default: .response
            }
    }

    /// Interprets an error.
    ///
    /// - Parameters:
    ///   - error: The error with which sending the request has failed.
    ///   - request: The request.
    init(_ error: any Error, of request: HTTPRequestData) {
        // An attempt that was cancelled may end with any error.
        guard !(error is CancellationError), !Task.isCancelled, request.exchangeLimit?.isReached != true else {
            self = .nothing
            return
        }
        guard let error = error as? NetworkingError else {
            self = request.response(of: error).map { CircuitResult($0) } ?? .nothing
            return
        }
        // As with a response: a server that redirects a request to another one works.
        guard error.redirect != .anotherServer else {
            self = .success
            return
        }
        self = CircuitResult(error, isOffline: request.isOffline)
    }

    private init(_ error: NetworkingError, isOffline: Bool) {
        // The error may be about another server, such as that of the tokens.
        guard !error.wasNotProcessed else {
            self = .nothing
            return
        }
        self =
            switch error.kind.meaning {
            case .unreachable, .interrupted:
                isOffline || error.isOffline ? .nothing : .failure(.error(error.kind))
            case .untrusted:
                error.isHandshakeFailure && !isOffline ? .failure(.error(error.kind)) : .nothing
            case .answered:
                error.response.map { CircuitResult($0) } ?? .nothing
            // An unreadable body may be the app's mistake, but not that of a response that reports a failure.
            case .unusable:
                error.response.map { CircuitResult($0) }.flatMap { $0.isFailure ? $0 : nil } ?? .nothing
            default:
                .nothing
            }
    }

    var isFailure: Bool {
        if case .failure = self { true } else { false }
    }

    /// Whether the result is one of the calls in the window.
    var isCounted: Bool {
        switch self {
        case .success, .failure: true
        case .response, .limited, .nothing: false
        }
    }

    /// Whether a response has arrived.
    var isResponse: Bool {
        switch self {
        case .success, .response, .limited, .failure(.status, _): true
        case .failure(.error, _), .nothing: false
        }
    }

    var isConnectionFailure: Bool {
        guard case .failure(.error(let kind), _) = self else { return false }
        return switch kind {
        case .nameResolution, .connection, .tls, .connectionLost: true
        default: false
        }
    }

    var retryAfter: Duration? {
        if case .failure(_, let retryAfter) = self { retryAfter } else { nil }
    }
}

extension HTTPRequestData {
    /// Whether the device has no network that could lead to the server.
    fileprivate var isOffline: Bool {
        !isLoopback && NetworkEnvironment.current.connectivity?.status?.isSatisfied == false
    }
}

extension HTTPResponseData {
    /// Whether redirects have led to another server than that of the request.
    fileprivate var isOfAnotherServer: Bool {
        guard let first = redirects.first else { return false }
        return first.request.authorityKey?.text != sentRequest.authorityKey?.text
    }
}
