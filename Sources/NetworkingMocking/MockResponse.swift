public import FoundationForNetworking
public import HTTPTypes
public import NetworkingCore

/// The response of a ``MockTransport``: immediate, delayed or in chunks, a failure, or none at all.
///
/// ```swift
/// MockResponse.ok(data, headerFields: [.contentType: "text/plain"])
/// MockResponse.json(user).delayed(by: .seconds(2))
/// MockResponse.ok(data).inSteps(4, every: .seconds(2)).failing(with: error, afterSteps: 1)
/// MockResponse.chunks(["data: 1\n\n", .wait(for: gate), "data: 2\n\n"])
/// MockResponse.failure(NetworkingError(.offline, request: request))
/// ```
///
/// Delays use the environment's clock and end when the caller is cancelled. If a request has a sink, a response in
/// steps or chunks writes each chunk to the sink as it arrives, and waits for the sink before the next chunk.
public struct MockResponse: Sendable {
    var outcome: Outcome
    var delay: Duration?
    var steps = 1
    /// The duration of each step.
    var interval: Duration?
    var interruption: Interruption?

    /// The outcome of the exchange.
    enum Outcome: Sendable {
        case response(HTTPResponse, Content)
        case failure(any Error)
        case failureOfKind(NetworkingError.Kind)
        case held(HeldResponse)
        case never
    }

    /// The content of the body.
    enum Content: Sendable {
        case data(Data)
        case file(URL)
        case chunks([Chunk])
    }

    /// The error that interrupts the body, and its position.
    struct Interruption: Sendable {
        let error: any Error
        let place: Place

        enum Place: Sendable {
            case bytes(Int)
            case steps(Int)
        }
    }

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - data: The body.
    ///   - headerFields: The header fields.
    public init(status: HTTPResponse.Status, data: Data = Data(), headerFields: HTTPFields = [:]) {
        outcome = .response(HTTPResponse(status: status, headerFields: headerFields), .data(data))
    }

    init(outcome: Outcome) {
        self.outcome = outcome
    }

    /// Creates a response with status 200 OK.
    ///
    /// - Parameters:
    ///   - data: The body.
    ///   - headerFields: The header fields.
    /// - Returns: The response.
    public static func ok(_ data: Data = Data(), headerFields: HTTPFields = [:]) -> MockResponse {
        MockResponse(status: .ok, data: data, headerFields: headerFields)
    }

    /// Creates a response with status 200 OK and text.
    ///
    /// - Parameter text: The body.
    /// - Returns: The response.
    public static func text(_ text: String) -> MockResponse {
        .ok(Data(text.utf8), headerFields: [.contentType: "text/plain; charset=utf-8"])
    }

    /// Creates a response with a value encoded as JSON.
    ///
    /// - Parameters:
    ///   - value: The value. If it cannot be encoded, the request fails with the encoder's error. A `String` is encoded
    ///     as a JSON string; to return JSON text as it is, use ``json(text:status:)``.
    ///   - status: The status.
    ///   - encoder: The encoder.
    /// - Returns: The response.
    public static func json(
        _ value: some Encodable,
        status: HTTPResponse.Status = .ok,
        encoder: JSONEncoder = JSONEncoder()
    ) -> MockResponse {
        do {
            let data = try encoder.encode(value)
            return MockResponse(status: status, data: data, headerFields: [.contentType: "application/json"])
        } catch {
            return .failure(error)
        }
    }

    /// Creates a response with JSON text.
    ///
    /// ```swift
    /// MockResponse.json(text: #"{"id": 42, "name": "Emily"}"#)
    /// ```
    ///
    /// - Parameters:
    ///   - text: The document, which is not validated, so that it can be malformed.
    ///   - status: The status.
    /// - Returns: The response.
    public static func json(text: String, status: HTTPResponse.Status = .ok) -> MockResponse {
        MockResponse(status: status, data: Data(text.utf8), headerFields: [.contentType: "application/json"])
    }

    /// Creates a response with a file, which is read for each request.
    ///
    /// If the file is missing or unreadable, the request fails with ``NetworkingError/Kind/storage``.
    ///
    /// - Parameters:
    ///   - url: The location of the file.
    ///   - status: The status.
    ///   - contentType: The media type; if it is nil, it follows from the file extension.
    /// - Returns: The response.
    /// - Precondition: `url` is a file URL.
    public static func file(
        _ url: URL,
        status: HTTPResponse.Status = .ok,
        contentType: String? = nil
    ) -> MockResponse {
        precondition(
            url.isFileURL,
            "url must be a file URL; create it with URL(filePath:) (has the scheme \(url.scheme ?? "none"))"
        )
        let type = contentType ?? .mediaType(forFileName: url.lastPathComponent)
        let head = HTTPResponse(status: status, headerFields: [.contentType: type])
        return MockResponse(outcome: .response(head, .file(url)))
    }

    /// Creates a response with a status and no body.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - headerFields: The header fields.
    /// - Returns: The response.
    public static func status(_ status: HTTPResponse.Status, headerFields: HTTPFields = [:]) -> MockResponse {
        MockResponse(status: status, headerFields: headerFields)
    }

    /// Creates a redirect response.
    ///
    /// - Parameters:
    ///   - location: The target URL, absolute or relative.
    ///   - status: The status.
    /// - Returns: The response.
    public static func redirect(to location: String, status: HTTPResponse.Status = .found) -> MockResponse {
        MockResponse(status: status, headerFields: [.location: location])
    }

    /// Creates a failure of the transport.
    ///
    /// - Parameter error: The error that the transport throws, unchanged. Transports throw a ``NetworkingError`` for a
    ///   network failure; a stack retries such errors, but does not inspect a `URLError`.
    /// - Returns: The failure.
    public static func failure(_ error: any Error) -> MockResponse {
        MockResponse(outcome: .failure(error))
    }

    /// Creates a failure of the transport with a kind of ``NetworkingError``, as real transports throw.
    ///
    /// ```swift
    /// transport.on(.get, "/users", .failure(.connectionLost))
    /// ```
    ///
    /// - Parameter kind: The kind of the failure.
    /// - Returns: The failure.
    public static func failure(_ kind: NetworkingError.Kind) -> MockResponse {
        MockResponse(outcome: .failureOfKind(kind))
    }

    /// No response at all: the request waits until its caller is cancelled or a timeout occurs.
    public static let never = MockResponse(outcome: .never)

    /// Creates a response that a test provides later.
    ///
    /// If steps and a failure in the middle of the body are set here (``inSteps(_:every:)``,
    /// ``failing(with:afterBytes:)``), they apply to the response that the test provides, unless it has its own.
    ///
    /// - Parameter held: The object that holds the response.
    /// - Returns: The response.
    public static func held(by held: HeldResponse) -> MockResponse {
        MockResponse(outcome: .held(held))
    }

    /// Returns this response with header fields, which replace existing fields of the same names.
    ///
    /// ```swift
    /// MockResponse.json(user).headerFields([.eTag: "\"1\""])
    /// ```
    ///
    /// - Parameter fields: The fields. They do not apply to outcomes without a head, such as a failure, or to a
    ///   response held by a ``HeldResponse``.
    /// - Returns: The response.
    public func headerFields(_ fields: HTTPFields) -> MockResponse {
        guard case .response(var head, let content) = outcome else { return self }
        for name in Set(fields.map(\.name)) {
            head.headerFields[fields: name] = fields[fields: name]
        }
        var response = self
        response.outcome = .response(head, content)
        return response
    }

    /// Returns this response with a delay, on the environment's clock.
    ///
    /// - Parameter delay: The delay.
    /// - Returns: The response.
    /// - Precondition: `delay` is not negative.
    public func delayed(by delay: Duration) -> MockResponse {
        precondition(delay >= .zero, "delay must not be negative (is \(delay))")
        var response = self
        response.delay = delay
        return response
    }
}

extension MockResponse: CustomStringConvertible, CustomReflectable {
    /// A summary without header fields and body, such as `200 OK, 12 bytes`.
    public var description: String {
        switch outcome {
        case .response(let head, .data(let data)): "\(head.status), \(data.count) bytes"
        case .response(let head, .file(let url)): "\(head.status), the file \(url.lastPathComponent)"
        case .response(let head, .chunks(let chunks)): "\(head.status), \(chunks.count) chunks"
        case .failure(let error): "a failure of type \(type(of: error))"
        case .failureOfKind(let kind): "a failure, \(kind)"
        case .held: "a held response"
        case .never: "no response"
        }
    }

    /// A dump without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["response": description])
    }
}
