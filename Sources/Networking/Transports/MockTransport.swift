public import HTTPTypes
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A transport that answers without a network: the drop-in swap for `URLSession` in tests and previews.
///
/// ```swift
/// let transport = MockTransport()
/// transport.on(.get, "/users/42") { _ in .json(User(id: 42, name: "Emily")) }
/// let network = transport.server(authority: "api.example.com")
///
/// let (user, _) = try await network.value(.user(id: 42))
/// #expect(transport.requests.map(\.path) == ["/users/42"])
/// ```
///
/// It answers by script (`MockTransport([.status(.serviceUnavailable), .ok()])`, each answer once and in order), by
/// closure (`MockTransport { request in .ok() }`) or by matching requests (``on(_:_:answer:)``); matching ones come
/// first, then the script, then the closure. A request that nobody scripted fails with a message that says what was.
///
/// Like a real transport it checks requests, follows redirects, reads bodies, fills sinks, reports progress and ends at
/// once when its caller is cancelled. Its waits are on the environment's clock. The body of a recorded request is in memory
/// (``RequestBody/data``), also where a file, parts or a stream were sent.
public final class MockTransport: NetworkingTransport {
    /// Answers a request, or fails.
    public typealias Answer = @Sendable (HTTPRequestData) async throws -> MockResponse

    private let state: Mutex<State>
    private let fallback: Answer?

    /// Creates a transport that knows no answer yet.
    public convenience init() {
        self.init(script: [], fallback: nil)
    }

    /// Creates a transport that gives each answer of a script once, in order.
    ///
    /// - Parameter script: The answers.
    public convenience init(_ script: [MockResponse]) {
        self.init(script: script, fallback: nil)
    }

    /// Creates a transport that asks a closure for each answer.
    ///
    /// - Parameter answer: Answers a request, or throws what the transport is to throw.
    public convenience init(_ answer: @escaping Answer) {
        self.init(script: [], fallback: answer)
    }

    private init(script: [MockResponse], fallback: Answer?) {
        state = Mutex(State(script: script[...]))
        self.fallback = fallback
    }

    /// Answers the requests with a method and a path, whatever their query.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path, with or without its leading slash.
    ///   - answer: Answers a request.
    public func on(_ method: HTTPRequest.Method, _ path: String, answer: @escaping Answer) {
        let path = HTTPRequestData.target(path: path)
        on("\(method) \(path)", where: { $0.method == method && $0.path == path }, answer: answer)
    }

    /// Answers the requests that equal one: same method, URL, header fields and body.
    ///
    /// - Parameters:
    ///   - request: The request, as it arrives: with authority and all that the stack adds.
    ///   - answer: Answers a request.
    public func on(_ request: HTTPRequestData, answer: @escaping Answer) {
        on("\(request)", where: { $0 == request }, answer: answer)
    }

    /// Answers the requests that pass a test.
    ///
    /// The first match in the order of these calls answers.
    ///
    /// - Parameters:
    ///   - label: What the message about an unexpected request calls it.
    ///   - matches: The test.
    ///   - answer: Answers a request.
    public func on(
        _ label: String,
        where matches: @escaping @Sendable (HTTPRequestData) -> Bool,
        answer: @escaping Answer
    ) {
        state.withLock { $0.routes.append(Route(label: label, matches: matches, answer: answer)) }
    }

    /// The requests that arrived, in order.
    public var requests: [HTTPRequestData] {
        state.withLock { $0.requests }
    }

    /// The answers of the script that nobody has asked for yet.
    public var unusedAnswers: Int {
        state.withLock { $0.script.count }
    }

    /// Records the request and plays the answer that fits it.
    public func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        var request = request
        let progress = try await request.arrive()
        let arrived = request.landed
        let answer: Answer
        switch state.withLock({ $0.plan(for: arrived) }) {
        case .route(let route): answer = route
        case .scripted(let response): answer = { _ in response }
        case .unknown(let known):
            guard let fallback else { throw NetworkingError.unexpected(arrived, known: known) }
            answer = fallback
        }
        try Task.checkCancellation()
        let response = try await answer(arrived).respond(to: request, after: progress)
        try Task.checkCancellation()
        return response
    }

    private struct Route: Sendable {
        let label: String
        let matches: @Sendable (HTTPRequestData) -> Bool
        let answer: Answer
    }

    private enum Plan {
        case route(Answer)
        case scripted(MockResponse)
        case unknown(known: [String])
    }

    private struct State {
        var routes: [Route] = []
        var script: ArraySlice<MockResponse>
        var requests: [HTTPRequestData] = []

        mutating func plan(for request: HTTPRequestData) -> Plan {
            requests.append(request)
            if let route = routes.first(where: { $0.matches(request) }) { return .route(route.answer) }
            if let response = script.popFirst() { return .scripted(response) }
            return .unknown(known: routes.map(\.label))
        }
    }
}

extension MockTransport: CustomStringConvertible {
    /// The line of an outline.
    public var description: String {
        "MockTransport"
    }
}

extension NetworkingError {
    fileprivate static func unexpected(_ request: HTTPRequestData, known: [String]) -> NetworkingError {
        let scripted = known.isEmpty ? "nothing" : known.joined(separator: ", ")
        return NetworkingError(
            .unimplemented,
            request: request,
            reason: "MockTransport has no answer for this request. It knows \(scripted), and its script is used up. "
                + "Add an answer with on(_:_:answer:), or to the script."
        )
    }
}

extension HTTPRequestData {
    /// Reads the body as a server would, and tells the progress of it.
    fileprivate mutating func arrive() async throws -> TransferProgress {
        var progress = TransferProgress(sent: bytesToSend)
        progressHandler?(progress)
        guard let body else { return progress }
        var bytes = Data()
        if let data = body.data {
            bytes = data
        } else {
            for try await chunk in body.chunks {
                bytes.append(chunk)
                progress.sent.count = Int64(bytes.count)
                if progress.sent.count != progress.sent.expected {
                    progressHandler?(progress)
                }
            }
            self.body = .data(bytes, contentType: body.contentType ?? "application/octet-stream")
        }
        progress.sent = BytesSent(count: Int64(bytes.count), expected: Int64(bytes.count))
        if !bytes.isEmpty {
            progressHandler?(progress)
        }
        return progress
    }
}
