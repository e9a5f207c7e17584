import HTTPTypes
public import NetworkingCore

/// A transport that responds without a network, to replace `URLSession` in tests, previews and offline work.
///
/// ```swift
/// let transport = MockTransport()
/// transport.on(.get, "/users/:id") { request in .json(users[request.pathParameters["id"] ?? ""]) }
/// transport.on(.post, "/users", uses: .once, .status(.created))
/// let network = transport.server(authority: "api.example.com")
///
/// let (user, _) = try await network.value(.user(id: 42))
/// #expect(transport.requests.map(\.path) == ["/users/42"])
/// try transport.verifyAllUsed()
/// ```
///
/// The transport looks for a response to each request in this order:
/// 1. the first matching stub that has uses left, in the order of the calls:
///    ``on(_:uses:respond:)-(RequestMatcher,_,_)``;
/// 2. the next response that is used once and in order: from a script
///    (`MockTransport([.status(.serviceUnavailable), .ok()])`, ``enqueue(_:)``) or from the expectations, which the
///    requests must match (``expect(_:respond:)``);
/// 3. a directory of files: ``serve(_:at:)``;
/// 4. a closure: `MockTransport { request in .ok() }`.
///
/// Any other request fails with ``NetworkingError/Kind/unimplemented``, and the error names the nearest stub and
/// explains why it does not match. ``verifyAllUsed()`` throws an error about unused responses.
///
/// Like a real transport, it checks requests, follows redirects, reads bodies, fills sinks, reports progress and ends
/// immediately when its caller is cancelled. Its waits use the environment's clock. The body of a recorded request is
/// in memory (``RequestBody/data``), even if a file, multipart or stream body was sent. Its sink and progress handler
/// are not kept.
public final class MockTransport: NetworkingTransport {
    /// Returns a mock response to a request, or throws an error.
    public typealias Responder = @Sendable (HTTPRequestData) async throws -> MockResponse

    let board: MockTally<MockBoard>
    private let fallback: Responder?

    /// Creates a transport without any responses.
    public convenience init() {
        self.init(script: [], fallback: nil)
    }

    /// Creates a transport that returns each response of a script once, in order.
    ///
    /// - Parameter script: The responses.
    public convenience init(_ script: [MockResponse]) {
        self.init(script: script, fallback: nil)
    }

    /// Creates a transport that calls a closure for each response.
    ///
    /// - Parameter responder: Returns a response, or throws the error that the transport throws.
    public convenience init(_ responder: @escaping Responder) {
        self.init(script: [], fallback: responder)
    }

    private init(script: [MockResponse], fallback: Responder?) {
        board = MockTally(MockBoard(script: script))
        self.fallback = fallback
    }

    /// Records the request and plays its response.
    public func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        var request = request
        let progress = try await request.arrive()
        let arrived = request.outsideStack
        let (number, latency) = board.update { ($0.begin(arrived.forRecording), $0.latency) }
        do {
            let makeResponse = try await responder(for: arrived, number)
            try await latency?.wait()
            try Task.checkCancellation()
            let response = try await makeResponse()
                .respond(to: request, after: progress) { [board] in board.update { $0.delivered += 1 } }
            try Task.checkCancellation()
            board.update { $0.end(number, wasCancelled: false) }
            return response
        } catch {
            // The mock may throw a CancellationError itself, although the caller was not cancelled.
            let wasCancelled = error is CancellationError && Task.isCancelled
            board.update { $0.end(number, wasCancelled: wasCancelled) }
            throw error
        }
    }

    /// Finds the closure that makes the response to a request.
    ///
    /// Matchers run outside of the lock, because they may run code of the app.
    private func responder(
        for request: HTTPRequestData,
        _ number: Int
    ) async throws -> @Sendable () async throws -> MockResponse {
        var reading = RequestReading(request)
        let stubs = board.read { $0.stubs }
        for (index, stub) in stubs.enumerated() {
            reading.pathParameters = [:]
            guard stub.matcher.test(&reading), board.update({ $0.use(index, for: number) }) else { continue }
            var request = request
            if !reading.pathParameters.isEmpty { request.pathParameters = reading.pathParameters }
            return { [request] in try await stub.respond(request) }
        }
        while let (index, expectation) = board.read({ board in board.nextExpectation.map { (board.met, $0) } }) {
            reading.pathParameters = [:]
            guard expectation.matcher.test(&reading) else {
                let error = outOfOrder(request, expectation, index)
                guard board.update({ $0.miss(index, because: error.reason, for: number) }) else { continue }
                throw error
            }
            guard board.update({ $0.meet(index, for: number) }) else { continue }
            var request = request
            if !reading.pathParameters.isEmpty { request.pathParameters = reading.pathParameters }
            return { [request] in try await expectation.respond(request) }
        }
        let directories = board.read { $0.directories }
        for directory in directories {
            guard let response = try await directory.response(to: request) else { continue }
            board.update { $0.note(.other, for: number) }
            return { response }
        }
        if let fallback {
            board.update { $0.note(.other, for: number) }
            return { try await fallback(request) }
        }
        if !directories.isEmpty {
            board.update { $0.note(.other, for: number) }
            return { .notServed(request, from: directories) }
        }
        let error = noResponse(to: request)
        board.update { $0.note(.missing(error.reason), for: number) }
        throw error
    }
}

extension MockTransport: CustomStringConvertible, CustomReflectable {
    /// The name of the transport in an outline.
    public var description: String {
        "MockTransport"
    }

    /// A dump without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["requests": requests, "active": active])
    }
}
