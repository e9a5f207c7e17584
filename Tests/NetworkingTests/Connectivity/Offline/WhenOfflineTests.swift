import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct WhenOfflineTests {
    private let clock = ManualClock()
    private let connectivity = ManualConnectivity(.offline)
    private let transport = MockTransport { _ in .ok() }
    private let request = HTTPRequestData(authority: "api.example.com", path: "users")

    private func network(
        _ upstream: some NetworkingComponent,
        _ policy: OfflinePolicy
    ) -> some NetworkingComponent {
        upstream.whenOffline(policy).environment(\.connectivity, connectivity)
            .environment(\.clock, .manual(clock))
    }

    // MARK: Fail

    @Test func failsAtOnceAndSendsNothing() async throws {
        let events = EventRecorder()
        let network = network(transport, .fail).observed(by: events)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
        #expect(error?.kind == .offline)
        #expect(error?.isOffline == true)
        #expect(error?.reason == "There is no network. The request was not sent.")
        #expect(error?.localizedDescription == "There is no internet connection.")
        #expect(transport.requests.isEmpty)
        #expect(events.events.contains { if case OfflineEvent.refused = $0 { true } else { false } })
    }

    @Test func sendsWhileThereIsANetwork() async throws {
        connectivity.update(.wifi)
        try await network(transport, .fail).data(request)
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: ["localhost:8080", "127.0.0.1", "[::1]:80"])
    func requestsToLoopbackNeedNoNetwork(authority: String) async throws {
        try await network(transport, .fail).data(HTTPRequestData(scheme: "http", authority: authority, path: "/"))
        #expect(transport.requests.count == 1)
    }

    @Test func requestOverridesTheStack() async throws {
        let sending = request.with { $0.offlinePolicy = .send }
        try await network(transport, .fail).data(sending)
        #expect(transport.requests.count == 1)
        let failing = request.with { $0.offlinePolicy = .fail }
        await #expect(throws: NetworkingError.self) { try await network(transport, .send).data(failing) }
        #expect(transport.requests.count == 1)
    }

    @Test func cancelledCallerGetsCancellationError() async {
        let call = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await network(transport, .fail).data(request)
        }
        await #expect(throws: CancellationError.self) { try await call.value }
    }

    @Test func waitsForAnUnknownStatus() async throws {
        let connectivity = ManualConnectivity(nil)
        let network = transport.whenOffline(.fail).environment(\.connectivity, connectivity)
            .environment(\.clock, .manual(ManualClock()))
        let call = Task { try await network.data(request) }
        try await eventually("the modifier waits for the first status") { connectivity.readers == 1 }
        #expect(transport.requests.isEmpty)
        connectivity.update(.wifi)
        _ = try await call.value
        #expect(transport.requests.count == 1)
    }

    /// The status stays unknown.
    @Test(
        arguments: [
            (.fail, .seconds(2)), (.cached, .seconds(2)), (.wait(upTo: .seconds(30)), .seconds(30)),
            (.wait(upTo: .milliseconds(1)), .milliseconds(1)),
        ] as [(OfflinePolicy, Duration)]
    )
    func waitForAnUnknownStatusEnds(policy: OfflinePolicy, limit: Duration) async throws {
        let connectivity = ManualConnectivity(nil)
        let network = transport.cached().whenOffline(policy).environment(\.connectivity, connectivity)
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(request) }
        try await clock.waitForSleepers()
        #expect(clock.nextDeadline?.offset == limit)
        clock.advance(by: limit)
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .offline)
        #expect(transport.requests.isEmpty)
        try await eventually("the reader has ended") { connectivity.readers == 0 }
    }

    @Test func waitForTheStatusAndForTheNetworkHaveOneLimit() async throws {
        let connectivity = ManualConnectivity(nil)
        let network = transport.whenOffline(.wait(upTo: .seconds(30))).environment(\.connectivity, connectivity)
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(request) }
        try await clock.advance(by: .seconds(20), afterSleepers: 1)
        connectivity.update(.offline)
        try await eventually("the first wait has ended") { clock.nextDeadline?.offset == .seconds(30) }
        try await clock.advance(by: .seconds(10), afterSleepers: 1)
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .offline)
        #expect(clock.now.offset == .seconds(30))
    }

    @Test func sourceThatEndsWithoutAStatusCountsAsOnline() async throws {
        let network = transport.whenOffline(.fail).environment(\.connectivity, SilentConnectivity())
        try await network.data(request)
        #expect(transport.requests.count == 1)
    }

    // MARK: Networks that the request does not allow

    @Test(arguments: ["allowsCellularAccess", "allowsExpensiveAccess", "allowsConstrainedAccess"])
    func disallowedNetworkCountsAsOffline(option: String) async throws {
        connectivity.update(option == "allowsConstrainedAccess" ? .constrained : .cellular)
        try await network(transport, .fail).data(request)
        #expect(transport.requests.count == 1)

        var restricted = request
        switch option {
        case "allowsCellularAccess": restricted.allowsCellularAccess = false
        case "allowsExpensiveAccess": restricted.allowsExpensiveAccess = false
        default: restricted.allowsConstrainedAccess = false
        }
        let error = await #expect(throws: NetworkingError.self) {
            try await network(transport, .fail).data(restricted)
        }
        #expect(error?.kind == .offline)
        #expect(error?.reason.contains(option) == true)
        #expect(transport.requests.count == 1)

        connectivity.update(.wifi)
        try await network(transport, .fail).data(restricted)
        #expect(transport.requests.count == 2)
    }

    @Test func accessOptionsAreTrueByDefault() {
        #expect(request.allowsCellularAccess && request.allowsExpensiveAccess && request.allowsConstrainedAccess)
        let restricted = request.with { $0.allowsExpensiveAccess = false }
        #expect(restricted.allowsCellularAccess && !restricted.allowsExpensiveAccess)
        #expect(restricted.allowsConstrainedAccess)
        #expect(restricted.optionIdentities != request.optionIdentities)
    }

    @Test func interfaceOtherThanTheCellularOneIsAllowed() async throws {
        connectivity.update(ConnectivityStatus(isSatisfied: true, interfaces: [.wifi, .cellular]))
        try await network(transport, .fail).data(request.with { $0.allowsCellularAccess = false })
        #expect(transport.requests.count == 1)
    }

    // MARK: Wait

    @Test func waitsAndSendsWhenTheNetworkIsBack() async throws {
        let events = EventRecorder()
        let network = network(transport, .wait()).observed(by: events)
        let call = Task { try await network.data(request) }
        try await eventually("the request waits") { connectivity.readers == 1 }
        clock.advance(by: .seconds(86_400))
        #expect(transport.requests.isEmpty)

        connectivity.update(.wifi)
        #expect(try await call.value.status == .ok)
        #expect(transport.requests.count == 1)
        #expect(connectivity.readers == 0)
        let waits = events.events.compactMap { event -> String? in
            switch event {
            case WaitEvent.waiting(.connectivity, nil): "waiting"
            case WaitEvent.waited(.connectivity, let duration): "waited \(duration)"
            default: nil
            }
        }
        #expect(waits == ["waiting", "waited 86400.0 seconds"])
    }

    @Test func waitEndsAfterItsLimit() async throws {
        let network = network(transport, .wait(upTo: .seconds(30)))
        let call = Task { try await network.data(request) }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(29))
        #expect(clock.sleepers == 1)
        clock.advance(by: .seconds(1))

        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .offline)
        #expect(error?.reason.contains("30.0 seconds") == true)
        #expect(transport.requests.isEmpty)
        #expect(clock.sleepers == 0)
        try await eventually("the reader has ended") { connectivity.readers == 0 }
    }

    @Test(arguments: [.zero, .seconds(-1)] as [Duration])
    func waitWithoutTimeFailsAtOnce(limit: Duration) async {
        let request = request.with { $0.offlinePolicy = .wait(upTo: limit) }
        let error = await #expect(throws: NetworkingError.self) {
            try await network(transport, .fail).data(request)
        }
        #expect(error?.kind == .offline)
    }

    @Test func waitEndsWhenItsCallerIsCancelled() async throws {
        for limit in [nil, Duration.seconds(30)] {
            let network = network(transport, .wait(upTo: limit))
            let call = Task { try await network.data(request) }
            try await eventually("the request waits") { connectivity.readers == 1 }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            try await eventually("the reader has ended") { connectivity.readers == 0 }
        }
        connectivity.update(.wifi)
        #expect(transport.requests.isEmpty)
        #expect(clock.sleepers == 0)
    }

    @Test func waitContinuesUntilAnAllowedNetworkIsAvailable() async throws {
        let network = network(transport, .wait())
        let call = Task { try await network.data(request.with { $0.allowsExpensiveAccess = false }) }
        try await eventually("the request waits") { connectivity.readers == 1 }
        connectivity.update(.cellular)
        #expect(transport.requests.isEmpty)
        connectivity.update(.wifi)
        _ = try await call.value
    }

    @Test func deadlineEndsTheWait() async throws {
        let network = transport.whenOffline(.wait()).deadline(.seconds(5))
            .environment(\.connectivity, connectivity).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(request) }
        try await clock.advance(by: .seconds(5), afterSleepers: 1)
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .deadline)
        #expect(transport.requests.isEmpty)
    }

    // MARK: Cached

    @Test func cachedResponseOfAnyAgeIsUsed() async throws {
        connectivity.update(.wifi)
        let transport = MockTransport { _ in
            .text("stored").headerFields([.cacheControl: "max-age=1, must-revalidate"])
        }
        let network = network(transport.cached(), .cached)
        _ = try await network.data(request)
        clock.advance(by: .seconds(86_400))

        connectivity.update(.offline)
        let response = try await network.data(request)
        #expect(String(decoding: response.data, as: UTF8.self) == "stored")
        #expect(response.isCached)
        #expect(transport.requests.count == 1)
        let status = try #require(response.cacheStatus)
        #expect(status.isHit && status.forward == nil)
        #expect(status.detail == "offline")
        #expect(status.lifetimeLeft == 1 - 86_400)
        #expect("\(status)" == "Networking; hit; ttl=-86399; detail=offline")
        #expect(response.age == .seconds(86_400))
    }

    @Test func hitWithoutANetworkIsAnEventOfItsOwn() async throws {
        connectivity.update(.wifi)
        let events = EventRecorder()
        let transport = MockTransport { _ in .text("stored").headerFields([.cacheControl: "max-age=60"]) }
        let network = network(transport.cached(), .cached).observed(by: events)
        for status in [ConnectivityStatus.wifi, .wifi, .offline] {
            connectivity.update(status)
            _ = try await network.data(request)
        }
        let hits = events.events.compactMap { event in
            if case CacheEvent.hit(let hit) = event { hit } else { nil }
        }
        #expect(hits == [.fresh, .offline])
    }

    @Test func requestWithoutAStoredResponseFailsOffline() async throws {
        let network = network(transport.cached(), .cached)
        let requests = [
            request, request.with { $0.method = .post },
            request.with { $0.body = .data(Data("query".utf8)) },
            request.with { $0.headerFields[.authorization] = "Bearer token-1" },
        ]
        for request in requests {
            let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
            #expect(error?.kind == .offline)
        }
        #expect(transport.requests.isEmpty)
    }

    @Test func cachedWithoutACacheFailsOffline() async throws {
        let error = await #expect(throws: NetworkingError.self) {
            try await network(transport, .cached).data(request)
        }
        #expect(error?.kind == .offline)
        #expect(error?.reason.contains("no cache") == true)
        #expect(transport.requests.isEmpty)
    }

    @Test func storedResponsesOfAnotherUserAreNotUsed() async throws {
        connectivity.update(.wifi)
        let cache = ResponseCache()
        let transport = MockTransport { _ in .text("emily's").headerFields([.cacheControl: "max-age=60"]) }
        func stack(_ user: String) -> some NetworkingComponent {
            let session = Session(userID: user, accessToken: "token")
            return network(
                transport.authenticated(with: session, at: ["api.example.com"]).cached(in: cache),
                .cached
            )
        }
        _ = try await stack("emily").data(request)
        connectivity.update(.offline)
        #expect(try await stack("emily").data(request).data == Data("emily's".utf8))
        await #expect(throws: NetworkingError.self) { try await stack("paul").data(request) }
        #expect(transport.requests.count == 1)
    }

    @Test func requiredStoredResponseIsAnOptionOfTheRequest() async throws {
        let network = transport.cached()
        let request = request.with { $0.requiresStoredResponse = true }
        #expect(request.requiresStoredResponse)
        #expect(request.optionIdentities != self.request.optionIdentities)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
        #expect(error?.kind == .offline)
        #expect(network.diagnostics(for: request).isEmpty)
    }

    // MARK: In a stack

    @Test func connectivityAppliesToUpstreamModifiers() async throws {
        let seen = Journal()
        let transport = MockTransport { _ in
            seen.note("\(NetworkEnvironment.current.connectivity.map { "\(type(of: $0))" } ?? "none")")
            return .ok()
        }
        let local = HTTPRequestData(scheme: "http", authority: "localhost", path: "/")
        try await transport.data(local)
        try await transport.whenOffline(.fail).data(local)
        try await network(transport, .fail).data(local)
        #expect(seen.entries == ["none", "SystemConnectivity", "ManualConnectivity"])
    }

    @Test func diagnosticsReportUnusualPositions() {
        func lines(_ network: some NetworkingComponent) -> [String] {
            network.diagnostics.map(\.message)
        }
        #expect(lines(transport.cached().retry().whenOffline(.fail)).isEmpty)
        #expect(lines(transport.timeout(.seconds(1)).throttled(max: 1).retry().whenOffline(.wait())).isEmpty)
        #expect(lines(transport.cached().whenOffline(.cached)).isEmpty)
        #expect(
            lines(transport.whenOffline(.fail).retry()) == [
                "whenOffline(.fail) is inside retry, which retries the requests that it refuses. Put it outside."
            ]
        )
        #expect(lines(transport.whenOffline(.wait()).timeout(.seconds(1))).count == 1)
        #expect(lines(transport.whenOffline(.wait()).throttled(max: 1)).count == 1)
        #expect(
            lines(transport.whenOffline(.cached).cached()) == [
                "whenOffline(.cached) has no cached inside, so it fails like .fail. Put cached inside."
            ]
        )
    }

    @Test func declaresItsOptions() {
        let request = request.with {
            $0.offlinePolicy = .wait(upTo: .seconds(3))
            $0.allowsCellularAccess = false
        }
        #expect(transport.diagnostics(for: request).map(\.option) == [.offlinePolicy, .networkAccess])
        #expect(transport.whenOffline().diagnostics(for: request).isEmpty)
        #expect(transport.whenOffline(.wait(upTo: .seconds(3))).modifiers.map(\.stackPart.roles) == [[.connectivity]])
        #expect(
            transport.whenOffline(.wait(upTo: .seconds(3))).outline.contains("whenOffline(.wait(upTo: 3.0 seconds))")
        )
        #expect("\(OfflineEvent.usesStoredResponse)" == "offline(uses a stored response)")
    }

    // MARK: Retry

    /// Returns a stack that tries again after a backoff, or waits up to ten minutes for a network.
    private func retrying(_ transport: MockTransport, after backoff: Duration) -> some NetworkingComponent {
        var policy = RetryPolicy.constant(backoff)
        policy.connectivityWait = .seconds(600)
        return transport.retry(policy).environment(\.connectivity, connectivity)
            .environment(\.clock, .manual(clock))
    }

    @Test func retryWaitsForTheNetworkInsteadOfItsBackoff() async throws {
        let transport = MockTransport([.failure(NetworkingError(.connectionLost, request: request)), .ok()])
        let network = retrying(transport, after: .seconds(3_600))
        let call = Task { try await network.data(request) }
        try await eventually("the retry waits") { connectivity.readers == 1 }
        clock.advance(by: .seconds(50))
        connectivity.update(.wifi)
        let response = try await call.value
        #expect(response.attempts.map(\.backoff) == [.seconds(50)])
        #expect(transport.requests.count == 2)
    }

    @Test func retryIsSentAtTheEndOfTheWait() async throws {
        let transport = MockTransport([.failure(NetworkingError(.connection, request: request)), .ok()])
        let network = retrying(transport, after: .seconds(1))
        let call = Task { try await network.data(request) }
        try await clock.advance(by: .seconds(600), afterSleepers: 1)
        #expect(try await call.value.attempts.map(\.backoff) == [.seconds(600)])
    }

    @Test(arguments: [true, false])
    func backoffAppliesIfThereIsANetworkOrAResponse(isOnline: Bool) async throws {
        let failure: MockResponse =
            isOnline ? .failure(NetworkingError(.connection, request: request)) : .status(.serviceUnavailable)
        let transport = MockTransport([failure, .ok()])
        connectivity.update(isOnline ? .wifi : .offline)
        let network = retrying(transport, after: .seconds(1))
        let call = Task { try await network.data(request) }
        try await clock.advance(by: .seconds(1), afterSleepers: 1)
        #expect(try await call.value.attempts.map(\.backoff) == [.seconds(1)])
        #expect(connectivity.readers == 0)
    }

    @Test func retryThatKnowsNoNetworkIsReported() async throws {
        var policy = RetryPolicy.constant(.seconds(1))
        policy.connectivityWait = .seconds(600)
        func reports(_ network: some NetworkingComponent) -> [String] {
            network.diagnostics.map(\.message)
        }
        #expect(reports(transport.retry(policy)).map { $0.contains("does not know the network") } == [true])
        #expect(reports(transport.whenOffline(.fail).environment(\.clock, .manual(clock)).retry(policy)).count == 2)
        #expect(reports(transport.retry()).isEmpty)
        #expect(reports(transport.retry(policy).whenOffline(.fail)).isEmpty)
        #expect(reports(transport.retry(policy).environment(\.connectivity, connectivity)).isEmpty)
        // The nearest value applies.
        let none: (any Connectivity)? = nil
        let hidden = transport.retry(policy).environment(\.connectivity, none)
            .environment(\.connectivity, connectivity)
        #expect(reports(hidden).count == 1)
        var environment = NetworkEnvironment.current
        environment.connectivity = connectivity
        await withEnvironment(environment) {
            #expect(reports(transport.retry(policy)).isEmpty)
        }
    }

    @Test func retryReadsTheAllowedNetworksOnlyIfItWaitsForThem() {
        var policy = RetryPolicy.constant(.seconds(1))
        let request = request.with { $0.allowsCellularAccess = false }
        #expect(transport.retry(policy).diagnostics(for: request).map(\.option) == [.networkAccess])
        policy.connectivityWait = .seconds(600)
        #expect(transport.retry(policy).diagnostics(for: request).isEmpty)
    }

    @Test func cancelledRetryStopsWaiting() async throws {
        let transport = MockTransport([.failure(NetworkingError(.offline, request: request)), .ok()])
        let network = retrying(transport, after: .seconds(1))
        let call = Task { try await network.data(request) }
        try await eventually("the retry waits") { connectivity.readers == 1 }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(transport.requests.count == 1)
    }
}

extension ConnectivityStatus {
    fileprivate static let constrained = ConnectivityStatus(
        isSatisfied: true,
        interfaces: [.wifi],
        isConstrained: true
    )
}

/// A source with a sequence that ends at once.
private struct SilentConnectivity: Connectivity {
    var status: ConnectivityStatus? { nil }
    var changes: AsyncStream<ConnectivityStatus> { AsyncStream { $0.finish() } }
}
