#if URLSession
import Foundation
package import NetworkingCore
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import HTTPTypes

extension HTTPRequestData {
    /// The error for a reader that is too slow.
    var tooFarAhead: NetworkingError {
        NetworkingError(
            .tooLarge,
            request: self,
            reason:
                "The body arrived faster than it was read and filled the buffer of \(maximumBufferedBytes) bytes. Read "
                + "faster, or raise maximumBufferedBytes."
        )
    }

    /// Returns the error for bytes that could not be stored for their reader.
    func unbuffered(_ fault: FileFault) -> NetworkingError {
        NetworkingError(
            .storage,
            request: self,
            reason: "The body arrived faster than it was read and could not be buffered. \(fault.reason)"
        )
    }

    /// Returns the error for a body in a coding that was not requested, on platforms where URLSession does not check
    /// the body's end.
    func unverifiableCoding(_ coding: String, of head: HTTPResponse) -> NetworkingError {
        NetworkingError(
            .invalidResponse,
            request: self,
            response: response(with: head),
            reason:
                "The server sent a body in \(PrintableText.singleLine(coding)), which the request did not ask for. "
                + "URLSession on Linux cannot detect that a compressed body is truncated, so the library rejects it. "
                + "Set Accept-Encoding to accept it anyway, or use AsyncHTTPClientTransport, which checks it."
        )
    }

    /// Returns the error for a body that is longer than its head states, which means that one head had two lengths.
    func longerThanAnnounced(_ head: HTTPResponse, _ received: Int64, _ expected: Int64) -> NetworkingError {
        NetworkingError(
            .invalidResponse,
            request: self,
            response: response(with: head),
            reason: "The body has \(received) bytes, but its Content-Length is \(expected). Check the server."
        )
    }

    /// Returns the library's error, which contains an error of URLSession.
    ///
    /// - Parameters:
    ///   - error: URLSession's error.
    ///   - head: The head, if it has arrived.
    ///   - received: The number of bytes of the body that have arrived, as counted on the wire.
    ///   - wasSent: Whether any part of the request was sent, on this connection or an earlier one.
    /// - Returns: The error.
    package func error(
        for error: any Error,
        after head: ReceivedHead?,
        received: Int64,
        wasSent: Bool = false
    ) -> NetworkingError {
        let code = (error as? URLError)?.code ?? .unknown
        let fault = error.transferFault
        let isCutOff = fault == .truncated || fault == nil && code == .unknown
        if isCutOff, let head, let expected = head.encodedLength, received < expected {
            return truncated(head.http, received: received, of: expected, underlying: error.withoutURL)
        }
        var failure = NetworkingError(
            kind(of: code, fault, wasSent: wasSent || head != nil),
            request: self,
            response: head.map { response(with: $0.http) },
            underlying: error.withoutURL,
            reason: reason(for: fault, code, head)
        )
        failure.isHandshakeFailure = fault?.isHandshakeFailure ?? (code == .secureConnectionFailed)
        return failure
    }

    /// Returns the kind of an error.
    ///
    /// The kinds that mean that nothing was sent are used only if that is certain.
    private func kind(of code: URLError.Code, _ fault: TransferFault?, wasSent: Bool) -> NetworkingError.Kind {
        let kind = fault?.kind ?? NetworkingError.Kind(code)
        return kind.meaning == .unreachable && wasSent ? .connectionLost : kind
    }

    private func reason(for fault: TransferFault?, _ code: URLError.Code, _ head: ReceivedHead?) -> String? {
        switch fault {
        case .undecodable:
            return Self.undecodable(head.flatMap { $0.decodedCoding ?? $0.http.headerFields[.contentEncoding] })
        case .invalidHead(let detail), .invalidBody(let detail):
            return "The response is not valid HTTP, or this platform's URLSession cannot read it (\(detail)). Check "
                + "the server, or use another transport."
        case .truncated:
            return Self.endedBetweenChunks
        case .untrusted(let detail):
            return Self.unsecured(detail)
        case .emptyReply, nil:
            break
        }
        guard code == .dataLengthExceedsMaximum else { return nil }
        return "This platform's URLSession does not send a body with "
            + "\(method). Use another method, or another transport."
    }
}

extension Error {
    /// The details of a `URLError` that contain nothing of the request.
    private static var detailsWithoutURL: Set<String> {
        [
            NSLocalizedDescriptionKey, "NSURLErrorNetworkUnavailableReasonKey",
            "NSURLErrorBackgroundTaskCancelledReasonKey",
        ]
    }

    /// The error without the URL of the request, which may contain keys (CWE-532).
    ///
    /// A `URLError` also holds the URL in an underlying error, in data to resume a download and in its task.
    package var withoutURL: any Error {
        guard let error = self as? URLError else { return self }
        return URLError(error.code, userInfo: error.userInfo.filter { Self.detailsWithoutURL.contains($0.key) })
    }
}

/// A fault of a transfer that URLSession's codes do not express.
enum TransferFault: Equatable {
    /// The connection ended when a response was expected.
    case emptyReply
    /// The head violates a rule, described in libcurl's words, which contain nothing of the head.
    case invalidHead(String)
    /// The framing of the body violates a rule, described in the same way.
    case invalidBody(String)
    /// The body ended early.
    case truncated
    /// The body cannot be decoded.
    case undecodable
    /// No secure connection was possible, for the reason in libcurl's words.
    case untrusted(String)

    /// Whether the TLS handshake failed, neither because of a certificate nor because the server refused the client.
    fileprivate var isHandshakeFailure: Bool {
        guard case .untrusted(let detail) = self else { return false }
        return !detail.contains("certificate") && !detail.contains("alert")
    }

    fileprivate var kind: NetworkingError.Kind {
        switch self {
        case .emptyReply: .connectionLost
        case .invalidHead, .invalidBody, .undecodable: .invalidResponse
        case .truncated: .truncated
        case .untrusted: .tls
        }
    }
}

extension NetworkingError.Kind {
    fileprivate init(_ code: URLError.Code) {
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
        case .cannotCreateFile, .cannotOpenFile, .cannotCloseFile, .cannotWriteToFile, .cannotRemoveFile,
            .cannotMoveFile, .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile:
            self = .storage
        case .networkConnectionLost:
            self = .connectionLost
        default:
            // The server may have received the request. `connection` would state that it has not.
            self = .connectionLost
        }
    }
}
#endif
