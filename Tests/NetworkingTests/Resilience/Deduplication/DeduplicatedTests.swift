import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct DeduplicatedTests {
    private let transport = GatedTransport()
    private let inFlightRequests = InFlightRequests()

    private var network: some NetworkingComponent {
        transport.deduplicated(sharing: inFlightRequests)
    }

    /// Sends a request and waits until it has joined or started a shared operation.
    private func join(
        _ request: HTTPRequestData = .lawful,
        over network: some NetworkingComponent
    ) async throws -> Task<HTTPResponseData, any Error> {
        let before = inFlightRequests.waiting
        let call = Task { try await network.data(request) }
        try await eventually("inFlightRequests.waiting != before") { inFlightRequests.waiting != before }
        return call
    }

    // MARK: Timeouts

    /// The timeout of the creator does not end an exchange that other callers wait for.
    ///
    /// The transport's timeout does.
    @Test func sharedExchangeIgnoresTheTimeoutOfItsCreator() async throws {
        struct Spy: NetworkingComponent {
            let journal: Journal

            func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
                journal.note("\(request.isSilenceLimited)")
                return HTTPResponseData(request: request)
            }
        }

        let journal = Journal()
        try await Spy(journal: journal).deduplicated().timeout(.seconds(1)).data(.lawful)
        try await Spy(journal: journal).timeout(.seconds(1)).deduplicated().data(.lawful)
        try await Spy(journal: journal).timeout(head: .seconds(1)).data(.lawful)
        #expect(journal.entries == ["false", "true", "false"])
    }

    // MARK: Sharing

    @Test func thousandIdenticalRequestsShareOneExchange() async throws {
        var calls: [Task<HTTPResponseData, any Error>] = []
        for _ in 0..<1_000 {
            calls.append(try await join(over: network))
        }
        #expect(inFlightRequests.count == 1)
        transport.respond(with: .text("hello"))
        for call in calls {
            #expect(try await call.value.data == Data("hello".utf8))
        }
        #expect(transport.requests == 1)
        #expect(inFlightRequests.count == 0)
    }

    @Test func laterRequestIsSentSeparately() async throws {
        transport.respond(with: .text("hello"))
        try await network.data(.lawful)
        try await network.data(.lawful)
        #expect(transport.requests == 2)
    }

    @Test func eachResponseHasTheRequestOfItsCaller() async throws {
        let one = try await join(.lawful.with { $0.number = 1 }, over: network)
        let other = try await join(.lawful.with { $0.number = 2 }, over: network)
        transport.respond()
        #expect(try await one.value.request.number == 1)
        #expect(try await other.value.request.number == 2)
    }

    @Test(arguments: Difference.all)
    func requestsThatDifferDoNotShareAnExchange(difference: Difference) async throws {
        let one = try await join(over: network)
        let other = try await join(.lawful.with(difference.make), over: network)
        transport.respond()
        _ = try await (one.value, other.value)
        #expect(transport.requests == (difference.matters ? 2 : 1))
    }

    struct Difference: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var matters = true
        let make: @Sendable (inout HTTPRequestData) -> Void

        static let all: [Difference] = [
            .init(testDescription: "method") { $0.method = .head },
            .init(testDescription: "scheme") { $0.scheme = "http" },
            .init(testDescription: "no scheme", matters: false) { $0.scheme = nil },
            .init(testDescription: "authority") { $0.authority = "other.example" },
            .init(testDescription: "path") { $0.path = "/other" },
            .init(testDescription: "query") { $0.query.page = "2" },
            .init(testDescription: "Accept") { $0.headerFields[.accept] = "text/plain" },
            .init(testDescription: "Authorization") { $0.headerFields[.authorization] = "Bearer token-1" },
            .init(testDescription: "Cookie") { $0.headerFields[.cookie] = "session=1" },
            .init(testDescription: "body limit") { $0.maximumResponseBytes = 7 },
            .init(testDescription: "timeout") { $0.timeout = .seconds(7) },
            .init(testDescription: "redirects") { $0.redirects = .never },
            .init(testDescription: "accepted statuses") { $0.acceptedStatuses = [404] },
            .init(testDescription: "User-Agent", matters: false) { $0.headerFields[.userAgent] = "x" },
            .init(testDescription: "traceparent", matters: false) {
                $0.headerFields[HTTPField.Name("traceparent")!] = "00-1-2-01"
            },
            .init(testDescription: "spelling of the host", matters: false) {
                $0.authority = $0.authority?.uppercased()
            },
            .init(testDescription: "the scheme's own port", matters: false) {
                $0.authority = "\($0.authority ?? ""):443"
            },
            .init(testDescription: "number", matters: false) { $0.number = 7 },
            .init(testDescription: "priority", matters: true) { $0.priority = .high },
        ]
    }

    @Test func customOptionThatAffectsResponsesIsCompared() async throws {
        let language = RequestOption("language", default: "en", affects: .responses)
        let one = try await join(.lawful.with { $0[language] = "de" }, over: network)
        let same = try await join(.lawful.with { $0[language] = "de" }, over: network)
        let other = try await join(.lawful.with { $0[language] = "fr" }, over: network)
        transport.respond()
        _ = try await (one.value, same.value, other.value)
        #expect(transport.requests == 2)
    }

    @Test func requestsThatDifferEndSeparately() async throws {
        let language = RequestOption("language", default: "en", affects: .responses)
        let one = try await join(.lawful.with { $0[language] = "de" }, over: network)
        let other = try await join(.lawful.with { $0[language] = "fr" }, over: network)
        one.cancel()
        await #expect(throws: CancellationError.self) { try await one.value }
        try await eventually("one exchange is left") { inFlightRequests.count == 1 }
        let joined = try await join(.lawful.with { $0[language] = "fr" }, over: network)
        transport.respond()
        _ = try await (other.value, joined.value)
        #expect(transport.requests == 2)
        #expect(inFlightRequests.count == 0)
    }

    @Test func principalsDoNotShareAnExchange() async throws {
        let emily = transport.modified(PrincipalReplacing(id: "emily")).deduplicated(sharing: inFlightRequests)
        let emil = transport.modified(PrincipalReplacing(id: "emil")).deduplicated(sharing: inFlightRequests)
        let calls = [try await join(over: emily), try await join(over: emil), try await join(over: emily)]
        transport.respond()
        for call in calls {
            _ = try await call.value
        }
        #expect(transport.requests == 2)
    }

    @Test func responseOfAnotherPrincipalIsNotShared() async throws {
        let changed = transport.modified(PrincipalReplacing(id: "emily", responsePrincipal: "emil"))
            .deduplicated(sharing: inFlightRequests)
        let first = try await join(over: changed)
        let second = try await join(over: changed)
        transport.respond()
        _ = try await (first.value, second.value)
        #expect(transport.requests == 2)
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "PATCH"])
    func unsafeRequestsAreNotShared(method: String) async throws {
        let request = HTTPRequestData.lawful.with { $0.method = HTTPRequest.Method(method)! }
        async let one = network.data(request)
        async let other = network.data(request)
        try await transport.arrived(2)
        transport.respond()
        _ = try await (one, other)
        #expect(transport.requests == 2)
    }

    @Test func identicalRequestsWithAnIncludedMethodAreShared() async throws {
        let network = transport.deduplicated(methods: [.post], sharing: inFlightRequests)
        let post = HTTPRequestData.lawful.with {
            $0.method = .post
            $0.body = .json(["a": 1])
        }
        let one = try await join(post, over: network)
        let other = Task { try await network.data(post.with { $0.body = .json(["a": 2]) }) }
        try await transport.arrived(2)
        let same = try await join(post, over: network)
        transport.respond()
        _ = try await (one.value, other.value, same.value)
        #expect(transport.requests == 2)
    }

    @Test func requestsOfDifferentPriorityAreSentSeparately() async throws {
        let low = try await join(.lawful.with { $0.priority = .low }, over: network)
        let high = try await join(.lawful.with { $0.priority = .high }, over: network)
        transport.respond()
        _ = try await (low.value, high.value)
        #expect(transport.requests == 2)
    }

    @Test func requestsWithIncomparableCredentialsAreSentSeparately() async throws {
        let token = RequestOption<String?>("token", default: nil, affects: .nothing, isCredential: true)
        transport.respond()
        let request = HTTPRequestData.lawful.with { $0[token] = "one" }
        async let one = network.data(request)
        async let other = network.data(request.with { $0[token] = "two" })
        _ = try await (one, other)
        #expect(transport.requests == 2)
        #expect(inFlightRequests.count == 0)
    }

    @Test(arguments: [HTTPField.Name.authorization, .cookie])
    func credentialsAreComparedEvenIfTheirFieldIsExcluded(name: HTTPField.Name) async throws {
        let network = transport.deduplicated(excluding: [name, .accept], sharing: inFlightRequests)
        let one = try await join(.lawful.with { $0.headerFields[name] = "one" }, over: network)
        let other = try await join(.lawful.with { $0.headerFields[name] = "two" }, over: network)
        let same = try await join(
            .lawful.with {
                $0.headerFields[name] = "two"
                $0.headerFields[.accept] = "text/plain"
            },
            over: network
        )
        transport.respond()
        _ = try await (one.value, other.value, same.value)
        #expect(transport.requests == 2)
    }

    @Test func requestWithASinkIsSentSeparately() async throws {
        let one = try await join(over: network)
        let sink = CollectingSink()
        let other = Task { try await network.data(.lawful.with { $0.sink = sink }) }
        try await transport.arrived(2)
        transport.respond(with: .text("hello"))
        _ = try await (one.value, other.value)
        #expect(sink.data == Data("hello".utf8))
    }

    @Test func requestThatDisablesDeduplicationIsSentSeparately() async throws {
        let one = try await join(over: network)
        let other = Task { try await network.data(.lawful.with { $0.isDeduplicated = false }) }
        try await transport.arrived(2)
        transport.respond()
        _ = try await (one.value, other.value)
    }

    // MARK: Cancellation

    @Test func remainingCallerGetsTheResponseAfterCancellations() async throws {
        var calls: [Task<HTTPResponseData, any Error>] = []
        for _ in 0..<200 {
            calls.append(try await join(over: network))
        }
        let survivor = calls.remove(at: 140)
        var random = SeededRandom.announced()
        for call in calls.shuffled(using: &random) {
            call.cancel()
        }
        for call in calls {
            await #expect(throws: CancellationError.self) { try await call.value }
        }
        transport.respond(with: .text("hello"))
        #expect(try await survivor.value.data == Data("hello".utf8))
        #expect(transport.requests == 1)
        #expect(transport.cancellations == 0)
    }

    @Test func exchangeContinuesAfterItsCreatorIsCancelled() async throws {
        let first = try await join(over: network)
        let second = try await join(over: network)
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        transport.respond()
        #expect(try await second.value.status == .ok)
        #expect(transport.requests == 1)
    }

    @Test func cancelledCreatorDoesNotWaitForAnUpstreamThatIgnoresCancellation() async throws {
        let (release, journal) = (Suspension<Void>(), Journal())
        let stubborn = MockTransport { _ in
            // The cancellation of the exchange does not end this wait.
            try await Task { try await release.value() }.value
            return .ok()
        }
        let network = stubborn.deduplicated(sharing: inFlightRequests)
        let first = try await join(over: network)
        let second = try await join(over: network)
        let leaving = Task {
            await #expect(throws: CancellationError.self) { try await first.value }
            journal.note("left")
        }
        first.cancel()
        try await eventually("the creator has left") { !journal.entries.isEmpty }
        release.resume()
        #expect(try await second.value.status == .ok)
        #expect(stubborn.requests.count == 1)
        await leaving.value
    }

    @Test func exchangeIsCancelledWithItsLastCaller() async throws {
        let calls = [try await join(over: network), try await join(over: network)]
        try await transport.arrived(1)
        for call in calls {
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
        }
        try await transport.cancelled(1)
        try await eventually("inFlightRequests.count == 0") { inFlightRequests.count == 0 }
        // A later request does not join the cancelled exchange.
        let later = try await join(over: network)
        transport.respond()
        #expect(try await later.value.status == .ok)
        #expect(transport.requests == 2)
    }

    @Test func deadlineAppliesToItsCallerOnly() async throws {
        let clock = ManualClock()
        let impatient = network.deadline(.seconds(1)).environment(\.clock, .manual(clock))
        let patient = network.deadline(.seconds(60)).environment(\.clock, .manual(clock))
        let first = try await join(over: impatient)
        try await transport.arrived(1)
        let second = try await join(over: patient)
        try await clock.advance(by: .seconds(1), afterSleepers: 2)
        let error = await #expect(throws: NetworkingError.self) { try await first.value }
        #expect(error?.kind == .deadline)
        transport.respond()
        #expect(try await second.value.status == .ok)
        // The exchange has the deadline of the only caller at the time of sending.
        #expect(transport.deadlines == [.seconds(1)])
    }

    // MARK: Failures

    @Test func everyCallerGetsTheFailureAndTheNextRequestIsSent() async throws {
        struct Down: Error {}
        let calls = [try await join(over: network), try await join(over: network)]
        transport.respond(with: .failure(Down()))
        for call in calls {
            await #expect(throws: Down.self) { try await call.value }
        }
        transport.respond(with: .ok())
        #expect(try await network.data(.lawful).status == .ok)
        #expect(transport.requests == 2)
    }

    @Test func waitersMayRetryAfterAFailure() async throws {
        struct Down: Error {}
        let network = transport.deduplicated(waitersRetryOnFailure: true, sharing: inFlightRequests)
        let calls = [try await join(over: network), try await join(over: network), try await join(over: network)]
        transport.respond(with: [.failure(Down()), .ok()])
        await #expect(throws: Down.self) { try await calls[0].value }
        #expect(try await calls[1].value.status == .ok)
        #expect(try await calls[2].value.status == .ok)
        #expect(transport.requests <= 3)
    }

    /// Waiters share one retry, so a failing server gets no series of requests.
    @Test func waitersRetryOnceTogether() async throws {
        struct Down: Error {}
        let first = Suspension<Void>()
        let sent = Mutex(0)
        let transport = MockTransport { [inFlightRequests] _ in
            let number = sent.withLock { sent in
                sent += 1
                return sent
            }
            if number == 1 {
                try await first.value()
            } else {
                try await eventually("inFlightRequests.waiting >= 9") { inFlightRequests.waiting >= 9 }
            }
            throw Down()
        }
        let network = transport.deduplicated(waitersRetryOnFailure: true, sharing: inFlightRequests)
        var calls: [Task<HTTPResponseData, any Error>] = []
        for _ in 0..<10 {
            calls.append(try await join(over: network))
        }
        first.resume()
        for call in calls {
            let result = await call.result
            #expect(throws: Down.self) { try result.get() }
        }
        #expect(transport.requests.count == 2)
    }

    // MARK: Writes

    @Test func readAfterAWriteDoesNotJoinAnEarlierRead() async throws {
        let early = try await join(over: network)
        let write = Task { try await network.data(.lawful.with { $0.method = .put }) }
        try await transport.arrived(2)
        let late = try await join(over: network)
        try await transport.arrived(3)
        transport.respond()
        _ = try await (early.value, write.value, late.value)
        #expect(transport.requests == 3)
    }

    @Test func readDuringAWriteIsNotJoinedAfterTheWrite() async throws {
        let put = HTTPRequestData.lawful.with { $0.method = .put }
        let held = GatedTransport()
        let write = Task { try await held.deduplicated(sharing: inFlightRequests).data(put) }
        try await held.arrived(1)
        let during = try await join(over: network)
        held.respond()
        _ = try await write.value
        let after = try await join(over: network)
        transport.respond()
        _ = try await (during.value, after.value)
        #expect(transport.requests == 2)
    }

    @Test func writeToAnotherURLDoesNotPreventJoining() async throws {
        let early = try await join(over: network)
        let write = Task {
            try await network.data(
                .lawful.with {
                    $0.method = .put
                    $0.path = "/elsewhere"
                }
            )
        }
        try await transport.arrived(2)
        let late = try await join(over: network)
        transport.respond()
        _ = try await (early.value, write.value, late.value)
        #expect(transport.requests == 2)
    }

    // MARK: Reporting

    @Test func progressIsReportedToEachCaller() async throws {
        let journals = [Journal(), Journal()]
        let network = network
        var calls: [Task<HTTPResponseData, any Error>] = []
        for journal in journals {
            let before = inFlightRequests.waiting
            calls.append(Task { try await network.data(.lawful) { journal.note("\($0.received.count)") } })
            try await eventually("inFlightRequests.waiting != before") { inFlightRequests.waiting != before }
        }
        transport.respond(with: .text("hello"))
        for call in calls {
            _ = try await call.value
        }
        #expect(transport.requests == 1)
        #expect(journals.map(\.entries.last) == ["5", "5"])
    }

    @Test func slowProgressHandlerDelaysOnlyItsOwnCaller() async throws {
        let release = DispatchSemaphore(value: 0)
        let entered = Journal()
        let network = network
        let slow = Task {
            try await network.data(.lawful) { _ in
                entered.note("blocks")
                _ = release.wait(timeout: .now() + 300)
            }
        }
        try await eventually("the exchange has started") { inFlightRequests.waiting == 1 }
        let other = Task { try await network.data(.lawful) { entered.note("other \($0.received.count)") } }
        try await eventually("the exchange is shared") { inFlightRequests.waiting == 2 }
        transport.respond(with: .text("hello"))
        #expect(try await other.value.data == Data("hello".utf8))
        #expect(entered.entries.contains("blocks"))
        #expect(entered.entries.contains("other 5"))
        for _ in 1...10 { release.signal() }
        #expect(try await slow.value.data == Data("hello".utf8))
    }

    @Test func cancelledCallerDoesNotWaitForItsProgressHandler() async throws {
        let release = DispatchSemaphore(value: 0)
        let entered = Journal()
        let network = network
        let call = Task {
            try await network.data(.lawful) { _ in
                entered.note("blocks")
                _ = release.wait(timeout: .now() + 300)
            }
        }
        try await eventually("the exchange has started") { inFlightRequests.waiting == 1 }
        transport.respond(with: .text("hello"))
        try await eventually("the handler blocks") { !entered.entries.isEmpty }
        call.cancel()
        _ = await call.result
        #expect(entered.entries == ["blocks"])
        for _ in 1...10 { release.signal() }
    }

    @Test func waiterIsNotifiedThatItShares() async throws {
        let events = [EventRecorder(), EventRecorder()]
        let first = try await join(.lawful.with { $0.addObserver(events[0]) }, over: network)
        let second = try await join(.lawful.with { $0.addObserver(events[1]) }, over: network)
        transport.respond()
        _ = try await (first.value, second.value)
        #expect(!events[0].names.contains("shared"))
        #expect(events[1].names.first == "shared")
        #expect(events.map { $0.names.contains("exchangeEnded") } == [true, true])
        #expect(events[1].names.last == "waited")
    }

    /// The listener of a trace needs no events, so that its requests avoid the cost of events.
    @Test func tracedCallsShareAnExchangeOnlyWithUnobservedOnes() async throws {
        let events = EventRecorder()
        let first = try await join(over: network.traced())
        let second = try await join(over: network.traced())
        let third = try await join(.lawful.with { $0.addObserver(events) }, over: network.traced())
        transport.respond()
        _ = try await (first.value, second.value, third.value)
        #expect(transport.requests == 2)
        #expect(events.names.contains("exchangeEnded"))
    }

    @Test func finishedExchangeReleasesItsHandlers() async throws {
        weak var sink: Marker?
        do {
            let marker = Marker()
            sink = marker
            transport.respond()
            try await network.data(.lawful) { _ in _ = marker }
        }
        // The thread of the handler ends after the call.
        try await eventually("the handler is released") { sink == nil }
    }

    @Test func exchangeHasTheHighestPriorityOfItsCallers() async throws {
        // A caller is counted before it raises the priority.
        let network =
            transport.modified(
                Sending { request, upstream in
                    let response = try await upstream.send(request)
                    try await eventually("the priority is raised") { Task.currentPriority >= .high }
                    return response
                }
            )
            .deduplicated(sharing: inFlightRequests)
        let before = inFlightRequests.waiting
        let low = Task(priority: .background) { try await network.data(.lawful) }
        try await eventually("inFlightRequests.waiting != before") { inFlightRequests.waiting != before }
        let high = Task(priority: .high) { try await network.data(.lawful) }
        try await eventually("inFlightRequests.waiting != before + 1") { inFlightRequests.waiting != before + 1 }
        transport.respond()
        _ = try await (low.value, high.value)
        #expect(transport.requests == 1)
    }

    // MARK: Users

    /// The creator has met another user, and the waiter may have met none.
    @Test func errorAboutAnotherUserIsNotShared() async throws {
        let isFirst = Locked(true)
        let network =
            transport.modified(
                Sending { request, upstream in
                    let response = try await upstream.send(request)
                    if isFirst.withLock({ $0 }) {
                        isFirst.withLock { $0 = false }
                        throw request.isOfAnotherUser
                    }
                    return response
                }
            )
            .deduplicated(sharing: inFlightRequests)
        let calls = [try await join(over: network), try await join(over: network)]
        transport.respond()
        await #expect(throws: NetworkingError.self) { try await calls[0].value }
        #expect(try await calls[1].value.status == .ok)
    }

    /// A server changes a cookie of the user in the response.
    @Test func responseThatChangesACookieIsShared() async throws {
        let store = TokenStore(Networking.Session(userID: "alice", accessToken: "a"))
        let network = transport.authenticated(with: store, at: ["laws.example"]).cookies(in: CookieJar())
            .deduplicated(sharing: inFlightRequests)
        let calls = [try await join(over: network), try await join(over: network), try await join(over: network)]
        transport.respond(with: .ok().headerFields([.setCookie: "session=1"]))
        for call in calls { _ = try await call.value }
        #expect(transport.requests == 1)
    }

    @Test func sharedResponseSettlesTheUserOfItsReceiver() async throws {
        final class Account: Sendable {
            let user = Locked<Principal?>(nil)
        }

        struct Credentialed: NetworkingModifier {
            let account: Account

            func resolve(_ request: inout HTTPRequestData) {
                request.noteUser(account.user.withLock { $0 }, of: account)
            }

            func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal? {
                request.user(of: account, signedIn: account.user.withLock { $0 }) ?? Principal(id: "r0")
            }

            func send(
                _ request: HTTPRequestData,
                upstream: some NetworkingComponent
            ) async throws -> HTTPResponseData {
                var response = try await upstream.send(request)
                response.principal = Principal(id: "r0")
                return response
            }
        }

        let account = Account()
        let network = transport.modified(Credentialed(account: account)).deduplicated(sharing: inFlightRequests)
        let kept = network.notingUsers(of: .lawful)
        let calls = [try await join(over: network), try await join(kept, over: network)]
        account.user.withLock { $0 = Principal(id: "r0") }
        transport.respond()
        for call in calls { _ = try await call.value }
        #expect(transport.requests == 1)
        #expect(kept.user(of: account, signedIn: Principal(id: "bob")) == Principal(id: "r0"))
    }

    @Test func outlineListsTheMethods() {
        #expect(MockTransport().deduplicated().outline.hasPrefix("deduplicated()\n"))
        let posts = MockTransport().deduplicated(methods: [.post, .get])
        #expect(posts.outline.hasPrefix("deduplicated(methods: GET, POST)\n"))
    }
}

private final class Marker: Sendable {}

/// Assigns a principal to each request.
private struct PrincipalReplacing: NetworkingModifier {
    let id: String
    var responsePrincipal: String?

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        var response = try await upstream.send(request)
        response.principal = Principal(id: responsePrincipal ?? id)
        return response
    }

    func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal? {
        Principal(id: id)
    }
}

/// Holds requests until they have responses: either one response for all, or one for each in order.
private final class GatedTransport: NetworkingComponent {
    private struct State {
        var deadlines: [Duration?] = []
        var responses: [MockResponse] = []
    }

    private let state = Mutex(State())
    private let recorder = RequestRecorder()
    private let held = HeldResponse()

    var requests: Int {
        recorder.requests.count
    }

    var cancellations: Int {
        held.cancellations
    }

    var deadlines: [Duration?] {
        state.withLock { $0.deadlines }
    }

    func respond(with response: MockResponse = .ok()) {
        respond(with: [response])
    }

    /// Returns the first response to the held requests and the other ones to later requests.
    ///
    /// The last response is repeated.
    func respond(with responses: [MockResponse]) {
        state.withLock { $0.responses = responses.count > 1 ? Array(responses.dropFirst()) : responses }
        held.respond(with: responses[0])
    }

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        state.withLock { $0.deadlines.append(NetworkEnvironment.current.deadline) }
        return try await MockTransport { _ in self.next }.recorded(by: recorder).send(request)
    }

    private var next: MockResponse {
        state.withLock { state in
            guard let response = state.responses.first else { return .held(by: held) }
            if state.responses.count > 1 { state.responses.removeFirst() }
            return response
        }
    }

    func arrived(_ count: Int) async throws {
        try await recorder.waitForRequests(count)
    }

    func cancelled(_ count: Int) async throws {
        try await held.waitForCancellations(count)
    }
}
