import HTTPTypes
public import NetworkingCore

/// A transport that answers without a network: the drop-in swap for `URLSession` in tests, previews and offline work.
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
/// What answers a request, in this order:
/// 1. the first stub that matches it and may still answer, in the order of the calls:
///    ``on(_:uses:answer:)-(RequestMatcher,_,_)``;
/// 2. the next of the answers that are given once and in order: those of a script
///    (`MockTransport([.status(.serviceUnavailable), .ok()])`, ``enqueue(_:)``) or of a conversation, which says what
///    each request has to be (``expect(_:answer:)``);
/// 3. a directory of files: ``serve(_:at:)``;
/// 4. a closure: `MockTransport { request in .ok() }`.
///
/// Any other request fails with ``NetworkingError/Kind/unimplemented``, and the error says which stub comes nearest and
/// why it does not match. ``verifyAllUsed()`` throws what was never asked for.
///
/// Like a real transport it checks requests, follows redirects, reads bodies, fills sinks, reports progress and ends at
/// once when its caller is cancelled. Its waits are on the environment's clock. The body of a recorded request is in
/// memory (``RequestBody/data``), also where a file, parts or a stream were sent; its sink and its progress handler are
/// not kept.
public final class MockTransport: NetworkingTransport {
    /// Answers a request, or fails.
    public typealias Answer = @Sendable (HTTPRequestData) async throws -> MockResponse

    let board: MockTally<MockBoard>
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
        board = MockTally(MockBoard(script: script))
        self.fallback = fallback
    }

    /// Records the request and plays the answer that fits it.
    public func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        var request = request
        let progress = try await request.arrive()
        let arrived = request.outsideStack
        let (number, latency) = board.update { ($0.begin(arrived.forRecording), $0.latency) }
        do {
            let answer = try await answer(to: arrived, number)
            try await latency?.wait()
            try Task.checkCancellation()
            let response = try await answer()
                .respond(to: request, after: progress) { [board] in board.update { $0.delivered += 1 } }
            try Task.checkCancellation()
            board.update { $0.end(number, wasCancelled: false) }
            return response
        } catch {
            // An answer may be a CancellationError too, of a caller that nobody has cancelled.
            let wasCancelled = error is CancellationError && Task.isCancelled
            board.update { $0.end(number, wasCancelled: wasCancelled) }
            throw error
        }
    }

    /// Finds the answer to a request.
    ///
    /// Matchers run outside of the lock, since they may be anybody's code.
    private func answer(
        to request: HTTPRequestData,
        _ number: Int
    ) async throws -> @Sendable () async throws -> MockResponse {
        var reading = RequestReading(request)
        let stubs = board.read { $0.stubs }
        for (index, stub) in stubs.enumerated() {
            reading.pathParameters = [:]
            guard stub.matcher.test(&reading), board.update({ $0.use(index, for: number) }) else { continue }
            var request = request
            if !reading.pathParameters.isEmpty { request.pathParameters = reading.pathParameters }
            return { [request] in try await stub.answer(request) }
        }
        while let (index, expectation) = board.read({ board in board.nextExpectation.map { (board.met, $0) } }) {
            reading.pathParameters = [:]
            guard expectation.matcher.test(&reading) else {
                guard board.update({ $0.miss(index, for: number) }) else { continue }
                throw outOfOrder(request, expectation, index)
            }
            guard board.update({ $0.meet(index, for: number) }) else { continue }
            var request = request
            if !reading.pathParameters.isEmpty { request.pathParameters = reading.pathParameters }
            return { [request] in try await expectation.answer(request) }
        }
        let directories = board.read { $0.directories }
        for directory in directories {
            guard let response = try await directory.response(to: request) else { continue }
            board.update { $0.note(.somethingElse, for: number) }
            return { response }
        }
        if let fallback {
            board.update { $0.note(.somethingElse, for: number) }
            return { try await fallback(request) }
        }
        if !directories.isEmpty {
            board.update { $0.note(.somethingElse, for: number) }
            return { .notServed(request, from: directories) }
        }
        board.update { $0.note(.nobody, for: number) }
        throw unanswered(request)
    }
}

extension MockTransport: CustomStringConvertible, CustomReflectable {
    /// The line of an outline.
    public var description: String {
        "MockTransport"
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["requests": requests, "active": active])
    }
}
