public import HTTPTypes
public import NetworkingCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What a ``MockTransport`` answers: a response, at once, after a while or in pieces, a failure, or nothing.
///
/// ```swift
/// MockResponse.ok(data, headerFields: [.contentType: "text/plain"])
/// MockResponse.json(user).delayed(by: .seconds(2))
/// MockResponse.ok(film).inSteps(4, every: .seconds(2)).failing(with: error, afterSteps: 1)
/// MockResponse.pieces(["data: 1\n\n", .wait(for: gate), "data: 2\n\n"])
/// MockResponse.failure(NetworkingError(.offline, request: request))
/// ```
///
/// Waits are on the environment's clock, and end at the cancellation of the caller. Where a request has a sink, an
/// answer in steps or pieces goes into it as it comes, and waits for it.
public struct MockResponse: Sendable {
    var outcome: Outcome
    var delay: Duration?
    var steps = 1
    /// How long each step takes.
    var interval: Duration?
    var interruption: Interruption?

    /// What it comes to.
    enum Outcome: Sendable {
        case response(HTTPResponse, Content)
        case failure(any Error)
        case failureOfKind(NetworkingError.Kind)
        case held(HeldAnswer)
        case never
    }

    /// What the body is.
    enum Content: Sendable {
        case data(Data)
        case file(URL)
        case pieces([Piece])
    }

    /// What breaks the body off, and where.
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

    /// A response of 200 OK.
    ///
    /// - Parameters:
    ///   - data: The body.
    ///   - headerFields: The header fields.
    /// - Returns: The response.
    public static func ok(_ data: Data = Data(), headerFields: HTTPFields = [:]) -> MockResponse {
        MockResponse(status: .ok, data: data, headerFields: headerFields)
    }

    /// A response of 200 OK with text.
    ///
    /// - Parameter text: The body.
    /// - Returns: The response.
    public static func text(_ text: String) -> MockResponse {
        .ok(Data(text.utf8), headerFields: [.contentType: "text/plain; charset=utf-8"])
    }

    /// A response with a value as JSON.
    ///
    /// - Parameters:
    ///   - value: The value. One that cannot be encoded makes the request fail with the encoder's error. A `String` is
    ///     one too: to answer JSON as it is written, use ``json(text:status:)``.
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

    /// A response with JSON as it is written.
    ///
    /// ```swift
    /// .json(text: #"{"id": 42, "name": "Emily"}"#)
    /// ```
    ///
    /// - Parameters:
    ///   - text: The document, which nobody checks: broken ones can be answered too.
    ///   - status: The status.
    /// - Returns: The response.
    public static func json(text: String, status: HTTPResponse.Status = .ok) -> MockResponse {
        MockResponse(status: status, data: Data(text.utf8), headerFields: [.contentType: "application/json"])
    }

    /// A response with a file, read anew for each request.
    ///
    /// A file that is missing or cannot be read makes the request fail with ``NetworkingError/Kind/storage``.
    ///
    /// - Parameters:
    ///   - url: Where the file is.
    ///   - status: The status.
    ///   - contentType: Its media type; nil has it guessed from the extension of its name.
    /// - Returns: The response.
    /// - Precondition: The URL is one of a file.
    public static func file(
        _ url: URL,
        status: HTTPResponse.Status = .ok,
        contentType: String? = nil
    ) -> MockResponse {
        precondition(
            url.isFileURL,
            "url must name a file; make it with URL(filePath:) (has the scheme \(url.scheme ?? "none"))"
        )
        let type = contentType ?? .mediaType(forFileName: url.lastPathComponent)
        let head = HTTPResponse(status: status, headerFields: [.contentType: type])
        return MockResponse(outcome: .response(head, .file(url)))
    }

    /// A response with a status and no body.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - headerFields: The header fields.
    /// - Returns: The response.
    public static func status(_ status: HTTPResponse.Status, headerFields: HTTPFields = [:]) -> MockResponse {
        MockResponse(status: status, headerFields: headerFields)
    }

    /// A response that sends the request elsewhere.
    ///
    /// - Parameters:
    ///   - location: Where to; absolute or relative.
    ///   - status: The status.
    /// - Returns: The response.
    public static func redirect(to location: String, status: HTTPResponse.Status = .found) -> MockResponse {
        MockResponse(status: status, headerFields: [.location: location])
    }

    /// A transport that fails.
    ///
    /// - Parameter error: What it throws, as it is. What a transport throws for a failure of the network is a
    ///   ``NetworkingError``: a stack retries such, and does not look into a `URLError`.
    /// - Returns: The answer.
    public static func failure(_ error: any Error) -> MockResponse {
        MockResponse(outcome: .failure(error))
    }

    /// A transport that fails as transports do: with a ``NetworkingError`` of a kind, which a stack understands.
    ///
    /// ```swift
    /// transport.on(.get, "/users", .failure(.connectionLost))
    /// ```
    ///
    /// - Parameter kind: What kind of failure it is.
    /// - Returns: The answer.
    public static func failure(_ kind: NetworkingError.Kind) -> MockResponse {
        MockResponse(outcome: .failureOfKind(kind))
    }

    /// No answer at all: the request waits until its caller is cancelled or a timeout ends it.
    public static let never = MockResponse(outcome: .never)

    /// An answer that a test gives when it wants to.
    ///
    /// Steps and a failure in the middle of the body that are set here (``inSteps(_:every:)``,
    /// ``failing(with:afterBytes:)``) are those of the answer that is given, unless that has its own.
    ///
    /// - Parameter answer: Who holds it.
    /// - Returns: The answer.
    public static func held(by answer: HeldAnswer) -> MockResponse {
        MockResponse(outcome: .held(answer))
    }

    /// The answer with header fields, which take the place of those of the same names.
    ///
    /// ```swift
    /// .json(user).headerFields([.eTag: "\"1\""])
    /// ```
    ///
    /// - Parameter fields: The fields. What has no head, such as a failure, and what a ``HeldAnswer`` holds stay as
    ///   they are.
    /// - Returns: The answer.
    public func headerFields(_ fields: HTTPFields) -> MockResponse {
        guard case .response(var head, let content) = outcome else { return self }
        for name in Set(fields.map(\.name)) {
            head.headerFields[fields: name] = fields[fields: name]
        }
        var response = self
        response.outcome = .response(head, content)
        return response
    }

    /// Answers after a while, on the environment's clock.
    ///
    /// - Parameter delay: How long it takes.
    /// - Returns: The answer.
    /// - Precondition: `delay` is not negative.
    public func delayed(by delay: Duration) -> MockResponse {
        precondition(delay >= .zero, "delay must not be negative (is \(delay))")
        var response = self
        response.delay = delay
        return response
    }
}

extension MockResponse: CustomStringConvertible, CustomReflectable {
    /// What it comes to, without header fields and body: `200 OK, 12 bytes`.
    public var description: String {
        switch outcome {
        case .response(let head, .data(let data)): "\(head.status), \(data.count) bytes"
        case .response(let head, .file(let url)): "\(head.status), the file \(url.lastPathComponent)"
        case .response(let head, .pieces(let pieces)): "\(head.status), \(pieces.count) pieces"
        case .failure(let error): "a failure of type \(type(of: error))"
        case .failureOfKind(let kind): "a failure, \(kind)"
        case .held: "an answer that is held"
        case .never: "no answer"
        }
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["answer": description])
    }
}
