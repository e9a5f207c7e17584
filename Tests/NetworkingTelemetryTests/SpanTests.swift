#if Telemetry
import Foundation
import HTTPTypes
import InMemoryTracing
import NetworkingTesting
import TestSupport
import Testing
import Tracing

import Networking
@testable import NetworkingObservability
@testable import NetworkingTelemetry

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct SpanTests {
    private static let valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    private let tracer = W3CTracer()
    private let clock = ManualClock()

    /// Returns a stack over scripted responses.
    private func stack(
        _ script: [MockResponse],
        _ options: TelemetryOptions = TelemetryOptions()
    ) -> (network: AnyNetworkingComponent, transport: MockTransport) {
        let transport = MockTransport(script)
        let network = transport.retry(.immediate()).telemetry(tracer: tracer, options: options)
        return (AnyNetworkingComponent(network), transport)
    }

    // MARK: One exchange

    @Test func recordsASpanForTheCallAndOneForItsExchange() async throws {
        let transport = MockTransport { _ in .ok().delayed(by: .milliseconds(1_500)) }
        let network = transport.telemetry(tracer: tracer).environment(\.clock, .immediate())
        var request = HTTPRequestData(authority: "API.example.com:8443", path: "users/42")
        request.route = "/users/{id}"
        try await network.data(request)

        let (call, attempt) = (try #require(tracer.calls.first), try #require(tracer.attempts.first))
        #expect(tracer.spans.count == 2)
        #expect(tracer.memory.activeSpans.isEmpty)
        #expect(call.operationName == "call GET /users/{id}")
        #expect(attempt.operationName == "GET /users/{id}")
        #expect(attempt.parentSpanID == call.spanID)
        #expect(call.parentSpanID == nil)
        for span in [call, attempt] {
            #expect(span.text("http.request.method") == "GET")
            #expect(span.text("server.address") == "api.example.com")
            #expect(span.text("server.port") == "8443")
            #expect(span.text("url.full") == "https://API.example.com:8443/users/42")
            #expect(span.text("url.template") == "/users/{id}")
            #expect(span.text("http.response.status_code") == "200")
            #expect(span.text("error.type") == nil)
            #expect(span.status == nil)
            #expect(span.errors.isEmpty)
        }
        for name in ["http.request.resend_count", "http.request.method_original", "network.protocol.name"] {
            #expect(attempt.text(name) == nil)
        }
        #expect(call.text("networking.attempts") == "1")
        let took = attempt.endInstant.nanosecondsSinceEpoch - attempt.startInstant.nanosecondsSinceEpoch
        #expect(took == 1_500_000_000)
        #expect(attempt.startInstant.nanosecondsSinceEpoch / 1_000_000_000 == 1_700_000_000)
    }

    @Test func sendsTheSpanOfTheExchangeAsTraceContext() async throws {
        let (network, transport) = stack([.ok()])
        var context = InstrumentationContext.topLevel
        context.user = "emily"
        try await InstrumentationContext.withValue(context) {
            _ = try await network.data(.lawful.with { $0.headerFields[.traceState] = "mine=1" })
        }
        let attempt = try #require(tracer.attempts.first)
        let sent = transport.requests[0]
        #expect(sent.headerFields[values: .traceParent] == ["00-\(attempt.traceID)-\(attempt.spanID)-01"])
        #expect(sent.headerFields[values: .traceState] == ["memory=1"])
        #expect(sent.headerFields[HTTPField.Name("baggage")!] == "user=emily")
    }

    /// The names follow the conventions of OpenTelemetry.
    @Test(arguments: [
        (HTTPRequest.Method.get, "GET", nil), (.post, "POST", nil), (.patch, "PATCH", nil),
        (HTTPRequest.Method("PURGE")!, "HTTP", "PURGE"), (HTTPRequest.Method("get")!, "HTTP", "get"),
    ])
    func namesUnknownMethodsHTTP(method: HTTPRequest.Method, name: String, original: String?) async throws {
        let (network, _) = stack([.ok()])
        try await network.data(.lawful.with { $0.method = method })
        let attempt = try #require(tracer.attempts.first)
        #expect(attempt.operationName == name)
        #expect(attempt.text("http.request.method") == (original == nil ? name : "_OTHER"))
        #expect(attempt.text("http.request.method_original") == original)
    }

    @Test func namesAdditionalKnownMethods() async throws {
        var options = TelemetryOptions()
        let purge = HTTPRequest.Method("PURGE")!
        options.knownMethods.insert(purge)
        let (network, _) = stack([.ok()], options)
        try await network.data(.lawful.with { $0.method = purge })
        #expect(tracer.attempts.first?.operationName == "PURGE")
    }

    @Test(arguments: [("https://a.example/", "443"), ("http://localhost/", "80"), ("https://[::1]:99/", "99")])
    func recordsTheNamedOrDefaultPort(url: String, port: String) async throws {
        let (network, _) = stack([.ok()])
        try await network.data(HTTPRequestData(url: try #require(URL(string: url))))
        #expect(tracer.attempts.first?.text("server.port") == port)
    }

    @Test func recordsTheConnection() async throws {
        struct Measured: NetworkingTransport {
            func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
                var metrics = ConnectionMetrics()
                metrics.protocolVersion = "2"
                metrics.peerAddress = "192.0.2.7"
                metrics.peerPort = 443
                request.emit(ExchangeEvent.connectionMeasured(metrics))
                return HTTPResponseData(request: request)
            }
        }
        try await Measured().telemetry(tracer: tracer).data(.lawful)
        let attempt = try #require(tracer.attempts.first)
        #expect(attempt.text("network.protocol.version") == "2")
        #expect(attempt.text("network.peer.address") == "192.0.2.7")
        #expect(attempt.text("network.peer.port") == "443")
    }

    // MARK: Options

    @Test func recordsOnlyNamedFields() async throws {
        let fields: HTTPFields = [.contentType: "text/plain", .setCookie: "secret=1", .location: "/a?token=secret"]
        var request = HTTPRequestData.lawful
        request.headerFields[values: .accept] = ["a/b", "c/d"]
        request.headerFields[.authorization] = "Bearer secret"
        request.headerFields[.userAgent] = "Test/1"
        request.body = .data(Data(count: 7), contentType: "application/octet-stream")
        request.method = .put
        var options = TelemetryOptions()
        options.requestHeaderFields = [.accept, .authorization, .acceptLanguage]
        options.responseHeaderFields = [.contentType, .setCookie, .location]
        options.recordsUserAgent = true
        options.recordsBodySizes = true
        let (network, _) = stack([.ok(Data(count: 5), headerFields: fields), .ok()], options)
        try await network.data(request)
        let attempt = try #require(tracer.attempts.first)
        #expect(attempt.text("http.request.header.accept") == "a/b|c/d")
        #expect(attempt.text("http.request.header.authorization") == nil)
        #expect(attempt.text("http.request.header.accept-language") == nil)
        #expect(attempt.text("http.response.header.content-type") == "text/plain")
        #expect(attempt.text("http.response.header.set-cookie") == nil)
        #expect(attempt.text("user_agent.original") == "Test/1")
        #expect(attempt.text("http.request.body.size") == "7")
        #expect(attempt.text("http.response.body.size") == "5")
        #expect(!attempt.everything.contains("secret"))

        tracer.memory.clearFinishedSpans()
        let plain = stack([.ok()])
        try await plain.network.data(request)
        let text = try #require(tracer.attempts.first).everything
        for name in ["header", "user_agent", "size"] {
            #expect(!text.contains(name))
        }
    }

    @Test func spansContainNoSecret() async throws {
        var options = TelemetryOptions()
        options.redaction = .standard.addingQueryItems("ticket").addingHeaderFields("X-Mine")
        options.requestHeaderFields = [HTTPField.Name("X-Mine")!]
        struct Failure: Error, CustomStringConvertible {
            var description: String { "s3cret" }
        }
        let (network, _) = stack(
            [
                .redirect(to: "https://other.example/a?access_token=s3cret"), .ok(), .failure(Failure()),
                .status(.notFound), .status(.notFound),
            ],
            options
        )
        let query =
            "AWSAccessKeyId=s3cret&Signature=s3cret&sig=s3cret&X-Goog-Signature=s3cret&ticket=s3cret&token=s3cret&a=1"
        let request = HTTPRequestData(
            authority: "api.example.com",
            path: "/a?\(raw: query)",
            headerFields: HeaderFields([
                HTTPField.Name("X-Mine")!: "s3cret", .cookie: "s3cret", .authorization: "s3cret",
            ])
        )
        for _ in 0..<3 {
            _ = try? await network.data(request)
        }
        #expect(tracer.calls.count == 3)
        #expect(tracer.attempts.count == 4)
        for span in tracer.spans {
            #expect(!span.everything.contains("s3cret"))
        }
        let urls = tracer.attempts.compactMap { $0.text("url.full") }
        #expect(urls.first == "https://api.example.com/a?\(query.replacing("s3cret", with: "REDACTED"))")
        #expect(urls.contains("https://other.example/a?access_token=REDACTED"))
        #expect(tracer.spans.contains { $0.text("error.type") == "Failure" })
    }

    /// No stack sends a URL with user information, but redaction must not rely on that.
    @Test(arguments: [
        ("user:s3cret@api.example.com", "/", "https://REDACTED:REDACTED@api.example.com/"),
        ("s3cret@api.example.com:99", "/a?b=1", "https://REDACTED:REDACTED@api.example.com:99/a?b=1"),
        ("a@s3cret@api.example.com", "/?sig=s3cret#", "https://REDACTED:REDACTED@api.example.com/?sig=REDACTED"),
        ("api.example.com", "/?SIG=s3cret&sig&sig=&x=1", "https://api.example.com/?SIG=REDACTED&sig&sig=REDACTED&x=1"),
    ])
    func redactsURLs(authority: String, path: String, url: String) {
        let request = HTTPRequestData(authority: authority, path: path)
        #expect(request.telemetryURL(redactedBy: .standard).hasPrefix(url))
        #expect(!request.telemetryURL(redactedBy: .standard).contains("s3cret"))
        #expect(request.server.address == "api.example.com")
    }

    // MARK: Several exchanges

    @Test func countsRetriesAndRedirectsAsResends() async throws {
        let (network, transport) = stack([
            .status(.serviceUnavailable), .redirect(to: "https://api.example.com/elsewhere"), .ok(),
        ])
        try await network.data(.lawful)
        let (call, attempts) = (try #require(tracer.calls.first), tracer.attempts)
        #expect(transport.requests.count == 3)
        #expect(attempts.map { $0.text("http.request.resend_count") } == [nil, "1", "2"])
        #expect(attempts.map { $0.text("http.response.status_code") } == ["503", "302", "200"])
        #expect(attempts.map { $0.text("error.type") } == ["503", nil, nil])
        #expect(attempts.map { $0.status?.code } == [.error, nil, nil])
        #expect(attempts.allSatisfy { $0.parentSpanID == call.spanID && $0.traceID == call.traceID })
        #expect(transport.requests.map { $0.parentID?.description } == attempts.map(\.spanID))
        // A failed attempt is not an error of the call if the retry succeeded.
        #expect(call.status == nil)
        #expect(call.text("networking.attempts") == "3")
        #expect(call.events.map(\.name) == ["networking.retry", "networking.redirect"])
    }

    @Test func recordsDeprecations() async throws {
        let fields: HTTPFields = [HTTPField.Name("Deprecation")!: "@1688169599"]
        let transport = MockTransport { _ in .ok(headerFields: fields) }
        let network = transport.deprecationsReported().telemetry(tracer: tracer)
            .environment(\.logger, LogRecorder().logger())
        try await network.data(.lawful)
        try await network.data(.lawful)
        #expect(tracer.calls.map { $0.events.map(\.name) } == [["networking.deprecation"], []])
    }

    @Test func recordsAnExchangeForEachRedirect() async throws {
        let transport = MockTransport([.redirect(to: "https://api.example.com/elsewhere"), .ok()])
        try await transport.redirected().telemetry(tracer: tracer).data(.lawful)
        #expect(tracer.attempts.map { $0.text("http.request.resend_count") } == [nil, "1"])
        #expect(tracer.calls.count == 1)
    }

    // MARK: Failures

    @Test(arguments: [404, 500])
    func statusOf400AndAboveIsAnErrorUnlessAccepted(code: Int) async throws {
        let transport = MockTransport { _ in .status(.init(code: code)) }
        let network = transport.telemetry(tracer: tracer)
        try await network.data(.lawful)
        for span in tracer.spans {
            #expect(span.status?.code == .error)
            #expect(span.status?.message == nil)
            #expect(span.text("error.type") == "\(code)")
        }
        tracer.memory.clearFinishedSpans()
        try await network.data(.lawful.with { $0.acceptedStatuses = StatusSet(code...code) })
        #expect(tracer.spans.allSatisfy { $0.status == nil && $0.text("error.type") == nil })
        #expect(tracer.spans.count == 2)
    }

    @Test func namesAnErrorByItsKind() async throws {
        let transport = MockTransport { throw NetworkingError(.connection, request: $0) }
        await #expect(throws: NetworkingError.self) { try await transport.telemetry(tracer: tracer).data(.lawful) }
        #expect(tracer.spans.map { $0.text("error.type") } == ["connection", "connection"])
        #expect(tracer.spans.allSatisfy { $0.status?.code == .error && $0.errors.isEmpty })
        #expect(tracer.memory.activeSpans.isEmpty)
    }

    @Test func requestThatIsNotSentEndsItsSpans() async throws {
        /// Makes the request invalid after all checks of the stack, so no transport sends it.
        struct Spoiled: NetworkingModifier {
            func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
                try await upstream.send(request.with { $0.headerFields[.contentLength] = "1" })
            }
        }
        let transport = MockTransport()
        let network = transport.modified(Spoiled()).telemetry(tracer: tracer)
        await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(transport.requests.isEmpty)
        #expect(tracer.memory.activeSpans.isEmpty)
        #expect(tracer.spans.map { $0.text("error.type") } == ["invalidRequest", "invalidRequest"])
    }

    @Test func recordsCancellationAsAnError() async throws {
        let transport = MockTransport { _ in .ok().delayed(by: .seconds(1)) }
        let network = transport.telemetry(tracer: tracer).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(tracer.spans.count == 2)
        #expect(tracer.spans.allSatisfy { $0.text("error.type") == "cancelled" && $0.status?.code == .error })
    }

    @Test func recordsATimeoutAsTheErrorOfItsExchange() async throws {
        let transport = MockTransport { _ in .ok().delayed(by: .seconds(9)) }
        let network = transport.timeout(.seconds(2)).telemetry(tracer: tracer).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(2))
        await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(tracer.attempts.map { $0.text("error.type") } == ["timeout"])
        #expect(tracer.calls.map { $0.text("error.type") } == ["timeout"])
        #expect(tracer.calls.first?.events.map(\.name) == ["networking.timeout"])
    }

    // MARK: Parent traces

    @Test func callIsAChildOfTheCurrentSpan() async throws {
        let (network, _) = stack([.ok()])
        let outer = tracer.startSpan("outer")
        try await InstrumentationContext.withValue(outer.context) { _ = try await network.data(.lawful) }
        #expect(tracer.calls.first?.parentSpanID == outer.spanID)
    }

    @Test func continuesTheTraceOfTheRequest() async throws {
        let (network, transport) = stack([.ok()])
        try await network.data(.lawful.with { $0.headerFields[.traceParent] = Self.valid })
        #expect(tracer.calls.first?.parentSpanID == "b7ad6b7169203331")
        #expect(transport.requests[0].traceID?.description == "0af7651916cd43dd8448eb211c80319c")
        #expect(transport.requests[0].headerFields[values: .traceParent].count == 1)
    }

    @Test func continuesTheTraceOfTheEnvironment() async throws {
        let context = try #require(TraceContext(headerFields: [.traceParent: Self.valid]))
        let (network, _) = stack([.ok()])
        try await network.environment(\.traceContext, context).data(.lawful)
        #expect(tracer.calls.first?.parentSpanID == "b7ad6b7169203331")
    }

    @Test func sendsATraceWithoutAPropagator() async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .ok(), .ok(), .ok()])
        let network = transport.retry(.immediate()).telemetry(tracer: NoOpTracer())
        try await network.data(.lawful)
        #expect(Set(transport.requests.map(\.traceID)).count == 1)
        #expect(transport.requests[0].traceID != nil)
        #expect(Set(transport.requests.map(\.parentID)).count == 2)
        try await network.data(.lawful.with { $0.headerFields[.traceParent] = Self.valid })
        #expect(transport.requests[2].headerFields[values: .traceParent] == [Self.valid])
        // No instrumentation system is bootstrapped here.
        try await transport.telemetry().data(.lawful)
        #expect(transport.requests[3].traceID != nil)
    }

    @Test func tracedAddsNoSecondTraceInEitherOrder() async throws {
        let transport = MockTransport { _ in .ok() }
        try await transport.traced().telemetry(tracer: tracer).data(.lawful)
        try await transport.telemetry(tracer: tracer).traced().data(.lawful)
        #expect(transport.requests.map { $0.parentID?.description } == tracer.attempts.map(\.spanID))
        #expect(transport.requests.allSatisfy { $0.headerFields[values: .traceParent].count == 1 })
        // A tracer without propagation sends the trace of the outer modifier.
        try await transport.telemetry(tracer: NoOpTracer()).traced()
            .data(
                .lawful.with { $0.headerFields[.traceParent] = Self.valid }
            )
        #expect(transport.requests[2].headerFields[values: .traceParent] == [Self.valid])
    }

    @Test func concurrentCallsHaveSeparateTraces() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.telemetry(tracer: tracer)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<1_000 {
                group.addTask { _ = try await network.data(.lawful) }
            }
            try await group.waitForAll()
        }
        let calls = Dictionary(uniqueKeysWithValues: tracer.calls.map { ($0.spanID, $0.traceID) })
        #expect(Set(calls.values).count == 1_000)
        #expect(tracer.attempts.count == 1_000)
        #expect(tracer.attempts.allSatisfy { calls[$0.parentSpanID ?? ""] == $0.traceID })
        #expect(Set(transport.requests.compactMap { $0.parentID?.description }) == Set(tracer.attempts.map(\.spanID)))
    }

    @Test func onlyOneOfTwoTelemetryModifiersRecords() async throws {
        let transport = MockTransport { _ in .ok() }
        try await transport.telemetry(tracer: tracer).retry().telemetry(tracer: tracer).data(.lawful)
        #expect(tracer.spans.count == 2)
    }

    // MARK: Upstream

    /// Records the ID of the current span.
    private struct SpanProbe: NetworkingComponent {
        let seen: Journal

        func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
            seen.note(InstrumentationContext.current?.inMemorySpanContext?.spanID ?? "none")
            return HTTPResponseData(request: request)
        }
    }

    @Test func callSpanIsCurrentUpstream() async throws {
        let seen = Journal()
        try await SpanProbe(seen: seen).telemetry(tracer: tracer).data(.lawful)
        #expect(seen.entries == tracer.calls.map(\.spanID))
    }

    @Test func sharedOperationRunsWithoutACurrentSpan() async throws {
        let seen = Journal()
        try await SpanProbe(seen: seen).deduplicated().telemetry(tracer: tracer).data(.lawful)
        #expect(seen.entries == ["none"])
    }

    // MARK: The stack

    @Test func cacheHitIsACallWithoutExchange() async throws {
        let transport = MockTransport { [clock] _ in
            .ok(headerFields: [.cacheControl: "max-age=60", .date: NetworkClock.manual(clock).date.httpDate])
        }
        let network = transport.cached().telemetry(tracer: tracer).environment(\.clock, .manual(clock))
        try await network.data(.lawful)
        try await network.data(.lawful)
        #expect(tracer.attempts.count == 1)
        #expect(tracer.calls.map { $0.text("networking.cache.outcome") } == ["missed", "fresh"])
        #expect(tracer.calls.map { $0.text("networking.attempts") } == ["1", "0"])
    }

    /// Starts two calls that share an exchange of one second.
    private func callsThatShareAnExchange() async throws -> (
        first: Task<HTTPResponseData, any Error>, second: Task<HTTPResponseData, any Error>
    ) {
        let inFlightRequests = InFlightRequests()
        let transport = MockTransport { _ in .ok().delayed(by: .seconds(1)) }
        let network = transport.deduplicated(sharing: inFlightRequests).telemetry(tracer: tracer)
            .environment(\.clock, .manual(clock))
        let first = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers()
        let second = Task { try await network.data(.lawful) }
        try await eventually("inFlightRequests.waiting >= 2") { inFlightRequests.waiting >= 2 }
        return (first, second)
    }

    @Test func sharedExchangeIsASpanOfTheFirstCall() async throws {
        let (first, second) = try await callsThatShareAnExchange()
        clock.advance(by: .seconds(1))
        _ = try await (first.value, second.value)
        let attempt = try #require(tracer.attempts.first)
        #expect(tracer.attempts.count == 1)
        #expect(attempt.text("http.response.status_code") == "200")
        let owner = try #require(tracer.calls.first { $0.spanID == attempt.parentSpanID })
        let waiter = try #require(tracer.calls.first { $0.spanID != attempt.parentSpanID })
        #expect(owner.text("networking.attempts") == "1")
        #expect(waiter.text("networking.attempts") == "0")
        #expect(waiter.events.map(\.name) == ["networking.shared", "networking.wait"])
        #expect(owner.events.isEmpty)
    }

    @Test func cancelledCallOfASharedExchangeEndsItsSpan() async throws {
        let (first, second) = try await callsThatShareAnExchange()
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        clock.advance(by: .seconds(1))
        _ = try await second.value
        #expect(tracer.attempts.map { $0.text("error.type") } == ["cancelled"])
        #expect(tracer.memory.activeSpans.isEmpty)
    }
}
#endif
