import Foundation
import HTTPTypes
import Logging
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingCaching

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct TracedTests {
    private static let valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    private static let traceParent = HTTPField.Name("traceparent")!
    private static let traceState = HTTPField.Name("tracestate")!
    private static let baggage = HTTPField.Name("baggage")!

    private let clock = ManualClock()

    /// Returns the trace parent of each sent request.
    private func traces(_ requests: [HTTPRequestData]) throws -> [TraceParent] {
        try requests.map { request in
            let values = request.headerFields[values: Self.traceParent]
            #expect(values.count == 1)
            return try #require(TraceParent(values.first ?? ""))
        }
    }

    /// Checks that all requests have one trace ID and that each has its own parent ID.
    private func expectOneTrace(_ requests: [HTTPRequestData], steps: Int) throws {
        let traces = try traces(requests)
        #expect(traces.count == steps)
        #expect(Set(traces.map(\.traceID)).count == 1)
        #expect(Set(traces.map(\.parentID)).count == steps)
    }

    // MARK: Origin of the trace

    @Test func newTraceIsRandomAndSampled() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.traced()
        for _ in 0..<2 {
            try await network.data(.lawful)
        }
        let traces = try traces(transport.requests)
        #expect(traces[0].traceID != traces[1].traceID)
        #expect(traces.allSatisfy { $0.flags == [.sampled, .randomTraceID] })
        #expect(transport.requests.allSatisfy { !$0.headerFields.contains(Self.traceState) })
    }

    /// The field that the stack set is not treated as the caller's own when the request of a response is sent again.
    @Test func requestThatIsSentAgainHasANewTrace() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.traced()
        let response = try await network.data(.lawful)
        #expect(response.sentRequest.traceContext != nil)
        try await network.data(response.sentRequest)
        try await transport.data(response.sentRequest)
        let sent = transport.requests
        let both = try traces(Array(sent.prefix(2)))
        #expect(both[0].traceID != both[1].traceID)
        #expect(sent[2].traceContext == nil)
        // A field that the caller has set since then is kept.
        var own = response.sentRequest
        own.headerFields[Self.traceParent] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        try await network.data(own)
        #expect(transport.requests[3].headerFields[Self.traceParent] == own.headerFields[Self.traceParent])
    }

    @Test func idsComeFromTheSecureRandomSource() async throws {
        let transport = MockTransport { _ in .ok() }
        let random = SecureRandomSource { count in (1...count).map { UInt8($0) } }
        try await transport.traced().environment(\.secureRandom, random).data(.lawful)
        #expect(
            transport.requests[0].headerFields[Self.traceParent]
                == "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-03"
        )
        // An ID is never zero, whatever the source returns.
        try await transport.traced().environment(\.secureRandom, SecureRandomSource { .init(repeating: 0, count: $0) })
            .data(.lawful)
        #expect(transport.requests[1].traceContext != nil)
    }

    @Test func samplingDependsOnTheTraceID() async throws {
        let transport = MockTransport { _ in .ok() }
        // The random part of the ID is 0x00ff…, slightly less than 1 in 256.
        let random = SecureRandomSource { count in (0..<count).map { $0 == 9 ? 0 : 0xff } }
        func flags(_ ratio: Double, isSampled: Bool? = nil) async throws -> TraceParent.Flags? {
            let network = transport.traced(sampling: ratio).environment(\.secureRandom, random)
            return try await network.data(.lawful.with { $0.isTraceSampled = isSampled }).sentRequest.traceContext?
                .parent.flags
        }
        #expect(try await flags(0) == [.randomTraceID])
        #expect(try await flags(1.0 / 257) == [.randomTraceID])
        #expect(try await flags(1.0 / 255) == [.randomTraceID, .sampled])
        #expect(try await flags(1) == [.randomTraceID, .sampled])
        #expect(try await flags(0, isSampled: true) == [.randomTraceID, .sampled])
        #expect(try await flags(1, isSampled: false) == [.randomTraceID])
    }

    @Test func traceOfTheRequestIsContinued() async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .ok()])
        let request = HTTPRequestData.lawful.with {
            $0.headerFields[Self.traceParent] = Self.valid
            $0.headerFields[Self.traceState] = "congo=1"
            $0.headerFields[Self.baggage] = "user=emily"
        }
        let response = try await transport.retry(.immediate()).traced()
            .data(request)
        #expect(transport.requests.count == 2)
        for sent in transport.requests {
            #expect(sent.headerFields[values: Self.traceParent] == [Self.valid])
            #expect(sent.headerFields[values: Self.traceState] == ["congo=1"])
            #expect(sent.headerFields[Self.baggage] == "user=emily")
        }
        #expect(response.request.headerFields == request.headerFields)
        #expect(response.sentRequest.traceID?.description == "0af7651916cd43dd8448eb211c80319c")
        #expect(response.sentRequest.parentID?.description == "b7ad6b7169203331")
    }

    /// Each case has the expected state, or `nil` if the stack starts a new trace without a state.
    @Test(
        arguments: [
            (["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"], ["a=1"], "a=1"),
            (["cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more"], ["a=1", "b=2"], "a=1,b=2"),
            (["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"], ["A=1"], ""),
            (["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"], ["a=1,A=2", "b=2"], ""),
            (["00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"], ["a=1"], nil),
            (["ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"], ["a=1"], nil),
            (["00-00000000000000000000000000000000-b7ad6b7169203331-01"], ["a=1"], nil),
            (
                [
                    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                ], ["a=1"], nil
            ),
            ([], ["a=1"], nil),
        ] as [([String], [String], String?)]
    )
    func onlyValidTracesAreContinued(parents: [String], states: [String], state: String?) async throws {
        let transport = MockTransport { _ in .ok() }
        try await transport.traced()
            .data(
                .lawful.with {
                    $0.headerFields[values: Self.traceParent] = parents
                    $0.headerFields[values: Self.traceState] = states
                }
            )
        let sent = transport.requests[0]
        let trace = try #require(try traces([sent]).first)
        #expect((trace.traceID.description == "0af7651916cd43dd8448eb211c80319c") == (state != nil))
        #expect(sent.headerFields[values: Self.traceState].joined(separator: "|") == state ?? "")
    }

    @Test func traceOfTheEnvironmentIsContinued() async throws {
        let context = try #require(
            TraceContext(headerFields: [Self.traceParent: Self.valid, Self.traceState: "congo=1"])
        )
        let transport = MockTransport { _ in .ok() }
        let network = transport.traced().environment(\.traceContext, context)
        try await network.data(.lawful)
        try await network.data(.lawful)
        try expectOneTrace(transport.requests, steps: 2)
        #expect(transport.requests.allSatisfy { $0.traceID == context.parent.traceID })
        #expect(transport.requests.allSatisfy { $0.parentID != context.parent.parentID })
        #expect(transport.requests.allSatisfy { $0.traceContext?.parent.flags == .sampled })
        #expect(transport.requests.allSatisfy { $0.headerFields[Self.traceState] == "congo=1" })
        // An inner environment value of `nil` overrides it.
        try await transport.traced().environment(\.traceContext, nil).environment(\.traceContext, context).data(.lawful)
        #expect(transport.requests.last?.traceID != context.parent.traceID)
    }

    // MARK: Sent fields

    @Test func attemptsRedirectsAndResendsHaveTheirOwnParentIDs() async throws {
        let moved = MockResponse.redirect(to: "https://api.example.com/elsewhere")
        let movedOn = MockResponse.redirect(to: "https://api.example.com/further")
        let transport = MockTransport([.status(.serviceUnavailable), moved, movedOn, .ok()])
        let network = transport.retry(.immediate()).traced()
        let hopping = MockTransport([moved, .status(.serviceUnavailable), .ok()])
        try await network.data(.lawful.with { $0.redirects = .follow })
        try expectOneTrace(transport.requests, steps: 4)
        try await hopping.retry(.immediate()).redirected().traced()
            .data(.lawful)
        try expectOneTrace(hopping.requests, steps: 3)
    }

    @Test func requestAfterARefreshKeepsItsTrace() async throws {
        let server = TokenServer()
        let store = TokenStore(server.session(), delegate: server.delegate)
        server.expire()
        let transport = server.transport
        let network = transport.authenticated(with: store).traced().server(authority: "api.example.com")
        try await network.me()
        try expectOneTrace(transport.requests, steps: 2)
    }

    @Test func innerModifierKeepsTheTraceOfTheOuterOne() async throws {
        let transport = MockTransport { _ in .ok() }
        let log = LogRecorder()
        let network = transport.traced(sampling: 0).logged().traced().environment(\.logger, log.logger())
        let response = try await network.data(.lawful)
        let trace = try #require(try traces(transport.requests).first)
        #expect(trace.isSampled)
        #expect(
            log.lines.map { $0.metadata["trace-id"] } == [
                .stringConvertible(trace.traceID), .stringConvertible(trace.traceID),
            ]
        )
        // The request of a response can be sent again and gets a new trace.
        #expect(!response.sentRequest.isTraced)
        try await network.data(response.request)
        #expect(try Set(traces(transport.requests).map(\.traceID)).count == 2)
    }

    @Test func innerLogLinesHaveTheTraceID() async throws {
        let log = LogRecorder()
        let transport = MockTransport { _ in .ok() }
        try await transport.traced().logged().environment(\.logger, log.logger()).data(.lawful)
        #expect(log.lines.allSatisfy { $0.metadata["trace-id"] == nil })
        #expect(log.lines.count == 2)
    }

    @Test func eachOfAThousandCallsHasItsOwnTrace() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.traced()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<1_000 {
                group.addTask { _ = try await network.data(.lawful) }
            }
            try await group.waitForAll()
        }
        let traces = try traces(transport.requests)
        #expect(Set(traces.map(\.traceID)).count == 1_000)
        #expect(Set(traces.map(\.parentID)).count == 1_000)
    }

    @Test func failedRequestHasATrace() async throws {
        let transport = MockTransport { _ in throw NetworkingError(.connection, request: .lawful) }
        let network = transport.traced().checkedStatusCode()
        _ = try? await network.data(.lawful)
        try expectOneTrace(transport.requests, steps: 1)
    }

    // MARK: Order of modifiers

    @Test func cacheWorksInsideAndOutsideOfTracing() async throws {
        let fresh: HTTPFields = [
            .cacheControl: "max-age=60", .date: NetworkClock.manual(clock).date.httpDate, .vary: "accept",
        ]
        let transport = MockTransport { _ in .ok(headerFields: fresh) }
        let inside = transport.traced().cached().environment(\.clock, .manual(clock))
        let outside = transport.cached().traced().environment(\.clock, .manual(clock))
        for network in [AnyNetworkingComponent(inside), AnyNetworkingComponent(outside)] {
            let count = transport.requests.count
            try await network.data(.lawful)
            #expect(try await network.data(.lawful).isCached)
            #expect(try await network.data(.lawful.with { $0.headerFields[Self.traceParent] = Self.valid }).isCached)
            #expect(transport.requests.count == count + 1)
        }
        _ = try traces(transport.requests)
    }

    @Test func backgroundRevalidationHasItsOwnTrace() async throws {
        let transport = MockTransport { [clock] _ in
            .ok(headerFields: [
                .cacheControl: "max-age=1, stale-while-revalidate=60", .date: NetworkClock.manual(clock).date.httpDate,
            ])
        }
        let cache = ResponseCache()
        let context = try #require(TraceContext(headerFields: [Self.traceParent: Self.valid]))
        let inside = transport.traced().cached(in: cache).environment(\.clock, .manual(clock))
        let outside = transport.cached(in: cache).traced(sampling: 0).environment(\.clock, .manual(clock))
        for (index, network) in [AnyNetworkingComponent(inside), AnyNetworkingComponent(outside)].enumerated() {
            let request = HTTPRequestData.lawful.with { $0.path = "/\(index)" }
            let network = network.environment(\.traceContext, context)
            try await network.data(request)
            clock.advance(by: .seconds(2))
            try await network.data(request)
            try await eventually("!cache.isRevalidating") { !cache.isRevalidating }
            let sent = transport.requests.filter { $0.path == request.path }
            #expect(sent.count == 2)
            #expect(sent.first?.traceID == context.parent.traceID)
            #expect(sent.last?.traceID != context.parent.traceID)
            #expect(sent.last?.traceContext?.parent.isSampled == (index == 0))
        }
    }

    @Test(arguments: [true, false])
    func sharedExchangeHasOneTrace(isOutside: Bool) async throws {
        let inFlightRequests = InFlightRequests()
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        let base = transport
        let network =
            isOutside
            ? AnyNetworkingComponent(base.deduplicated(sharing: inFlightRequests).traced())
            : AnyNetworkingComponent(base.traced().deduplicated(sharing: inFlightRequests))
        let first = Task { try await network.data(.lawful) }
        try await eventually("inFlightRequests.waiting >= 1") { inFlightRequests.waiting >= 1 }
        let second = Task {
            try await network.data(.lawful.with { $0.headerFields[Self.traceParent] = Self.valid })
        }
        try await eventually("inFlightRequests.waiting >= 2") { inFlightRequests.waiting >= 2 }
        held.respond()
        let sent = try await [first.value, second.value].map(\.sentRequest)
        #expect(Set(try traces(sent)).count == 1)
        #expect(sent[0].traceID?.description != "0af7651916cd43dd8448eb211c80319c")
    }
}
