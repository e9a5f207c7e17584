import FoundationForNetworking
import HTTPTypes

/// An error of a request, with everything that is known about it.
///
/// ```swift
/// do {
///     let (user, _) = try await network.value(.user(id: 42))
/// } catch let error as NetworkingError where error.isOffline {
///     showOfflineBanner()
/// } catch let error as NetworkingError where error.isUnauthorized {
///     showSignIn()
/// } catch let error as NetworkingError where error.isClientError {
///     let problem = try? error.decodeBody(as: Problem.self)
/// }
/// ```
///
/// Errors are wrapped once, where they occur. Errors of other components pass through a stack unwrapped, and a
/// cancelled caller gets `CancellationError`.
///
/// An error has texts for two readers. `localizedDescription`, ``failureReason`` and ``recoverySuggestion`` are short
/// sentences for the user of the app, without URL, header or file name: "The server took too long to respond." They can
/// be translated. ``description`` and ``reason`` are for the developer and contain the request, the cause and a
/// solution. None of them, nor a dump of the error, shows a secret.
public struct NetworkingError: Error {
    /// The kind of a failure; a bounded set, suitable as a label of a metric.
    @nonexhaustive
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The request breaks a rule of HTTP or of this library, and was not sent.
        case invalidRequest
        /// The body could not be encoded, or its stream failed, and the request was not sent completely.
        case unencodableBody
        /// The request would have to be sent again, but its body can be sent only once.
        case bodyNotReplayable
        /// The host name could not be resolved.
        case nameResolution
        /// No connection could be made.
        case connection
        /// The secure connection could not be established, or the identity of the server could not be verified.
        case tls
        /// The device has no network.
        case offline
        /// An attempt exceeded its time limit.
        case timeout
        /// The whole call exceeded its time limit.
        case deadline
        /// The connection broke during the exchange.
        case connectionLost
        /// The response is not valid HTTP.
        case invalidResponse
        /// The body is longer than the limit.
        case tooLarge
        /// The body ended before its announced length.
        case truncated
        /// The representation changed between the parts of a transfer.
        case representationChanged
        /// The checksum of a download does not match the expected one.
        case checksumMismatch
        /// The redirects exceed the limit of the policy, or form a loop.
        case tooManyRedirects
        /// The request does not accept the status code of the response. A 401 has the kind
        /// ``NetworkingError/Kind/unauthorized`` instead.
        case status
        /// The server requires credentials, or did not accept the ones that were sent (401).
        ///
        /// ``NetworkingError/status`` is `nil` if the request was not sent because no user is signed in.
        case unauthorized
        /// The body could not be decoded.
        case decoding
        /// A limit of the stack refused the request: a queue, a rate limit or a circuit breaker.
        case rejected
        /// A file could not be read or written, or a session that several processes share could not be locked or read.
        case storage
        /// A placeholder for a missing component was used to send a request.
        case unimplemented
    }

    /// The kind of the failure.
    public let kind: Kind

    /// The request that failed, as it was sent or would have been sent.
    public package(set) var request: HTTPRequestData

    /// The response, if one arrived.
    public package(set) var response: HTTPResponseData?

    /// The error of the transport or the decoder that caused this one.
    ///
    /// A `URLError` has its code and its text, but not the URL. Other errors are unchanged, and may contain secrets
    /// that this error redacts (a `DecodingError` may contain values), so it is never printed as a part of this error.
    public package(set) var underlying: (any Error)?

    /// The failure and a way to solve it, in one or two sentences, without secrets.
    public let reason: String

    /// The time to wait before another attempt, if it is known, for example from a limit that refused the request.
    public let retryAfter: Duration?

    /// The duration of the exchange, if the request may be sent again at once; `nil` for any other failure.
    ///
    /// A transport sets it if a reused connection ended before the response, and the request and its body may be sent
    /// twice (``HTTPRequestData/mayBeSentTwice``, ``RequestBody/isReplayable``). ``NetworkingTransport`` then makes
    /// the exchange again, unless the app has switched retries off, and removes the duration from an error that it
    /// throws.
    public var noResponseAfter: Duration?

    /// Whether the server has not processed the request, because something that it needs was not available for the
    /// moment.
    ///
    /// `authenticated` sets it if it could not renew the credentials for a temporary reason: the request was not sent,
    /// or was refused with status 401. If the ``kind`` is one that `retry` repeats, it then also repeats requests that
    /// may not be sent twice. ``Kind/invalidResponse``, ``Kind/decoding`` and ``Kind/storage`` count as such kinds,
    /// because they come from the response of another server, or from the storage of the session. `false` by default.
    public var wasNotProcessed = false

    /// Whether a connection failed during the TLS handshake for another reason than a certificate or a pin.
    ///
    /// The ``kind`` is ``Kind/tls``. A transport sets it if it knows the reason. Such a failure counts as a failed
    /// connection for `retry`, `fallback`, circuit breakers and `server(endpoints:)`, and no other one of this kind.
    /// `false` by default.
    public var isHandshakeFailure = false

    /// Whether the request was not sent because its server is known to fail.
    ///
    /// The ``kind`` is ``Kind/rejected``. A circuit breaker sets it, and so can a limiter of yours that knows the
    /// failures of a server. A cache further out then treats the error like a failure status of the server: it may
    /// return a stale response where `stale-if-error` allows it. `false` by default.
    public var isOfFailingServer = false

    /// Whether the request was not sent because another user has signed in since its work began.
    ///
    /// The ``kind`` is ``Kind/unauthorized``. Sending the same request again as the other user is a decision of the
    /// app.
    public package(set) var isOfAnotherUser = false

    /// The metadata that components have set on the error.
    private var metadata = TypedValues()

    /// The principal that the request was sent for, if it is known.
    package var principal: Principal?

    /// The server to which redirects had led before the request failed; `nil` if the failed request is the first one.
    package var redirect: RedirectTarget?

    /// A server to which redirects lead, compared with that of the first request as it was sent.
    package enum RedirectTarget: Sendable {
        case sameServer
        case anotherServer
    }

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - kind: The kind of the failure.
    ///   - request: The request that failed.
    ///   - response: The response, if one arrived.
    ///   - underlying: The error that caused this one, if there is one.
    ///   - reason: The failure and a way to solve it, without secrets; `nil` uses the sentence of the kind.
    ///   - retryAfter: The time to wait before another attempt, if it is known.
    public init(
        _ kind: Kind,
        request: HTTPRequestData,
        response: HTTPResponseData? = nil,
        underlying: (any Error)? = nil,
        reason: String? = nil,
        retryAfter: Duration? = nil
    ) {
        self.kind = kind
        self.retryAfter = retryAfter
        self.request = request.outsideStack
        self.response = response
        self.underlying = underlying
        self.reason = request.redactingMarkedSecrets(in: reason ?? kind.sentence)
    }
}

extension NetworkingError {
    /// A metadata value that a component has set on the error, or its default.
    ///
    /// - Parameter metadata: The type that declares it.
    public subscript<Metadata: ResponseMetadata>(metadata metadata: Metadata.Type) -> Metadata.Value {
        get {
            self.metadata.value(for: ObjectIdentifier(metadata), as: Metadata.Value.self) ?? metadata.defaultValue
        }
        set { self.metadata.set(newValue, for: .type(metadata)) }
    }

    /// The body of the response as text; `nil` if there is no response or the body is not UTF-8.
    public var bodyText: String? {
        response.flatMap { String(validating: $0.data, as: UTF8.self) }
    }

    /// Decodes the body of the response, often the server's own description of the problem.
    ///
    /// `Data`, `String` and optionals are read as in ``Request``.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder; `nil` uses that of the request or the stack, and then a plain `JSONDecoder`.
    /// - Returns: The value, or `nil` if there is no response.
    /// - Throws: A `DecodingError` if the body cannot be decoded. It wraps any other error of the decoder.
    public func decodeBody<Value: Decodable>(
        as type: Value.Type,
        decoder: (any BodyDecoder)? = nil
    ) throws(DecodingError) -> Value? {
        guard let response else { return nil }
        return try response.decodeBody(as: type, by: decoder)
    }
}

extension NetworkingError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The request, the failure and a way to solve it.
    public var description: String {
        "\(request): \(reason)"
    }

    /// The kind, and the ``description``.
    public var debugDescription: String {
        "NetworkingError.\(kind): \(description)"
    }

    /// The contents of a dump, without secrets.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "kind": kind,
                "request": request,
                "response": response.map { $0.description } ?? "none",
                "underlying": underlying.map { "\(type(of: $0))" } ?? "none",
                "reason": reason,
            ]
        )
    }
}

extension NetworkingError.Kind {
    /// The failure and a way to solve it, if no more is known than the kind.
    fileprivate var sentence: String {
        switch self {
        case .invalidRequest:
            "The request is not valid and was not sent."
        case .unencodableBody:
            "The body could not be encoded, so the request was not sent. The encoder's error names the value at fault."
        case .bodyNotReplayable:
            "The request has to be sent again, but its body can be read only once. Use a body that can be replayed."
        case .nameResolution:
            "The host name could not be resolved. Check its spelling and the network's DNS."
        case .connection:
            "No connection to the server could be made. Check the server and the port."
        case .tls:
            "No secure connection to the server could be made. Check its certificate and the clock of this device."
        case .offline:
            "There is no network. Try again when the device is online."
        case .timeout:
            "The attempt exceeded its timeout. Try again, or allow more time."
        case .deadline:
            "The call exceeded its deadline. Allow more time."
        case .connectionLost:
            "The connection was lost before the exchange was complete. Try again if the request may be repeated."
        case .invalidResponse:
            "The response is not valid HTTP. Check that the server speaks HTTP on this port."
        case .tooLarge:
            "The body is longer than the limit. Raise maximumResponseBytes, or send the body to a sink."
        case .truncated:
            "The body ended before its announced length. Try again if the request may be repeated."
        case .representationChanged:
            "The file changed on the server during the transfer. Restart the transfer."
        case .checksumMismatch:
            "The checksum of the download is not the expected one. Download the file again, or correct the checksum."
        case .tooManyRedirects:
            "The server sent more redirects than the policy follows, or a redirect loop."
        case .status:
            "The request does not accept the status code of the response."
        case .unauthorized:
            "The server requires credentials, or did not accept the ones that were sent (401)."
        case .decoding:
            "The body could not be decoded. The underlying error says where."
        case .rejected:
            "A limit of the stack rejected the request. Send fewer requests, or raise the limit."
        case .storage:
            "A file could not be read or written. Check its path, its permissions and the free space."
        case .unimplemented:
            "The stack has no transport that could send the request. Add one."
        }
    }
}
