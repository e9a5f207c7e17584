#if AsyncHTTPClient
import AsyncHTTPClient
import CLibraryForNetworking
import HTTPTypes
import NetworkingTrust
import NetworkingCore
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL

/// The error of an exchange without progress for too long.
struct Silence: Error {
    let limit: Duration
}

/// A request that was not sent, because its connection was closed.
struct UnsentRequest: Error {
    /// The error of the exchange if the request is not sent again.
    let error: NetworkingError
}

extension HTTPRequestData {
    /// Returns the error of an exchange that failed before the head of the response.
    ///
    /// - Parameters:
    ///   - error: The error of AsyncHTTPClient.
    ///   - upload: The upload of the body; `nil` if there is none, or if it was passed as a whole.
    ///   - elapsed: The duration of the exchange.
    /// - Returns: ``UnsentRequest`` if nothing was sent. Otherwise a `NetworkingError`; its `noResponseAfter` is set
    ///   if the request may be sent again at once.
    func withoutResponse(_ error: any Error, sending upload: Upload?, after elapsed: Duration) -> any Error {
        if error is RequestBody.Failure { return error }
        if error is UnusableConnection {
            return UnsentRequest(error: self.error(for: ChannelError.ioOnClosedChannel, after: nil))
        }
        let isOnClosedChannel = error as? ChannelError == .ioOnClosedChannel
        var failure = self.error(for: (error as? KeptConnectionClosed)?.underlying ?? error, after: nil)
        guard isOnClosedChannel || error is KeptConnectionClosed else { return failure }
        // AsyncHTTPClient fails like this if the connection was closed before it wrote anything, but also if the body
        // was not yet complete.
        if isOnClosedChannel, body == nil || upload?.hasBegun == false { return UnsentRequest(error: failure) }
        if mayBeSentTwice, body?.isReplayable ?? true {
            failure.noResponseAfter = elapsed
        }
        return failure
    }

    /// Wraps an error of AsyncHTTPClient or NIO in one of this library.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - head: The head, if it had arrived.
    /// - Returns: The error.
    func error(for error: any Error, after head: HTTPResponse?) -> NetworkingError {
        if let error = error as? NetworkingError { return error }
        // The app may have shut down a client of its own.
        if error as? HTTPClientError == .alreadyShutdown { return transportIsShutDown }
        if let refused = error as? RefusedPins { return NetworkingError(refused.mismatch, request: self) }
        let fault = ClientFault(error, hasHead: head != nil)
        var failure = NetworkingError(
            fault.kind,
            request: self,
            response: head.map { response(with: $0) },
            underlying: error is Silence ? nil : error,
            reason: fault.reason
        )
        failure.isHandshakeFailure = fault.isHandshakeFailure
        return failure
    }
}

extension Error {
    /// Whether the connection ended before the message was complete.
    var isEndOfConnection: Bool {
        switch self {
        case let error as HTTPParserError: error == .invalidEOFState || error == .closedConnection
        case let error as NIOSSLError: error == .uncleanShutdown
        case let error as HTTPClientError: error == .remoteConnectionClosed || error == .uncleanShutdown
        default: false
        }
    }
}

/// The meaning of an error of AsyncHTTPClient or NIO: a kind, and a reason if the kind alone is not clear enough.
private struct ClientFault {
    let kind: NetworkingError.Kind
    var reason: String?
    /// Whether the TLS handshake failed for another reason than a certificate.
    var isHandshakeFailure = false

    init(_ kind: NetworkingError.Kind, _ reason: String? = nil) {
        self.kind = kind
        self.reason = reason
    }

    init(_ error: any Error, hasHead: Bool) {
        switch error {
        case let error as Silence:
            self.init(
                .timeout,
                "No data was transferred for \(error.limit.roundedText), the limit of this transport. Try again, or "
                    + "allow more time with the stack's timeout."
            )
        case let error as OversizedHead:
            self.init(
                .invalidRequest,
                "The fields of the request need up to \(error.byteCount) bytes, and AsyncHTTPClient sends at most "
                    + "\(error.limit) to this server over HTTP/2. Send fewer or shorter fields, use HTTP/1.1 with the "
                    + "configuration's httpVersion, or use URLSession for this server."
            )
        case let error as FailedWrite:
            self.init(.connectionLost, "A part of the request could not be written (\(error.underlying)).")
        case let error as HTTPClientError:
            self.init(error)
        case let error as NIOConnectionError:
            self.init(Self.kind(of: error))
        case let error as NIOSSLExtraError:
            self = Self.unsecured(
                error == .failedToValidateHostname ? "the certificate names another host" : "\(error)"
            )
        case is BoringSSLError:
            // An error after the handshake. An alert means that the server refuses this client, which it reports only
            // after the handshake with TLS 1.3.
            let reason = Self.reasonOfBoringSSL(error)
            self = reason?.contains("ALERT") == true ? Self.unsecured(reason) : ClientFault(.connectionLost)
        case let error as NIOSSLError:
            let reason = Self.reasonOfBoringSSL(error)
            self = error == .uncleanShutdown ? Self.lost(error, hasHead: hasHead) : Self.unsecured(reason)
            isHandshakeFailure =
                kind == .tls && reason?.contains("CERTIFICATE") != true && reason?.contains("ALERT") != true
        case is HTTPParserError where error.isEndOfConnection:
            self = Self.lost(error, hasHead: hasHead)
        case HTTPParserError.headerOverflow:
            self.init(
                .invalidResponse,
                "The head of the response is longer than SwiftNIO reads: it has a field of more than 80 KB, or more "
                    + "fields than its limit. Send fewer or shorter fields, or use URLSession for this server."
            )
        case is HTTPParserError:
            self.init(.invalidResponse, "The response is not valid HTTP (\(error)). Check the server.")
        case is any NIOHTTP2Error:
            self = Self.breachOfHTTP2(error)
        case let error as IOError:
            self.init(Self.kind(of: error))
        default:
            // The server may have received the request; the kind `connection` would exclude that.
            self.init(.connectionLost)
        }
    }

    private init(_ error: HTTPClientError) {
        switch error {
        case .connectTimeout, .getConnectionFromPoolTimeout:
            self.init(
                .timeout,
                "No connection was available within the configuration's timeout.connect: the server is slow, or all "
                    + "connections are busy. Try again, or allow more time or more connections per host."
            )
        case .readTimeout, .writeTimeout, .deadlineExceeded:
            self.init(.timeout, "No data was transferred for longer than the client's configuration allows.")
        case .tlsHandshakeTimeout, .httpProxyHandshakeTimeout, .socksHandshakeTimeout:
            self.init(.timeout)
        case .proxyAuthenticationRequired, .invalidProxyResponse:
            self.init(
                .connection,
                "The proxy refused to connect (\(error.shortDescription)). Check the configuration's proxy."
            )
        case .cancelled:
            self.init(
                .connectionLost,
                "The connection was closed, or the client was shut down, before the exchange was complete."
            )
        case .invalidURL, .emptyHost, .emptyScheme, .traceRequestWithBody, .bodyLengthMismatch:
            self.init(.invalidRequest, "AsyncHTTPClient cannot send this request (\(error.shortDescription)).")
        default:
            self.init(.connectionLost)
        }
    }

    /// Returns the fault for a connection that ended before the message was complete.
    private static func lost(_ error: any Error, hasHead: Bool) -> ClientFault {
        hasHead ? ClientFault(.truncated, HTTPRequestData.endedBetweenChunks) : ClientFault(.connectionLost)
    }

    private static func unsecured(_ detail: String?) -> ClientFault {
        ClientFault(.tls, detail.map { HTTPRequestData.unsecured($0) })
    }

    /// Returns the name of the reason, such as `CERTIFICATE_VERIFY_FAILED`; the rest of the text is numbers and a path.
    private static func reasonOfBoringSSL(_ error: any Error) -> String? {
        "\(error)".split(separator: "OPENSSL_internal:").dropFirst().first
            .map { String($0.prefix { $0.isLetter || $0.isNumber || $0 == "_" }) }
    }

    private static func breachOfHTTP2(_ error: any Error) -> ClientFault {
        switch error {
        case is NIOHTTP2Errors.StreamClosed, is NIOHTTP2Errors.IOOnClosedConnection, is NIOHTTP2Errors.NoSuchStream,
            is NIOHTTP2Errors.CreatedStreamAfterGoaway, is NIOHTTP2Errors.RaisedGoawayLastStreamID:
            ClientFault(.connectionLost)
        default:
            ClientFault(.invalidResponse, "The response violates HTTP/2 (\(type(of: error))). Check the server.")
        }
    }

    private static func kind(of error: IOError) -> NetworkingError.Kind {
        switch error.errnoCode {
        // Only connecting fails like this; the other errors may occur after the request was sent.
        case ECONNREFUSED, EADDRNOTAVAIL: .connection
        case ETIMEDOUT: .timeout
        default: .connectionLost
        }
    }

    private static func kind(of error: NIOConnectionError) -> NetworkingError.Kind {
        // Without an address there is nothing to connect to.
        guard !error.connectionErrors.isEmpty else { return .nameResolution }
        let codes = error.connectionErrors.compactMap { ($0.error as? IOError)?.errnoCode }
        if codes.isEmpty { return .connection }
        if codes.allSatisfy({ $0 == ENETUNREACH || $0 == ENETDOWN }) { return .offline }
        return codes.allSatisfy { $0 == ETIMEDOUT } ? .timeout : .connection
    }
}
#endif
