#if URLSession
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import HTTPTypes

extension HTTPRequestData {
    /// The error for an answer that is not HTTP.
    var invalidAnswer: NetworkingError {
        NetworkingError(.invalidResponse, request: self)
    }

    /// The error for a body that ended before the length that its head announced.
    func truncated(_ head: HTTPResponse, received: Int64, of expected: Int64) -> NetworkingError {
        NetworkingError(
            .truncated,
            request: self,
            response: HTTPResponseData(request: self, http: head, body: .collected(Data())),
            reason: "The body ended after \(received) of \(expected) bytes. Try again if the request may be repeated."
        )
    }

    /// The library's error for one of URLSession's, which it keeps.
    func error(
        for error: any Error,
        after head: HTTPResponse?,
        received: Int64,
        of expected: Int64?
    ) -> NetworkingError {
        let code = (error as? URLError)?.code ?? .unknown
        // swift-corelibs-foundation has no code of its own for a body that ends early.
        if let head, let expected, received < expected, code == .unknown || code == .networkConnectionLost {
            return truncated(head, received: received, of: expected)
        }
        return NetworkingError(
            NetworkingError.Kind(code, isAfterHead: head != nil),
            request: self,
            response: head.map { HTTPResponseData(request: self, http: $0, body: .collected(Data())) },
            underlying: error,
            reason: code == .dataLengthExceedsMaximum
                ? "This platform's URLSession sends no body with \(method). Use another method, or another transport."
                : nil
        )
    }
}

extension NetworkingError.Kind {
    fileprivate init(_ code: URLError.Code, isAfterHead: Bool) {
        switch code {
        case .timedOut:
            self = .timeout
        case .cannotFindHost, .dnsLookupFailed:
            self = .nameResolution
        case .cannotConnectToHost:
            self = .connection
        case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive:
            self = .offline
        case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
            .clientCertificateRequired, .appTransportSecurityRequiresSecureConnection:
            self = .tls
        case .badServerResponse, .cannotParseResponse, .cannotDecodeRawData, .cannotDecodeContentData,
            .zeroByteResource:
            self = .invalidResponse
        case .badURL, .unsupportedURL, .dataLengthExceedsMaximum:
            self = .invalidRequest
        case .httpTooManyRedirects, .redirectToNonExistentLocation:
            self = .tooManyRedirects
        case .networkConnectionLost:
            self = .connectionLost
        default:
            // Whatever else breaks before a head was a connection that did not come about.
            self = isAfterHead ? .connectionLost : .connection
        }
    }
}
#endif
