import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An error of a request, with everything that is known about it.
///
/// ```swift
/// do {
///     let (user, _) = try await network.value(.user(id: 42))
/// } catch let error as NetworkingError where error.isOffline {
///     showOfflineBanner()
/// } catch let error as NetworkingError where error.kind == .status {
///     let problem = try? error.decodeBody(as: Problem.self)
/// }
/// ```
///
/// Errors are wrapped once, where they occur. Errors of other components pass through a stack unwrapped, and a
/// cancelled caller gets `CancellationError`.
///
/// An error has two texts. `localizedDescription` is one short English sentence for the user of the app, without URL,
/// header or file name: "The server took too long to respond." ``description`` and ``reason`` are for the developer and
/// contain the request, the cause and a solution. Neither of them, nor a dump of the error, shows a secret.
public struct NetworkingError: Error {
    /// The kind of a failure; a bounded set, suitable as a label of a metric.
    @nonexhaustive
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The request breaks a rule of HTTP or of this library, and was not sent.
        case invalidRequest
        /// The body could not be encoded, and the request was not sent.
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
        /// The request does not accept the status code of the response.
        case status
        /// The server requires credentials, or other ones (401).
        case unauthorized
        /// The body could not be decoded.
        case decoding
        /// A limit of the stack refused the request: a queue, a rate, a circuit.
        case rejected
        /// A file could not be read or written.
        case storage
        /// A placeholder for a missing component was used to send a request.
        case unimplemented
    }

    /// The kind of the failure.
    public let kind: Kind

    /// The request that failed, as it was sent or would have been sent.
    public let request: HTTPRequestData

    /// The response, if one arrived.
    public package(set) var response: HTTPResponseData?

    /// The unchanged error of the transport or the decoder that caused this one.
    ///
    /// It may contain secrets that this error redacts (a `URLError` contains the URL), so it is never printed as a part
    /// of this error.
    public package(set) var underlying: (any Error)?

    /// The failure and a way to solve it, in one or two sentences, without secrets.
    public let reason: String

    /// The time to wait before another attempt, if it is known, for example from a limit that refused the request.
    public let retryAfter: Duration?

    /// The duration of the exchange, if the request may be sent again at once; `nil` for any other failure.
    ///
    /// A transport sets it if a kept connection ended before the response, and the request and its body may be sent
    /// twice.
    package var unansweredAfter: Duration?

    /// The metadata that components have set on the error.
    private var metadata = TypedValues()

    /// The principal that the request was sent for, if it is known.
    package var principal: Principal?

    /// Whether the failed request was the result of a redirect, so that the request before it was successful.
    package var followsRedirect = false

    /// Whether credentials for the request are missing for a temporary reason, so that the server has not processed it.
    package var isRefreshFailure = false

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
        self.reason = request.hidingMarkedSecrets(in: reason ?? kind.sentence)
    }
}

extension NetworkingError {
    /// A metadata value that a component has set on the error, or its default.
    ///
    /// - Parameter metadata: The type that declares it.
    public subscript<Metadata: ResponseMetadata>(metadata metadata: Metadata.Type) -> Metadata.Value {
        get { self.metadata.value(for: metadata, as: Metadata.Value.self) ?? metadata.defaultValue }
        set { self.metadata.set(newValue, for: metadata) }
    }

    /// Whether a time limit was exceeded: that of an attempt, of the call, or of the server (408).
    public var isTimeout: Bool {
        kind == .timeout || kind == .deadline || response?.status.code == 408
    }

    /// Whether the device has no network.
    ///
    /// `false` if the server is down.
    public var isOffline: Bool {
        kind == .offline
    }

    /// Whether the server requires credentials, or other ones.
    public var isUnauthorized: Bool {
        kind == .unauthorized || response?.status.code == 401
    }

    /// Whether the body of the response could not be decoded.
    public var isDecodingFailure: Bool {
        kind == .decoding
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
    ///   - decoder: The decoder; a plain `JSONDecoder` by default.
    /// - Returns: The value, or `nil` if there is no response.
    /// - Throws: An error if the body cannot be decoded.
    public func decodeBody<Value: Decodable>(
        as type: Value.Type,
        decoder: any BodyDecoder = JSONDecoder()
    ) throws -> Value? {
        try response.map { try decoder.decodeBody(as: type, of: $0) }
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
            "The body could not be encoded, so nothing was sent. The encoder's error says which value is at fault."
        case .bodyNotReplayable:
            "The request would have to be sent again, but its body can be read only once. Use a body that can be replayed."
        case .nameResolution:
            "The host name could not be resolved. Check its spelling and the network's DNS."
        case .connection:
            "No connection to the server could be made. Check that it runs and that the port is right."
        case .tls:
            "No secure connection to the server could be made. Check its certificate and the clock of this device."
        case .offline:
            "There is no network. Try again when the device is online."
        case .timeout:
            "The attempt took longer than its timeout allows. Try again, or allow more time."
        case .deadline:
            "The call took longer than its deadline allows."
        case .connectionLost:
            "The connection broke before the exchange was over. Try again if the request may be repeated."
        case .invalidResponse:
            "The answer is not valid HTTP. Check that the port speaks HTTP."
        case .tooLarge:
            "The body is longer than the limit. Raise maximumResponseBytes, or send the body to a sink."
        case .truncated:
            "The body ended before its announced length. Try again if the request may be repeated."
        case .representationChanged:
            "What the server sends changed during the transfer. Start it anew."
        case .checksumMismatch:
            "What was downloaded is not what was expected: its checksum is another."
        case .tooManyRedirects:
            "The server redirects more often than the policy follows, or in circles."
        case .status:
            "The status code is not one that the request accepts."
        case .unauthorized:
            "The server wants credentials, or other ones than it got (401)."
        case .decoding:
            "The body is not what the decoder expects. Its error says where."
        case .rejected:
            "A limit of the stack refused the request."
        case .storage:
            "A file could not be read or written."
        case .unimplemented:
            "Nothing is there to send it. Give the stack a transport."
        }
    }
}
