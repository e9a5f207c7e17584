import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct OutboxTests {
    private let clock = ManualClock()
    private let connectivity = ManualConnectivity()
    private let store = MemoryOutboxStore()

    private func order(_ number: Int, authority: String = "api.example.com") -> HTTPRequestData {
        HTTPRequestData(method: .post, authority: authority, path: "/orders/\(number)", body: .data(Data([1])))
    }

    /// Runs an operation with the clock and the connectivity of the test.
    private func controlled<Result>(
        _ operation: nonisolated(nonsending) () async throws -> Result
    ) async throws -> Result {
        var environment = NetworkEnvironment.current
        environment.clock = .manual(clock)
        environment.connectivity = connectivity
        environment.random = .seeded(1)
        return try await withEnvironment(environment, operation)
    }

    /// Creates an outbox with a policy that has negligible jitter: each delay ends after its maximum.
    private func outbox(_ transport: some NetworkingComponent, attempts: Int = 20) -> Outbox {
        var policy = OutboxPolicy()
        policy.maximumAttempts = attempts
        return Outbox(in: store, over: transport, policy: policy)
    }

    // MARK: Delivery

    @Test func sendsInOrderAndRemovesSentEntries() async throws {
        let transport = MockTransport { _ in .ok() }
        let outbox = outbox(transport)
        let count = try await controlled {
            for number in 1...5 {
                try await outbox.enqueue(order(number))
            }
            return try await outbox.flush()
        }
        #expect(count == 0)
        #expect(transport.requests.map(\.path) == (1...5).map { "/orders/\($0)" })
        #expect(try await outbox.entries().isEmpty)
        #expect(transport.requests.first?.body?.data == Data([1]))
    }

    /// The response of a delivery has its request, and so the listeners of the request.
    @Test func deliveryReleasesItsRequest() async throws {
        weak var part: CollectingSink?
        try await controlled {
            let kept = CollectingSink()
            part = kept
            let transport = MockTransport { _ in .ok() }
            let network = transport.modified("With a sink") { request, upstream in
                var request = request
                request.sink = kept
                return try await upstream.send(request)
            }
            let outbox = outbox(network)
            try await outbox.enqueue(order(1))
            #expect(try await outbox.flush() == 0)
        }
        try await eventually("the request is released") { part == nil }
    }

    @Test func flushSendsEntriesThatWereAddedDuringAnotherFlush() async throws {
        let gate = MockGate()
        let transport = MockTransport { request in
            if request.path == "/orders/1" { try await gate.wait() }
            return .ok()
        }
        let outbox = outbox(transport)
        try await controlled {
            try await outbox.enqueue(order(1))
            async let first = outbox.flush()
            try await transport.waitForRequests(1)
            try await outbox.enqueue(order(2))
            let second = OwnedTask.immediate { try await outbox.flush() }
            gate.open()
            #expect(try await second.value == 0)
            _ = try await first
        }
        #expect(transport.requests.map(\.path) == ["/orders/1", "/orders/2"])
    }

    @Test func flushIsCancelledWhileItWaitsForAnotherOne() async throws {
        let gate = MockGate()
        let transport = MockTransport { _ in
            try await gate.wait()
            return .ok()
        }
        let outbox = outbox(transport)
        try await controlled {
            try await outbox.enqueue(order(1))
            async let first = outbox.flush()
            try await transport.waitForRequests(1)
            let second = OwnedTask.immediate { try await outbox.flush() }
            second.cancel()
            await #expect(throws: CancellationError.self) { try await second.value }
            gate.open()
            #expect(try await first == 0)
        }
    }

    /// Otherwise both would wait forever.
    @Test func flushByTheStackThatSendsAnEntryDoesNotWait() async throws {
        let link = Mutex<Outbox?>(nil)
        let left = Mutex<Int?>(nil)
        let transport = MockTransport { _ in
            let count = try await link.withLock { $0 }?.flush()
            left.withLock { $0 = count }
            return .ok()
        }
        let outbox = outbox(transport)
        link.withLock { $0 = outbox }
        defer { link.withLock { $0 = nil } }
        try await controlled {
            try await outbox.enqueue(order(1))
            #expect(try await outbox.flush() == 0)
        }
        #expect(left.withLock { $0 } == 1)
        #expect(transport.requests.count == 1)
    }

    @Test func everyAttemptHasTheKeyOfTheEntry() async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .failure(.connectionLost), .ok()])
        let outbox = outbox(transport)
        try await controlled {
            try await outbox.enqueue(order(1))
            for left in [1, 1, 0] {
                #expect(try await outbox.flush() == left)
                clock.advance(by: .seconds(600))
            }
        }
        let keys = transport.requests.map { $0.headerFields[.idempotencyKey] }
        #expect(keys.count == 3 && Set(keys).count == 1)
        #expect(keys.first??.count == 34)
    }

    @Test func keysAreUniqueAndACustomOneIsKept() async throws {
        let transport = MockTransport { _ in .ok() }
        let outbox = outbox(transport)
        try await controlled {
            try await outbox.enqueue(order(1))
            try await outbox.enqueue(order(1))
            try await outbox.enqueue(order(1).with { $0.headerFields[.idempotencyKey] = "\"mine\"" })
            try await outbox.flush()
        }
        let keys = transport.requests.compactMap { $0.headerFields[.idempotencyKey] }
        #expect(Set(keys).count == 3 && keys.last == "\"mine\"")
    }

    @Test(arguments: [401, 408, 409, 425, 429, 500, 503])
    func transientStatusesAreSentAgain(code: Int) async throws {
        let transport = MockTransport([.status(.init(code: code)), .ok()])
        let outbox = outbox(transport)
        try await controlled {
            try await outbox.enqueue(order(1))
            #expect(try await outbox.flush() == 1)
            // The retry is not due yet.
            #expect(try await outbox.flush() == 1)
            #expect(transport.requests.count == 1)
            let progress = try await outbox.entries().first?.progress
            #expect((progress?.attempts, progress?.lastFailure) == (1, "status \(code)"))
            clock.advance(by: .seconds(1))
            #expect(try await outbox.flush() == 0)
        }
    }

    @Test(arguments: [400, 403, 404, 410, 422])
    func otherStatusesCreateDeadLetters(code: Int) async throws {
        let transport = MockTransport([.status(.init(code: code)), .ok(), .ok()])
        let outbox = outbox(transport.checkedStatusCode())
        try await controlled {
            let id = try await outbox.enqueue(order(1))
            try await outbox.enqueue(order(2))
            // The next entry does not wait for a dead letter.
            #expect(try await outbox.flush() == 0)
            #expect(transport.requests.map(\.path) == ["/orders/1", "/orders/2"])
            let dead = try await outbox.entries()
            #expect(dead.map(\.id) == [id])
            #expect(dead.first?.progress.isDead == true)
            #expect(dead.first?.progress.lastFailure == "status \(code)")

            #expect(try await outbox.retry(id))
            #expect(try await !outbox.retry(id))
            #expect(try await outbox.flush() == 0)
            #expect(try await outbox.entries().isEmpty)
        }
        let keys = transport.requests.map { $0.headerFields[.idempotencyKey] }
        #expect(keys.count == 3 && keys.first == keys.last)
    }

    @Test func attemptsAndAgeAreLimited() async throws {
        let transport = MockTransport { _ in .status(.badGateway) }
        let outbox = outbox(transport, attempts: 3)
        try await controlled {
            try await outbox.enqueue(order(1))
            for left in [1, 1, 0, 0] {
                #expect(try await outbox.flush() == left)
                clock.advance(by: .seconds(600))
            }
            #expect(transport.requests.count == 3)
            try await outbox.enqueue(order(2))
            clock.advance(by: .seconds(8 * 86_400))
            #expect(try await outbox.flush() == 0)
            #expect(transport.requests.count == 3)
            #expect(try await outbox.entries().map(\.progress.isDead) == [true, true])
        }
    }

    /// The reasons for which an entry is not sent.
    enum Obstacle: CaseIterable {
        case network, delay, user, entryInFront
    }

    @Test(arguments: Obstacle.allCases)
    func entryThatIsNeverSentBecomesADeadLetter(obstacle: Obstacle) async throws {
        let transport = MockTransport { _ in .status(.badGateway) }
        var policy = OutboxPolicy()
        policy.baseDelay = .seconds(3_600)
        policy.maximumDelay = .seconds(3_600)
        policy.maximumAge = .seconds(60)
        let session = Session(userID: "emily", accessToken: "token-1")
        let signedIn = transport.authenticated(with: session, at: ["api.example.com"])
        let outbox =
            obstacle == .user
            ? Outbox(in: store, over: transport, policy: policy) : Outbox(in: store, over: signedIn, policy: policy)
        try await controlled {
            let id = try await Outbox(in: store, over: signedIn, policy: policy).enqueue(order(1))
            if obstacle == .network { connectivity.update(.offline) }
            if obstacle == .delay || obstacle == .entryInFront { try await outbox.flush() }
            if obstacle == .entryInFront { try await outbox.enqueue(order(2)) }
            let count = transport.requests.count
            clock.advance(by: .seconds(59))
            #expect(try await outbox.flush() == (obstacle == .entryInFront ? 2 : 1))
            clock.advance(by: .seconds(1))
            #expect(try await outbox.flush() == 0)
            let entries = try await outbox.entries()
            #expect(entries.first?.id == id)
            #expect(entries.allSatisfy { $0.progress.isDead && $0.progress.lastFailure == "older than 60.0 seconds" })
            #expect(transport.requests.count == count)
        }
    }

    @Test func deadLetterThatIsSentAgainIsAsYoungAsANewEntry() async throws {
        connectivity.update(.offline)
        let transport = MockTransport { _ in .ok() }
        let outbox = outbox(transport)
        try await controlled {
            let id = try await outbox.enqueue(order(1))
            clock.advance(by: .seconds(8 * 86_400))
            #expect(try await outbox.flush() == 0)
            #expect(try await outbox.retry(id))
            #expect(try await outbox.entries().first?.progress.retried == clock.date)
            clock.advance(by: .seconds(6 * 86_400))
            #expect(try await outbox.flush() == 1)
            connectivity.update(.wifi)
            #expect(try await outbox.flush() == 0)
        }
        #expect(transport.requests.count == 1)
    }

    /// No event of the network or of the app reminds the outbox of such an entry.
    @Test func runEndsTheWaitOfAnEntryAtItsMaximumAge() async throws {
        connectivity.update(.offline)
        let outbox = outbox(MockTransport { _ in .ok() })
        var changes = outbox.changes.makeAsyncIterator()
        try await controlled {
            try await outbox.enqueue(order(1))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await outbox.run() }
                try await clock.advance(by: .seconds(7 * 86_400), afterSleepers: 1)
                _ = await changes.next()
                guard case .dead(let reason) = await changes.next()?.state else {
                    Issue.record("the entry is not a dead letter")
                    return group.cancelAll()
                }
                #expect(reason == "older than 604800.0 seconds")
                group.cancelAll()
            }
        }
        #expect(clock.sleepers == 0)
    }

    @Test func delaysGrowToTheirMaximum() async throws {
        let transport = MockTransport { _ in .status(.badGateway) }
        let outbox = outbox(transport)
        try await controlled {
            try await outbox.enqueue(order(1))
            for attempt in 0..<15 {
                try await outbox.flush()
                let date = try #require(try await outbox.entries().first?.progress.notBefore)
                let full = min(600, Double(1 << attempt))
                let delay = date.timeIntervalSince(clock.date)
                #expect(delay >= full / 2 && delay <= full)
                clock.advance(by: .seconds(600))
            }
        }
    }

    @Test func policySetsTheDelays() async throws {
        let transport = MockTransport { _ in .status(.badGateway) }
        var policy = OutboxPolicy()
        policy.baseDelay = .seconds(100)
        policy.maximumDelay = .seconds(150)
        policy.maximumAge = nil
        let outbox = Outbox(in: store, over: transport, policy: policy)
        try await controlled {
            try await outbox.enqueue(order(1))
            for full in [100.0, 150, 150] {
                try await outbox.flush()
                let date = try #require(try await outbox.entries().first?.progress.notBefore)
                let delay = date.timeIntervalSince(clock.date)
                #expect(delay >= full / 2 && delay <= full)
                clock.advance(by: .seconds(1_000_000))
            }
        }
    }

    @Test func serverMayRequestALongerDelay() async throws {
        let transport = MockTransport([.status(.serviceUnavailable).headerFields([.retryAfter: "90"]), .ok()])
        let outbox = outbox(transport)
        try await controlled {
            try await outbox.enqueue(order(1))
            try await outbox.flush()
            clock.advance(by: .seconds(89))
            #expect(try await outbox.flush() == 1)
            clock.advance(by: .seconds(1))
            #expect(try await outbox.flush() == 0)
        }
    }

    @Test(arguments: [["90", "30"], ["30", "90"]])
    func runWaitsForTheEarliestEntry(delays: [String]) async throws {
        let transport = MockTransport { request in
            let delay = request.authority == "a.example" ? delays[0] : delays[1]
            return .status(.serviceUnavailable).headerFields([.retryAfter: delay])
        }
        let outbox = outbox(transport)
        try await controlled {
            try await outbox.enqueue(order(1, authority: "a.example"))
            try await outbox.enqueue(order(2, authority: "b.example"))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await outbox.run() }
                try await clock.waitForSleepers()
                #expect(clock.nextDeadline.map { clock.now.duration(to: $0) } == .seconds(30))
                group.cancelAll()
            }
        }
        #expect(transport.requests.count == 2)
    }

    @Test func changedClockDoesNotHoldBackAnEntry() async throws {
        let transport = MockTransport([.status(.badGateway), .ok()])
        let outbox = outbox(transport)
        clock.advance(by: .seconds(86_400))
        try await controlled {
            try await outbox.enqueue(order(1))
            try await outbox.flush()
        }
        var environment = NetworkEnvironment.current
        environment.clock = .manual(ManualClock())
        environment.connectivity = connectivity
        // The clock was set back by a day.
        #expect(try await withEnvironment(environment) { try await outbox.flush() } == 0)
    }

    @Test func bodyIsEncodedByTheEncoderOfTheStackWhenItIsAdded() async throws {
        let transport = MockTransport { _ in .ok() }
        let outbox = outbox(transport.encoder(.json(keys: .convertToSnakeCase)))
        try await controlled {
            try await outbox.enqueue(order(1).with { $0.body = .json(Order(orderNumber: 7)) })
            let stored = try await outbox.entries().first?.request.body
            #expect(stored?.data == Data(#"{"order_number":7}"#.utf8))
            try await outbox.flush()
        }
        #expect(transport.requests.last?.body?.data == Data(#"{"order_number":7}"#.utf8))
        #expect(transport.requests.last?.body?.contentType == "application/json")
    }

    private struct Order: Codable {
        let orderNumber: Int
    }

    // MARK: Network

    @Test func sendsNothingWithoutANetwork() async throws {
        connectivity.update(.offline)
        let transport = MockTransport { _ in .ok() }
        let outbox = outbox(transport)
        try await controlled {
            try await outbox.enqueue(order(1))
            #expect(try await outbox.flush() == 1)
            #expect(try await outbox.entries().first?.progress.attempts == 0)
            connectivity.update(.cellular)
            try await outbox.enqueue(order(2, authority: "b.example").with { $0.allowsExpensiveAccess = false })
            #expect(try await outbox.flush() == 1)
            connectivity.update(.wifi)
            #expect(try await outbox.flush() == 0)
        }
        #expect(transport.requests.map(\.path) == ["/orders/1", "/orders/2"])
    }

    @Test func missingNetworkCountsAsNoAttempt() async throws {
        let transport = MockTransport { _ in .failure(.offline) }
        let outbox = outbox(transport, attempts: 1)
        try await controlled {
            try await outbox.enqueue(order(1))
            for _ in 0..<5 {
                #expect(try await outbox.flush() == 1)
                clock.advance(by: .seconds(600))
            }
            #expect(try await outbox.entries().first?.progress.attempts == 0)
        }
        #expect(transport.requests.count == 5)
    }

    @Test func runsWhenTheNetworkIsBackAndWhenEntriesAreDue() async throws {
        connectivity.update(.offline)
        let transport = MockTransport([.status(.badGateway), .ok(), .ok()])
        let outbox = outbox(transport)
        try await controlled {
            try await outbox.enqueue(order(1))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await outbox.run() }
                try await eventually("the outbox watches the network") { connectivity.readers == 1 }
                #expect(transport.requests.isEmpty)
                connectivity.update(.wifi)
                try await transport.waitForRequests(1)
                try await clock.waitForSleepers()
                clock.advance(by: .seconds(1))
                try await transport.waitForRequests(2)
                // The outbox also runs at once for a new entry.
                try await outbox.enqueue(order(2))
                try await transport.waitForRequests(3)
                try await eventually("all entries are delivered") { try await outbox.entries().isEmpty }
                group.cancelAll()
                await #expect(throws: CancellationError.self) { try await group.waitForAll() }
            }
        }
        #expect(connectivity.readers == 0)
        #expect(clock.sleepers == 0)
        #expect(store.claim(), "the claim is released")
    }

    // MARK: Lanes

    @Test func failureHoldsBackItsServerOnly() async throws {
        let transport = MockTransport { request in
            request.path == "/orders/3" ? .ok() : .status(.badGateway)
        }
        let outbox = outbox(transport)
        try await controlled {
            try await outbox.enqueue(order(1, authority: "down.example"))
            try await outbox.enqueue(order(2, authority: "DOWN.example:443"))
            try await outbox.enqueue(order(3))
            #expect(try await outbox.flush() == 2)
        }
        #expect(transport.requests.map(\.path) == ["/orders/1", "/orders/3"])
    }

    @Test func entriesOfAnotherUserWait() async throws {
        let transport = MockTransport { _ in .ok() }
        func outbox(_ user: String) -> Outbox {
            let session = Session(userID: user, accessToken: "token of \(user)")
            return self.outbox(transport.authenticated(with: session, at: ["api.example.com"]))
        }
        try await controlled {
            let id = try await outbox("emily").enqueue(order(1))
            try await outbox("paul").enqueue(order(2))
            #expect(try await outbox("paul").flush() == 1)
            #expect(transport.requests.map { $0.headerFields[.authorization] } == ["Bearer token of paul"])
            #expect(try await outbox("paul").entries().map(\.id) == [id])
            #expect(try await outbox("paul").entries().first?.principal != nil)
            #expect(try await outbox("emily").flush() == 0)
        }
        #expect(transport.requests.last?.headerFields[.authorization] == "Bearer token of emily")
    }

    /// The failure may be the end of the user's session, so it says nothing about the entry.
    @Test func attemptDoesNotCountAfterAnotherUserHasSignedIn() async throws {
        let (emily, paul) = (Session(userID: "emily", accessToken: "e"), Session(userID: "paul", accessToken: "p"))
        let tokens = TokenStore(emily)
        let isFirst = Locked(true)
        let transport = MockTransport { _ in
            let isLate = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return !isFirst
            }
            if isLate { return .ok() }
            tokens.set(paul)
            return .failure(.connectionLost)
        }
        let outbox = outbox(transport.authenticated(with: tokens, at: ["api.example.com"]), attempts: 1)
        try await controlled {
            try await outbox.enqueue(order(1))
            #expect(try await outbox.flush() == 1)
            #expect(try await outbox.entries().map(\.progress.attempts) == [0])
            #expect(try await outbox.flush() == 1)
            tokens.set(emily)
            #expect(try await outbox.flush() == 0)
        }
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["Bearer e", "Bearer e"])
    }

    @Test func credentialsAreNotStored() async throws {
        let transport = MockTransport { _ in .ok() }
        let outbox = outbox(transport)
        try await controlled {
            try await outbox.enqueue(order(1).with { $0.headerFields[.authorization] = "Bearer token-1" })
            #expect(try await outbox.entries().first?.request.headerFields.contains(.authorization) == false)
        }
    }

    @Test func streamIsRefused() async throws {
        let outbox = outbox(MockTransport { _ in .ok() })
        let request = order(1).with { $0.body = .stream { AsyncStream<Data> { $0.finish() } } }
        let error = await #expect(throws: NetworkingError.self) { try await outbox.enqueue(request) }
        #expect(error?.kind == .bodyNotReplayable)
        #expect(try await outbox.entries().isEmpty)
    }

    // MARK: Several outboxes

    @Test func entriesOfSeveralOutboxesAreInTheOrderOfTheirTimes() async throws {
        let transport = MockTransport { _ in .ok() }
        let outboxes = [outbox(transport), outbox(transport)]
        try await controlled {
            for number in 0..<20 {
                try await outboxes[number % 2].enqueue(order(number))
                clock.advance(by: .seconds(1))
            }
            #expect(try await outboxes[0].flush() == 0)
        }
        #expect(transport.requests.map(\.path) == (0..<20).map { "/orders/\($0)" })
    }

    /// Most deliveries are short, and a long one must not be disturbed.
    @Test func runChecksLessAndLessOftenWhetherAnotherOutboxStillSends() async throws {
        let transport = MockTransport { _ in .ok() }
        let outbox = outbox(transport)
        #expect(store.claim())
        try await controlled {
            try await outbox.enqueue(order(1))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await outbox.run() }
                // The first status of the network may cut a first interval short.
                var intervals: [Duration] = []
                while intervals.count < 10 {
                    try await clock.waitForSleepers()
                    guard let deadline = clock.nextDeadline else { continue }
                    intervals.append(clock.now.duration(to: deadline))
                    clock.advance(by: clock.now.duration(to: deadline))
                }
                #expect(intervals.prefix(3).allSatisfy { $0 <= .milliseconds(800) })
                #expect(intervals.suffix(2) == [.seconds(5), .seconds(5)])
                #expect(intervals == intervals.sorted())
                try await clock.waitForSleepers()
                #expect(transport.requests.isEmpty)
                store.release()
                clock.advance(by: .seconds(5))
                try await transport.waitForRequests(1)
                group.cancelAll()
            }
        }
    }

    // MARK: Cancellation

    @Test func cancelledEntryIsNotSent() async throws {
        let transport = MockTransport { _ in .ok() }
        let outbox = outbox(transport)
        try await controlled {
            let id = try await outbox.enqueue(order(1))
            try await outbox.enqueue(order(2))
            #expect(try await outbox.cancel(id))
            #expect(try await !outbox.cancel(id))
            try await outbox.flush()
        }
        #expect(transport.requests.map(\.path) == ["/orders/2"])
    }

    @Test func entryIsCancelledWhileItIsSent() async throws {
        let transport = MockTransport { request in request.path == "/orders/1" ? .never : .ok() }
        let outbox = outbox(transport)
        var changes = outbox.changes.makeAsyncIterator()
        let id = try await controlled {
            let id = try await outbox.enqueue(order(1))
            try await outbox.enqueue(order(2))
            async let left = outbox.flush()
            try await transport.waitForRequests(1)
            #expect(try await outbox.cancel(id))
            #expect(try await left == 0)
            return id
        }
        #expect(transport.cancelled == 1)
        var states: [String] = []
        while states.count < 3, let change = await changes.next() {
            if change.id == id {
                states.append("\(change.state)".prefix { $0 != "(" }.description)
            }
        }
        #expect(states == ["queued", "sending", "cancelled"])
        // The next change concerns the other entry.
        #expect(await changes.next()?.id != id)
        #expect(transport.requests.count == 2)
    }

    @Test(arguments: [1, 2])
    func entryIsNotSentWhileItIsRemovedFromTheStore(flushes: Int) async throws {
        let transport = MockTransport { _ in .ok() }
        let held = HeldStore(store)
        let outbox = Outbox(in: held, over: transport)
        try await controlled {
            let id = try await outbox.enqueue(order(1))
            async let isCancelled = outbox.cancel(id)
            try await eventually("the store removes the entry") { held.removals == 1 }
            // The end of the first one must not end the cancellation for the second one.
            for _ in 0..<flushes {
                try await outbox.flush()
            }
            held.gate.open()
            #expect(try await isCancelled)
            #expect(try await outbox.flush() == 0)
        }
        #expect(transport.requests.isEmpty)
    }

    @Test func entryThatCannotBeRemovedIsSent() async throws {
        let transport = MockTransport { _ in .ok() }
        let held = HeldStore(store, failures: 1)
        held.gate.open()
        let outbox = Outbox(in: held, over: transport)
        try await controlled {
            let id = try await outbox.enqueue(order(1))
            await #expect(throws: OutboxStoreError.self) { try await outbox.cancel(id) }
            #expect(try await outbox.flush() == 0)
        }
        #expect(transport.requests.count == 1)
    }

    @Test func cancelledEntryDoesNotWaitForAnotherAttempt() async throws {
        let gate = MockGate()
        let transport = MockTransport { _ in
            try await gate.wait()
            return .status(.serviceUnavailable)
        }
        let held = HeldStore(store)
        let outbox = Outbox(in: held, over: transport)
        var changes = outbox.changes.makeAsyncIterator()
        var states: [String] = []
        try await controlled {
            let id = try await outbox.enqueue(order(1))
            async let left = outbox.flush()
            try await transport.waitForRequests(1)
            async let isCancelled = outbox.cancel(id)
            try await eventually("the store removes the entry") { held.removals == 1 }
            gate.open()
            _ = try await left
            held.gate.open()
            #expect(try await isCancelled)
        }
        while states.count < 3, let change = await changes.next() {
            states.append("\(change.state)".prefix { $0 != "(" }.description)
        }
        #expect(states == ["queued", "sending", "cancelled"])
    }

    @Test func cancelledSendingKeepsTheEntry() async throws {
        let transport = MockTransport { _ in .never }
        let outbox = outbox(transport)
        try await controlled {
            try await outbox.enqueue(order(1))
            let sending = Task { try await outbox.flush() }
            try await transport.waitForRequests(1)
            sending.cancel()
            await #expect(throws: CancellationError.self) { try await sending.value }
            let entries = try await outbox.entries()
            #expect(entries.map(\.progress.attempts) == [0])
        }
        #expect(store.claim(), "the claim is released")
    }

    // MARK: Changes

    @Test func reportsEachChange() async throws {
        let transport = MockTransport([.status(.badGateway), .ok(), .status(.notFound)])
        let outbox = outbox(transport)
        var changes = outbox.changes.makeAsyncIterator()
        var seen: [String] = []
        let (first, third) = try await controlled {
            let first = try await outbox.enqueue(order(1))
            try await outbox.flush()
            clock.advance(by: .seconds(1))
            try await outbox.flush()
            try await outbox.enqueue(order(2))
            try await outbox.flush()
            let third = try await outbox.enqueue(order(3))
            try await outbox.cancel(third)
            return (first, third)
        }
        while seen.count < 10, let change = await changes.next() {
            switch change.state {
            case .queued: seen.append("queued")
            case .sending(let attempt): seen.append("sending \(attempt)")
            case .waiting(let date): seen.append(date > clock.date.addingTimeInterval(-1) ? "waiting" : "late")
            case .delivered(let response): seen.append("\(response.status.code) \(change.id == first)")
            case .dead(let reason): seen.append(reason)
            case .cancelled: seen.append("cancelled \(change.id == third)")
            default: seen.append("other")
            }
        }
        #expect(
            seen == [
                "queued", "sending 1", "waiting", "sending 2", "200 true", "queued", "sending 1", "status 404",
                "queued",
                "cancelled true",
            ]
        )
    }

    @Test func changesEndWithTheOutbox() async {
        var outbox: Outbox? = outbox(MockTransport { _ in .ok() })
        var changes = outbox?.changes.makeAsyncIterator()
        outbox = nil
        #expect(await changes?.next() == nil)
    }

    @Test func identifiersAreInTheOrderOfTheCalls() async throws {
        let transport = MockTransport { _ in .ok() }
        let outbox = outbox(transport)
        try await controlled {
            var ids: [OutboxEntry.ID] = []
            for number in 0..<20 {
                ids.append(try await outbox.enqueue(order(number)))
            }
            #expect(ids == ids.sorted() && Set(ids).count == 20)
            // A new process with an earlier clock continues the sequence of identifiers.
            let later = try await self.outbox(transport).enqueue(order(20))
            #expect(ids.allSatisfy { $0 < later })
            #expect(OutboxEntry.ID(later.description) == later)
        }
        for text in [
            "", "x", "../../etc/passwd", String(repeating: "0", count: 33), "0000000000000000-000000000000000G",
        ] {
            #expect(OutboxEntry.ID(text) == nil)
        }
    }
}

/// A store that holds its first removal until a gate opens.
private final class HeldStore: OutboxStore {
    let gate = MockGate()
    private let store: MemoryOutboxStore
    private let state: Mutex<(removals: Int, failures: Int)>

    init(_ store: MemoryOutboxStore, failures: Int = 0) {
        self.store = store
        state = Mutex((0, failures))
    }

    /// The number of removals that have begun.
    var removals: Int { state.withLock { $0.removals } }

    func ids() async throws -> [OutboxEntry.ID] { store.ids() }
    func entry(_ id: OutboxEntry.ID) async throws -> OutboxEntry? { store.entry(id) }
    func add(_ entry: OutboxEntry) async throws { try store.add(entry) }
    func update(_ progress: OutboxEntry.Progress, of id: OutboxEntry.ID) async throws { store.update(progress, of: id) }
    func claim() async throws -> Bool { store.claim() }
    func release() async { store.release() }

    func remove(_ id: OutboxEntry.ID) async throws -> Bool {
        let (isFirst, fails) = state.withLock { state in
            state.removals += 1
            state.failures -= 1
            return (state.removals == 1, state.failures >= 0)
        }
        if isFirst {
            try await gate.wait()
        }
        if fails { throw OutboxStoreError.unusable(reason: "full") }
        return store.remove(id)
    }
}

extension MockResponse {
    fileprivate static func failure(_ kind: NetworkingError.Kind) -> MockResponse {
        .failure(NetworkingError(kind, request: .lawful))
    }
}
