public import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What a ``MockTransport`` answers: a response, perhaps after a while or in steps, or a failure.
///
/// ```swift
/// MockResponse.ok(data, headerFields: [.contentType: "text/plain"])
/// MockResponse.json(user).delayed(by: .seconds(2))
/// MockResponse.failure(NetworkingError(.offline, request: request))
/// ```
public struct MockResponse: Sendable {
    private var outcome: Result<Content, any Error>
    private var delay: Duration?
    private var steps = 1

    private struct Content {
        var head: HTTPResponse
        var body: Data
    }

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - data: The body.
    ///   - headerFields: The header fields.
    public init(status: HTTPResponse.Status, data: Data = Data(), headerFields: HTTPFields = [:]) {
        outcome = .success(Content(head: HTTPResponse(status: status, headerFields: headerFields), body: data))
    }

    private init(outcome: Result<Content, any Error>) {
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
    ///   - value: The value. One that cannot be encoded makes the request fail with the encoder's error.
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
    /// - Parameter error: What it throws, as it is. What a transport throws for a failure of the network is a ``NetworkingError``: a
    ///   stack retries such, and does not look into a `URLError`.
    /// - Returns: The answer.
    public static func failure(_ error: any Error) -> MockResponse {
        MockResponse(outcome: .failure(error))
    }

    /// Answers after a while, on the environment's clock.
    ///
    /// - Parameter delay: How long it takes.
    /// - Returns: The answer.
    public func delayed(by delay: Duration) -> MockResponse {
        var response = self
        response.delay = delay
        return response
    }

    /// Reports the progress of the body in a number of equal steps.
    ///
    /// - Parameter steps: How many.
    /// - Returns: The answer.
    /// - Precondition: `steps` is greater than zero.
    public func inSteps(_ steps: Int) -> MockResponse {
        precondition(steps > 0, "steps must be greater than zero (is \(steps))")
        var response = self
        response.steps = steps
        return response
    }

    /// Plays the answer to a request whose body is in memory, and of which some progress has been told.
    func respond(
        to request: HTTPRequestData,
        after progress: TransferProgress = TransferProgress()
    ) async throws -> HTTPResponseData {
        if let delay {
            try await NetworkEnvironment.current.clock.sleep(for: delay)
        }
        let content = try outcome.get()
        request.emit(.headReceived(content.head))
        let body = request.method == .head ? Data() : content.body
        guard request.sink != nil || body.count <= request.maximumResponseBytes else {
            throw NetworkingError.tooLarge(request, head: content.head, limit: request.maximumResponseBytes)
        }
        if let handler = request.progressHandler {
            let total = Int64(body.count)
            for step in (total == 0 ? 0 : 1)...steps {
                let received = BytesReceived(count: total * Int64(step) / Int64(steps), expected: total)
                handler(TransferProgress(sent: progress.sent, received: received))
                if total == 0 { break }
            }
        }
        return HTTPResponseData(request: request, http: content.head, body: .collected(body))
    }
}
