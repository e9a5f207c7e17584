import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCore
@testable import NetworkingResilience
@testable import NetworkingTraffic

/// The rules by which a circuit opens, and the results that count.
@Suite(.timeLimit(.minutes(20)))
struct CircuitBreakerTests {
    // MARK: Opening

    @Test func halfOfTenCallsOpensTheCircuit() async {
        let bench = CircuitBench()
        await bench.send(5)
        bench.respond(with: .status(.serviceUnavailable))
        await bench.send(4)
        #expect(bench.state == .closed)
        await bench.send(1)
        #expect(bench.state == .open)
        #expect(await bench.send(20) == 0)
    }

    @Test func ratioCountsWhicheverCallCompletesTheMinimum() async {
        let bench = CircuitBench()
        bench.respond(with: .status(.serviceUnavailable))
        await bench.send(5)
        bench.respond(with: .ok())
        await bench.send(4)
        #expect(bench.state == .closed)
        #expect(bench.statistics?.calls == 9)
        await bench.send(1)
        #expect(bench.state == .open)
    }

    @Test func ratioBelowTheMinimumOfCallsOpensNothing() async {
        let bench = CircuitBench()
        bench.respond(with: .status(.internalServerError))
        await bench.send(9)
        #expect(bench.state == .closed)
        await bench.send(1)
        #expect(bench.state == .open)
    }

    @Test func fifthOfFiftyCallsOpensTheCircuitOfAServer() async {
        let bench = CircuitBench(.server)
        await bench.send(40)
        bench.respond(with: .status(.badGateway))
        await bench.send(9)
        #expect(bench.state == .closed)
        await bench.send(1)
        #expect(bench.state == .open)
    }

    @Test func fiveConnectionFailuresInARowOpenTheCircuit() async {
        let bench = CircuitBench()
        await bench.send(100)
        bench.respond(with: .failure(.connection))
        await bench.send(4)
        // A response ends the row.
        bench.respond(with: .status(.notFound))
        await bench.send(1)
        bench.respond(with: .failure(.connectionLost))
        await bench.send(4)
        #expect(bench.state == .closed)
        await bench.send(1)
        #expect(bench.state == .open)
    }

    @Test func tooManyRequestsEndsARowOfConnectionFailures() async {
        let bench = CircuitBench()
        await bench.send(100)
        for _ in 1...3 {
            bench.respond(with: .failure(.connection))
            await bench.send(4)
            bench.respond(with: .status(.tooManyRequests))
            await bench.send(1)
        }
        #expect(bench.state == .closed)
        #expect(bench.statistics?.calls == 112)
    }

    @Test func timeoutsAreNoConnectionFailures() async {
        let bench = CircuitBench()
        await bench.send(20)
        bench.respond(with: .failure(.timeout))
        await bench.send(6)
        #expect(bench.state == .closed)
        #expect(bench.statistics?.failures == 6)
    }

    @Test func failuresLeaveTheWindowAfterThirtySeconds() async {
        let bench = CircuitBench()
        bench.respond(with: .status(.gatewayTimeout))
        await bench.send(9)
        bench.clock.advance(by: .milliseconds(26_900))
        #expect(bench.statistics?.failures == 9)
        bench.clock.advance(by: .milliseconds(3_100))
        #expect(bench.statistics?.failures == 0)
        await bench.send(9)
        #expect(bench.state == .closed)
    }

    @Test func windowMovesInTenths() {
        var window = CallWindow(.seconds(30), at: .zero)
        for second in 0..<60 {
            window.advance(to: .seconds(second))
            window.add(calls: 1, failures: 1)
            #expect((1...30).contains(window.total.calls))
            #expect(window.total.calls >= min(second + 1, 28))
        }
        window.advance(to: .seconds(86_400 * 365))
        #expect(window.total == CallWindow.Counts())
        window.add(calls: 1)
        window.advance(to: .seconds(86_400 * 365 + 2))
        #expect(window.total.calls == 1)
        window.removeAll(at: .seconds(86_400 * 365 + 2))
        window.advance(to: .seconds(86_400 * 365 + 60))
        #expect(window.total == CallWindow.Counts())
    }

    // MARK: Results that count

    @Test(arguments: [500, 502, 503, 504])
    func failureStatusCounts(code: Int) async {
        let bench = CircuitBench()
        bench.respond(with: .status(HTTPResponse.Status(code: code)))
        await bench.send(1)
        #expect(bench.statistics?.failures == 1)
        #expect(bench.statistics?.calls == 1)
    }

    @Test(arguments: [400, 401, 403, 404, 408, 409, 422, 425, 429, 501, 505, 507])
    func otherStatusDoesNotCount(code: Int) async {
        let bench = CircuitBench()
        bench.respond(with: .status(HTTPResponse.Status(code: code)))
        await bench.send(20)
        #expect(bench.statistics?.calls == 0)
        #expect(bench.state == .closed)
    }

    @Test(arguments: [NetworkingError.Kind.nameResolution, .connection, .connectionLost, .timeout, .truncated])
    func networkFailureCounts(kind: NetworkingError.Kind) async {
        let bench = CircuitBench()
        bench.respond(with: .failure(kind))
        await bench.send(1)
        #expect(bench.statistics?.failures == 1)
    }

    @Test(
        arguments: NetworkingError.Kind.allCases.filter {
            ![.nameResolution, .connection, .connectionLost, .timeout, .truncated].contains($0)
        }
    )
    func otherErrorDoesNotCount(kind: NetworkingError.Kind) async {
        let bench = CircuitBench()
        bench.respond(with: .failure(kind))
        await bench.send(20)
        #expect(bench.statistics?.calls == 0)
        #expect(bench.state == .closed)
    }

    @Test func failedHandshakeCountsAndAnInvalidCertificateDoesNot() async {
        let bench = CircuitBench()
        var error = NetworkingError(.tls, request: .lawful)
        bench.respond(with: .failure(error))
        await bench.send(1)
        #expect(bench.statistics?.failures == 0)
        error.isHandshakeFailure = true
        bench.respond(with: .failure(error))
        await bench.send(1)
        #expect(bench.statistics?.failures == 1)
    }

    @Test func failureAfterARedirectIsThatOfAnotherServer() async {
        let bench = CircuitBench()
        let other = HTTPRequestData(scheme: "https", authority: "other.example", path: "/page")
        var error = NetworkingError(.connection, request: other)
        error.redirect = .anotherServer
        bench.respond(with: .failure(error))
        await bench.send(20)
        #expect(bench.statistics?.calls == 20)
        #expect(bench.statistics?.failures == 0)
    }

    @Test func cancellationAfterARedirectSaysNothing() async {
        let other = HTTPRequestData(scheme: "https", authority: "other.example", path: "/page")
        var error = NetworkingError(.connection, request: other)
        error.redirect = .anotherServer
        let failure = error
        let result = await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return CircuitResult(failure, of: .lawful)
        }
        .value
        guard case .nothing = result else {
            Issue.record("\(result)")
            return
        }
    }

    @Test func refreshThatFailedIsNoFailureOfTheServer() async {
        let bench = CircuitBench()
        var error = NetworkingError(.connection, request: .lawful)
        error.wasNotProcessed = true
        bench.respond(with: .failure(error))
        await bench.send(20)
        #expect(bench.statistics?.calls == 0)
    }

    @Test func errorOfTheAppCountsByItsResponse() async {
        struct Problem: Error, Decodable {}
        let bench = CircuitBench()
        bench.respond(with: .json(text: "{}", status: .serviceUnavailable))
        let network = bench.inEnvironment(
            bench.transport.checkedStatusCode(as: Problem.self).circuitBreaker(by: bench.breaker)
        )
        await #expect(throws: Problem.self) { try await network.data(.lawful) }
        #expect(bench.statistics?.failures == 1)
    }

    @Test func unreadableBodyOfAFailureCounts() async {
        let bench = CircuitBench()
        bench.respond(
            with: MockResponse(status: .serviceUnavailable, data: Data(count: 100))
        )
        _ = await bench.failure(.lawful.with { $0.maximumResponseBytes = 10 })
        #expect(bench.statistics?.failures == 1)
        bench.respond(with: .ok(Data(count: 100)))
        _ = await bench.failure(.lawful.with { $0.maximumResponseBytes = 10 })
        #expect(bench.statistics?.failures == 1)
    }

    @Test func cancelledCallerDoesNotCount() async throws {
        let bench = CircuitBench()
        for number in 1...12 {
            let held = HeldResponse()
            bench.respond(with: .held(by: held))
            let call = Task { try await bench.network.data(.lawful("/\(number)")) }
            try await held.waitForRequests()
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
        }
        #expect(bench.statistics?.calls == 0)
        #expect(bench.state == .closed)
    }

    @Test func deadlineOfTheCallerDoesNotCountAndTheTimeoutOfAnAttemptDoes() async throws {
        let bench = CircuitBench()
        bench.respond(with: .ok().delayed(by: .seconds(60)))
        let patient = bench.transport.timeout(.seconds(10)).circuitBreaker(by: bench.breaker)
        let hurried = bench.inEnvironment(patient.deadline(.seconds(2)))
        let first = Task { try await hurried.data(.lawful) }
        try await bench.transport.waitForRequests()
        bench.clock.advance(by: .seconds(2))
        let error = await #expect(throws: NetworkingError.self) { try await first.value }
        #expect(error?.kind == .deadline)
        #expect(bench.statistics?.calls == 0)

        let unhurried = bench.inEnvironment(patient)
        let second = Task { try await unhurried.data(.lawful) }
        try await bench.transport.waitForRequests(2)
        bench.clock.advance(by: .seconds(10))
        let timeout = await #expect(throws: NetworkingError.self) { try await second.value }
        #expect(timeout?.kind == .timeout)
        #expect(bench.statistics?.failures == 1)
    }

    /// A transport whose connection breaks when the time of the caller is over.
    private struct BreakingTransport: NetworkingComponent {
        func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
            let limit = try #require(request.exchangeLimit)
            let wait = Suspension<Void>()
            let alarm = limit.alarm { wait.resume() }
            defer { alarm.cancel() }
            try await wait.value(until: nil)
            throw NetworkingError(.connectionLost, request: request)
        }

        // swift-format-ignore: NoLeadingUnderscores
        var _endsAtLimit: Bool {
            true
        }
    }

    @Test func connectionThatBreaksAtTheDeadlineDoesNotCount() async throws {
        let bench = CircuitBench()
        let network = bench.inEnvironment(
            BreakingTransport().circuitBreaker(by: bench.breaker).deadline(.seconds(2))
        )
        let call = Task { try await network.data(.lawful) }
        try await bench.clock.waitForSleepers()
        bench.clock.advance(by: .seconds(2))
        await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(bench.statistics?.failures == 0)
        #expect(bench.statistics?.calls == 0)
    }

    @Test(arguments: [NetworkingError.Kind.offline, .nameResolution, .connectionLost, .timeout])
    func deviceWithoutANetworkNeverOpensTheCircuit(kind: NetworkingError.Kind) async {
        let bench = CircuitBench()
        bench.respond(with: .failure(kind))
        let connectivity = ManualConnectivity(.offline)
        let network = bench.network.environment(\.connectivity, connectivity)
        for _ in 0..<60 {
            _ = try? await network.data(.lawful)
            bench.clock.advance(by: .seconds(1))
        }
        #expect(bench.state == .closed)
        #expect(bench.statistics?.calls == 0)
        #expect(bench.transport.requests.count == 60)
    }

    // MARK: Rejections

    @Test func reasonPhraseOfAServerIsNotStored() async {
        let bench = CircuitBench(.init(minimumCalls: 1))
        bench.respond(with: .status(HTTPResponse.Status(code: 503, reasonPhrase: "secret")))
        await bench.send(1)
        let rejection = await bench.failure()?.circuitRejection
        guard case .status(let status) = rejection?.lastFailure else {
            Issue.record("there is no failure")
            return
        }
        #expect(status.reasonPhrase != "secret")
    }

    @Test func rejectionHasItsCauseAndTheTimeToWait() async throws {
        let bench = CircuitBench(.init(minimumCalls: 1))
        bench.respond(with: .status(.serviceUnavailable))
        await bench.send(1)
        bench.clock.advance(by: .seconds(1))
        let error = try #require(await bench.failure())
        #expect(error.kind == .rejected)
        #expect(error.isOfFailingServer)
        #expect(!error.isTransient)
        #expect(error.secondsToWait == 4)
        let rejection = try #require(error.circuitRejection)
        #expect(rejection.state == .open)
        #expect(rejection.key == "laws.example")
        #expect(rejection.lastFailure == .status(.serviceUnavailable))
        #expect(error.reason.contains("The circuit of laws.example is open after 503"))
        #expect("\(rejection)" == "open: laws.example after 503")
    }

    @Test(arguments: ["LAWS.example", "laws.example:443"])
    func authorityHasOneCircuitInAnySpelling(authority: String) async {
        let bench = CircuitBench()
        await bench.open()
        #expect(await bench.send(1, HTTPRequestData(scheme: "https", authority: authority)) == 0)
        #expect(await bench.send(1, HTTPRequestData(scheme: "https", authority: "other.example")) == 1)
    }

    @Test func keyMayBeAnyPartOfARequest() async {
        let bench = CircuitBench(key: { $0.path ?? "" })
        bench.respond(with: .failure(.connection))
        await bench.send(5, .lawful("/a"))
        #expect(await bench.send(1, .lawful("/a")) == 0)
        #expect(await bench.send(1, .lawful("/b")) == 1)
    }

    @Test func listenersAreNotifiedOfChangesAndRejections() async {
        let bench = CircuitBench()
        let events = EventRecorder()
        let network = bench.network.observed(by: events)
        bench.respond(with: .failure(.connection))
        for _ in 1...6 {
            _ = try? await network.data(.lawful)
        }
        #expect(events.names.filter { $0 == "circuitChanged" }.count == 1)
        #expect(events.names.filter { $0 == "circuitRejected" }.count == 1)
        let marks = events.events.compactMap { ($0 as? CircuitBreakerEvent)?.record.mark }
        #expect(marks == [EventMark(.circuitChanged, detail: "open"), EventMark(.rejected, detail: "circuit-open")])
        let lines = events.events.compactMap { event in
            (event as? CircuitBreakerEvent)?.record.logMessage(redactedBy: .standard)
        }
        #expect(lines == ["the circuit of laws.example is now open", "not sent (open: laws.example after connection)"])
    }
}
