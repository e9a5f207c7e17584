import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct StandardTests {
    private let clock = ManualClock()
    private let request = HTTPRequestData(scheme: "https", authority: "api.example.com", path: "/items")

    private static let presets: [StandardStack] = [.app, .server]

    private func network(
        _ transport: some NetworkingComponent,
        _ stack: StandardStack = .app
    ) -> any NetworkingComponent {
        transport.standard(stack).environment(\.clock, .manual(clock)).environment(\.random, .seeded(1))
    }

    // MARK: Parts

    @Test func outlineOfThePresetForAnApp() {
        #expect(
            MockTransport().standard(.app).outline == """
                standard(.app)
                ├─ deadline(30.0 seconds, exemptsTransfers: true)
                ├─ deduplicated()
                ├─ retry(up to 3 times, backoff: 0.2 seconds to 20.0 seconds, full jitter, budget: 0.2 of the calls \
                of 10.0 seconds, and 100)
                ├─ circuitBreaker(50.0% of at least 10 calls in 30.0 seconds, or 5 connection failures, for 5.0 \
                seconds to 60.0 seconds)
                ├─ rateLimited(by: ServerRateLimiter(), maximumWait: 60.0 seconds)
                ├─ throttled(maxPerHost: 6)
                └─ timeout(connect: 10.0 seconds, head: 10.0 seconds, idle: 20.0 seconds, exemptsStreams: true)
                MockTransport
                """
        )
    }

    @Test func outlineOfThePresetForAServer() {
        #expect(
            MockTransport().standard(.server).outline == """
                standard(.server)
                ├─ deadline(10.0 seconds, exemptsTransfers: true)
                ├─ deduplicated()
                ├─ retry(up to 2 times, backoff: 0.2 seconds to 20.0 seconds, full jitter, budget: 0.2 of the calls \
                of 10.0 seconds, and 100)
                ├─ circuitBreaker(20.0% of at least 50 calls in 30.0 seconds, or 5 connection failures, for 5.0 \
                seconds to 60.0 seconds)
                ├─ rateLimited(by: ServerRateLimiter(), maximumWait: 60.0 seconds)
                ├─ adaptiveLimit(1...200)
                └─ timeout(connect: 2.0 seconds, head: 10.0 seconds, idle: 10.0 seconds, exemptsStreams: true)
                MockTransport
                """
        )
    }

    @Test func partsAreReplacedRemovedAndInsertedByName() {
        let stack = StandardStack.app
            .removing(.circuitBreaker)
            .removing(.rateLimit)
            .replacing(.concurrencyLimit) { $0.throttled(maxPerHost: 12) }
            .replacing(.retry) { $0.retry(.immediate(maximumRetries: 1), budget: .unlimited) }
            .inserting(inside: .retry) { $0.numbered() }
            .inserting(inside: .retry) { $0.delayed(by: .seconds(1)) }
            .inserting(inside: .timeout) { $0.numbered() }

        #expect(
            MockTransport().standard(stack).cached().outline.split(separator: "\n").dropFirst() == [
                """
                standard(.app.removing(.circuitBreaker).removing(.rateLimit).replacing(.concurrencyLimit)\
                .replacing(.retry).inserting(inside: .retry).inserting(inside: .retry).inserting(inside: .timeout))
                """,
                "├─ deadline(30.0 seconds, exemptsTransfers: true)",
                "├─ deduplicated()",
                "├─ retry(up to 1 times, backoff: none, budget: unlimited)",
                "├─ delayed(by: 1.0 seconds)",
                "├─ numbered",
                "├─ throttled(maxPerHost: 12)",
                "├─ timeout(connect: 10.0 seconds, head: 10.0 seconds, idle: 20.0 seconds, exemptsStreams: true)",
                "└─ numbered",
                "MockTransport",
            ]
        )
        // A preset is a value.
        #expect(MockTransport().standard(.app).outline.contains("circuitBreaker"))
    }

    @Test func endpointsBelongInsideRetry() {
        let endpoints = ServerEndpoints("api.example.com", endpoints: ["a.example.com", "b.example.com"])
        let preset = StandardStack.app.removing(.circuitBreaker)
        let inserted = preset.inserting(inside: .retry) { $0.server(endpoints: endpoints) }
        #expect(MockTransport().standard(inserted).diagnostics.isEmpty)

        let inner = MockTransport().server(endpoints: endpoints).standard(preset)
        #expect(inner.diagnostics.map(\.message).contains { $0.contains("is inside timeout") })
    }

    @Test(arguments: StandardStack.Part.allCases)
    func everyPartCanBeRemovedAndReturned(part: StandardStack.Part) {
        let whole = MockTransport().standard(.app).modifiers.map(\.outlineName)
        let rest = MockTransport().standard(.app.removing(part)).modifiers.map(\.outlineName)
        #expect(rest.count == whole.count - 1)
        let returned = MockTransport().standard(.app.removing(part).replacing(part) { $0.numbered() })
        var expected = whole
        expected[whole.count - 1 - (StandardStack.Part.allCases.firstIndex(of: part) ?? 0)] = "numbered"
        #expect(returned.modifiers.map(\.outlineName) == expected)
    }

    @Test func stacksShareNothingUnlessAPartIsShared() async throws {
        let held = HeldResponse()
        let limiter = ConcurrencyLimiter(max: 1)
        let shared = StandardStack.app.replacing(.concurrencyLimit) { $0.throttled(by: limiter) }
        for (stack, expected) in [(StandardStack.app, 12), (shared, 1)] {
            let transport = MockTransport { _ in .held(by: held) }
            let stacks = [transport.standard(stack), transport.standard(stack)]
            try await withThrowingTaskGroup { group in
                for number in 0..<14 {
                    var request = request
                    request.path = "/\(number)"
                    let (sent, network) = (request, stacks[number % 2])
                    group.addTask { _ = try await network.data(sent) }
                }
                try await transport.waitForRequests(expected)
                try await eventually("the others wait") { limiter.waiting == (expected == 1 ? 13 : 0) }
                #expect(transport.active == expected)
                group.cancelAll()
                while let result = await group.nextResult() {
                    #expect(throws: CancellationError.self) { try result.get() }
                }
            }
        }
    }

    // MARK: Diagnostics

    @Test(arguments: presets)
    func presetHasNoDiagnostics(stack: StandardStack) {
        let stacks: [any NetworkingComponent] = [
            MockTransport().standard(stack),
            MockTransport().standard(stack).cached().checkedStatusCode().logged().server(authority: "a.example"),
        ]
        for network in stacks {
            #expect(network.diagnostics == [])
        }
        #if URLSession
        #expect(URLSession.shared.standard(stack).diagnostics == [])
        #expect(URLSessionTransport().standard(stack).diagnostics == [])
        #endif
    }

    @Test func partsThatTheStackHasTwiceAreReported() {
        let transport = MockTransport()
        let stacks: [(any NetworkingComponent, String)] = [
            (transport.timeout(.seconds(5)).standard(.app), "timeout(5.0 seconds)"),
            (transport.retry().standard(.app), "is inside another retry"),
            (transport.deduplicated().standard(.app), "deduplicated()"),
            (transport.circuitBreaker(.server).standard(.app), "circuitBreaker(20.0%"),
            (transport.standard(.app).deduplicated(), "deduplicated()"),
        ]
        for (network, part) in stacks {
            #expect(network.diagnostics.contains { $0.message.contains(part) }, "\(network.outline)")
        }
        #expect(
            transport.timeout(.seconds(5)).standard(.app).diagnostics.map(\.message) == [
                "standard(.app) has a timeout, and so has the stack around or inside of it: timeout(5.0 seconds). "
                    + "Remove that one, or the part of the preset: .removing(.timeout)."
            ]
        )
        #expect(transport.timeout(.seconds(5)).standard(.app.removing(.timeout)).diagnostics == [])
        #expect(transport.standard(.app).standard(.server).diagnostics.count >= 4)
    }

    // MARK: Limits

    @Test(arguments: presets)
    func silentServerFailsAtTheDeadline(stack: StandardStack) async {
        let transport = SteppedTransport(clock: clock, alarms: 2, head: nil)
        let network = network(transport, stack.removing(.retry))
        let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
        #expect(error?.isTimeout == true)
    }

    @Test func callWithRetriesEndsAtTheDeadline() async throws {
        let transport = MockTransport { _ in .never }
        let network = network(transport)
        async let failure = #expect(throws: NetworkingError.self) { try await network.data(request) }
        try await transport.waitForRequests()
        // The first attempt ends after 20 seconds without data, and the second one at the deadline.
        try await clock.waitForSleepers(2)
        clock.advanceToNextDeadline()
        try await clock.run { try await transport.waitForRequests(2) }
        clock.advance(by: .seconds(30) - clock.now.offset)
        let error = await failure
        #expect(error?.kind == .deadline)
        #expect(clock.now.offset == .seconds(30))
        #expect(transport.requests.count == 2)
    }

    @Test func slowBodyOutlivesTheDeadline() async throws {
        let body = Array(repeating: Duration.seconds(15), count: 4)
        let transport = SteppedTransport(clock: clock, alarms: 2, head: .seconds(9), body: body)
        let response = try await network(transport).data(request)
        #expect(response.data == Data("xxxx".utf8))
        #expect(clock.now.offset == .seconds(69))
    }

    @Test func joinedCallersShareASlowBody() async throws {
        let inFlight = InFlightRequests()
        let body = Array(repeating: Duration.seconds(15), count: 4)
        let transport = SteppedTransport(clock: clock, alarms: 3, body: body)
        let network = network(transport, .app.replacing(.deduplication) { $0.deduplicated(sharing: inFlight) })
        async let first = network.data(request)
        async let second = network.data(request)
        #expect(try await [first.data, second.data] == [Data("xxxx".utf8), Data("xxxx".utf8)])
        #expect(transport.requests.count == 1)
    }

    @Test func silentBodyEndsEarly() async throws {
        let transport = SteppedTransport(clock: clock, alarms: 2, body: [.seconds(20)])
        let error = await #expect(throws: NetworkingError.self) {
            try await network(transport, .app.removing(.retry)).data(request)
        }
        #expect(error?.kind == .timeout)
        #expect(error?.reason.contains("No data was transferred for 20.0 seconds") == true)
    }

    @Test(arguments: presets)
    func longDownloadHasNoDeadline(stack: StandardStack) async throws {
        let body = Array(repeating: Duration.seconds(9), count: 400)
        let transport = SteppedTransport(clock: clock, body: body)
        let file = FileManager.default.temporaryDirectory.appending(path: "standard-\(UUID()).bin")
        defer { try? FileManager.default.removeItem(at: file) }
        let downloaded = try await network(transport, stack).download(request, to: file)
        #expect(downloaded.byteCount == 400)
        #expect(clock.now.offset == .seconds(3_600))
    }

    @Test(arguments: presets)
    func silentStreamLives(stack: StandardStack) async throws {
        let transport = SteppedTransport(clock: clock, body: [.seconds(600), .seconds(600)])
        let data = try await network(transport, stack)
            .stream(request) { _, stream in
                var data = Data()
                for try await chunk in stream { data += chunk }
                return data
            }
        #expect(data == Data("xx".utf8))
    }

    @Test(arguments: presets)
    func longUploadHasNoDeadline(stack: StandardStack) async throws {
        let sending = Array(repeating: Duration.seconds(8), count: 100)
        let transport = SteppedTransport(clock: clock, sending: sending, head: .seconds(8))
        let bodies: [RequestBody] = [
            .data(Data(count: 1 << 20 + 1), contentType: "application/octet-stream"),
            .stream { AsyncStream<Data> { $0.finish() } },
        ]
        for body in bodies {
            var request = request
            (request.method, request.body) = (.put, body)
            #expect(try await network(transport, stack).data(request).status == .ok)
        }
    }

    @Test func shortUploadHasADeadline() async throws {
        let transport = SteppedTransport(clock: clock, alarms: 2, sending: [.seconds(15), .seconds(16)], head: nil)
        var request = request
        (request.method, request.body) = (.put, .data(Data(count: 1_024), contentType: "text/plain"))
        let sent = request
        let error = await #expect(throws: NetworkingError.self) { try await network(transport).data(sent) }
        #expect(error?.kind == .deadline)
    }

    /// The transport's own limit does not end an exchange that the stack allows.
    @Test(arguments: presets)
    func transportHasNoShorterLimit(stack: StandardStack) async throws {
        #expect(try await SilenceProbe().standard(stack).data(request).status == .ok)
    }

    /// A transport whose own limit of silence is not needed.
    private struct SilenceProbe: NetworkingTransport {
        func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
            let mayBeSilent = request.isSilenceLimited && request.allowedSilence >= .seconds(60)
            return HTTPResponseData(
                request: request,
                http: HTTPResponse(status: mayBeSilent ? .ok : .badRequest),
                body: .collected(Data())
            )
        }
    }

    // MARK: Retries

    @Test(arguments: presets)
    func postIsNotRetriedWithoutAKey(stack: StandardStack) async throws {
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        let network = transport.standard(stack).environment(\.clock, .immediate())
        var request = request
        (request.method, request.body) = (.post, .json(["id": 1]))
        let plain = try await network.data(request)
        #expect(plain.retryRefusal == .notIdempotent)
        #expect(transport.requests.count == 1)
        request.headerFields[.idempotencyKey] = "\"1\""
        #expect(try await network.data(request).retryRefusal == .exhausted)
        #expect(transport.requests.count == (stack.description == ".app" ? 5 : 4))
    }

    @Test(arguments: presets)
    func waitBeyondTheDeadlineFailsAtOnce(stack: StandardStack) async throws {
        let transport = MockTransport { _ in
            .status(.tooManyRequests, headerFields: [.retryAfter: "31"])
        }
        let response = try await network(transport, stack).data(request)
        #expect(response.retryRefusal == .deadline)
        #expect(clock.now.offset == .zero)
    }

    @Test func refusedWaitIsNotSent() async throws {
        let transport = MockTransport { _ in
            .status(.tooManyRequests, headerFields: [.retryAfter: "31"])
        }
        let network = network(transport)
        _ = try await network.data(request)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
        #expect(error?.kind == .rejected)
        #expect(error?.retryAfter != nil)
        #expect(transport.requests.count == 1)
        #expect(clock.now.offset == .zero)
    }
}
