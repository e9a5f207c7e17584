import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingConnectivity

/// What an outbox makes of an attempt: the errors of the stack, the delays of the policy, and a server that is switched.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct OutboxOutcomeTests {
    private let clock = ManualClock()
    private let connectivity = ManualConnectivity()
    private let store = MemoryOutboxStore()

    private func order(_ number: Int, authority: String? = "api.example.com") -> HTTPRequestData {
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

    /// The storage of the session could not be used for the moment, and the request is as good as before.
    @Test func requestWithoutASessionOfItsStorageIsSentAgain() throws {
        var error = NetworkingError(.storage, request: order(1))
        guard case .refused = OutboxOutcome(error, about: nil, now: .now) else {
            Issue.record("A body that cannot be read is not sent again.")
            return
        }
        error.wasNotProcessed = true
        guard case .transient = OutboxOutcome(error, about: nil, now: .now) else {
            Issue.record("The request is lost.")
            return
        }
    }

    // MARK: Errors of the app

    private struct Problem: Error, Decodable {
        let code: Int
    }

    private struct Declined: Error {}

    /// Throws an error of its own for each response that it does not like, without the help of the library.
    private struct Declining: NetworkingModifier {
        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            let response = try await upstream.send(request)
            guard response.status.code < 400 else { throw Declined() }
            return response
        }
    }

    enum Errors: CaseIterable {
        case none, library, decoded, transformed, closure, modifier, outsideOfRetry, insideOfAll

        func stack(_ transport: MockTransport) -> any NetworkingComponent {
            switch self {
            case .none: transport
            case .library: transport.checkedStatusCode()
            case .decoded: transport.checkedStatusCode(as: Problem.self)
            case .transformed: transport.checkedStatusCode(as: Problem.self) { _, _ in Declined() }
            case .closure: transport.checkedStatusCode { _ in Declined() }
            case .modifier: transport.modified(Declining())
            case .outsideOfRetry: transport.retry(.immediate()).checkedStatusCode(as: Problem.self)
            case .insideOfAll:
                transport.checkedStatusCode(as: Problem.self).retry(.immediate()).cached().deduplicated().instrument()
            }
        }
    }

    @Test(arguments: Errors.allCases, [400, 403, 404, 409, 422, 500])
    func statusDecidesWhateverTheStackThrows(errors: Errors, code: Int) async throws {
        let transport = MockTransport { request in
            request.path == "/orders/1" ? .json(text: #"{"code": 7}"#, status: .init(code: code)) : .ok()
        }
        let outbox = Outbox(in: store, over: AnyNetworkingComponent(errors.stack(transport)))
        let isTransient = code == 409 || code == 500
        try await controlled {
            try await outbox.enqueue(order(1))
            try await outbox.enqueue(order(2))
            #expect(try await outbox.flush() == (isTransient ? 2 : 0))
            let progress = try #require(try await outbox.entries().first?.progress)
            #expect(progress.isDead == !isTransient)
            #expect(progress.lastFailure == "status \(code)")
        }
    }

    @Test(arguments: Errors.allCases)
    func serverRequestsADelayWhateverTheStackThrows(errors: Errors) async throws {
        let transport = MockTransport([
            .json(text: #"{"code": 7}"#, status: .serviceUnavailable).headerFields([.retryAfter: "90"]), .ok(),
        ])
        let network = errors.stack(transport).environment(\.retries, .off)
        let outbox = Outbox(in: store, over: AnyNetworkingComponent(network))
        try await controlled {
            try await outbox.enqueue(order(1))
            try await outbox.flush()
            clock.advance(by: .seconds(89))
            #expect(try await outbox.flush() == 1)
            #expect(transport.requests.count == 1)
            clock.advance(by: .seconds(1))
            #expect(try await outbox.flush() == 0)
        }
    }

    /// The error of the last attempt has nothing to do with the response of an earlier one.
    @Test func errorWithoutAResponseIsTransient() async throws {
        let isFirst = Atomic(true)
        let transport = MockTransport { _ in .json(text: #"{"code": 7}"#, status: .init(code: 422)) }
        let failing = Sending { request, upstream in
            guard isFirst.exchange(false, ordering: .relaxed) else { return try await upstream.send(request) }
            throw Declined()
        }
        let outbox = Outbox(in: store, over: transport.checkedStatusCode(as: Problem.self).modified(failing))
        try await controlled {
            try await outbox.enqueue(order(1))
            #expect(try await outbox.flush() == 1)
            #expect(try await outbox.entries().first?.progress.lastFailure == "Declined")
            clock.advance(by: .seconds(1))
            #expect(try await outbox.flush() == 0)
            #expect(try await outbox.entries().first?.progress.lastFailure == "status 422")
        }
    }

    // MARK: Delays

    @Test func entryIsSentAgainAtOnceWithoutADelay() async throws {
        let transport = MockTransport([.status(.badGateway), .status(.badGateway), .ok()])
        var policy = OutboxPolicy()
        policy.baseDelay = .zero
        let outbox = Outbox(in: store, over: transport, policy: policy)
        try await controlled {
            try await outbox.enqueue(order(1))
            let sending = Task { try await outbox.run() }
            try await transport.waitForRequests(3)
            try await eventually("the entry is delivered") { try await outbox.entries().isEmpty }
            sending.cancel()
        }
    }

    @Test(arguments: [Duration.zero, .nanoseconds(1)])
    func missingNetworkCausesNoLoopWithoutADelay(delay: Duration) async throws {
        let transport = MockTransport { _ in .failure(NetworkingError(.offline, request: .lawful)) }
        var policy = OutboxPolicy()
        policy.baseDelay = delay
        policy.maximumDelay = delay
        let outbox = Outbox(in: store, over: transport, policy: policy)
        try await controlled {
            try await outbox.enqueue(order(1))
            let sending = Task { try await outbox.run() }
            try await transport.waitForRequests(1)
            try await clock.waitForSleepers()
            #expect(clock.nextDeadline?.offset == .seconds(1))
            #expect(transport.requests.count == 1)
            sending.cancel()
        }
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(1 << 40), .nanoseconds(1)], [1, 2, 41, .max])
    func anyDelayOfAPolicyIsPossible(delay: Duration, attempts: Int) throws {
        var policy = OutboxPolicy()
        policy.baseDelay = delay
        policy.maximumDelay = .seconds(Int64.max)
        let result = policy.delay(after: attempts, wanted: .seconds(1 << 45), using: .seeded(1))
        #expect(.zero ... .seconds(1_000_000_000) ~= result)
    }

    @Test func serverCannotRequestMoreThanTheMaximumDelay() async throws {
        let transport = MockTransport([.status(.serviceUnavailable).headerFields([.retryAfter: "3600"]), .ok()])
        var policy = OutboxPolicy()
        policy.maximumDelay = .seconds(60)
        let outbox = Outbox(in: store, over: transport, policy: policy)
        try await controlled {
            try await outbox.enqueue(order(1))
            try await outbox.flush()
            #expect(try await outbox.entries().first?.progress.notBefore == clock.date.addingTimeInterval(60))
            clock.advance(by: .seconds(60))
            #expect(try await outbox.flush() == 0)
        }
    }

    @Test(arguments: [Int.min, -1])
    func damagedNumberOfAttemptsIsZero(number: Int) async throws {
        let transport = MockTransport { _ in .status(.badGateway) }
        let outbox = Outbox(in: store, over: transport)
        try await controlled {
            let id = try await outbox.enqueue(order(1))
            var progress = OutboxEntry.Progress()
            progress.attempts = number
            store.update(progress, of: id)
            try await outbox.flush()
            #expect(try await outbox.entries().first?.progress.attempts == 1)
        }
    }

    /// The entry becomes due while the delivery that did not see it ends.
    @Test func entryThatIsAddedDuringADeliveryIsSentNext() async throws {
        let gate = MockGate()
        let transport = MockTransport { request in
            if request.path == "/orders/1" { try await gate.wait() }
            return .ok()
        }
        let outbox = Outbox(in: store, over: transport)
        try await controlled {
            try await outbox.enqueue(order(1))
            let sending = Task { try await outbox.run() }
            try await transport.waitForRequests(1)
            try await outbox.enqueue(order(2))
            gate.open()
            try await eventually("both entries are delivered", within: .seconds(10)) {
                try await outbox.entries().isEmpty
            }
            sending.cancel()
        }
    }

    /// The server has accepted the request, and the app could not cancel the entry.
    @Test func deliveredEntryIsRemovedWhileItsCancellationFails() async throws {
        let gate = MockGate()
        let transport = MockTransport { _ in
            try await gate.wait()
            return .ok()
        }
        let removals = Mutex(0)
        let removal = MockGate()
        let failing = ScriptedStore(
            store,
            onRemove: {
                let number = removals.withLock { count in
                    count += 1
                    return count
                }
                guard number == 1 else { return }
                try await removal.wait()
                throw OutboxStoreError.unusable(reason: "full")
            }
        )
        let outbox = Outbox(in: failing, over: transport)
        try await controlled {
            let id = try await outbox.enqueue(order(1))
            async let left = outbox.flush()
            try await transport.waitForRequests(1)
            let cancelling = Task { try await outbox.cancel(id) }
            try await eventually("the store removes the entry") { removals.withLock { $0 } == 1 }
            gate.open()
            #expect(try await left == 0)
            removal.open()
            await #expect(throws: OutboxStoreError.self) { try await cancelling.value }
            #expect(try await outbox.entries().isEmpty)
        }
        #expect(transport.requests.count == 1)
    }

    // MARK: Servers

    private let production = URL(string: "https://api.example.com/v1")!
    private let staging = URL(string: "https://staging.example.com/v1")!

    private func stack(_ transport: MockTransport, _ server: SwitchableServer) -> some NetworkingComponent {
        let session = Session(userID: "emily", accessToken: "token")
        return transport.authenticated(with: session).server(baseURL: server)
    }

    /// The entry would otherwise arrive at the other server, with the credentials of its user.
    @Test func entryIsNotSentToAnotherServer() async throws {
        let transport = MockTransport { _ in .ok() }
        let server = SwitchableServer(production)
        let outbox = Outbox(in: store, over: stack(transport, server))
        try await controlled {
            let id = try await outbox.enqueue(order(1, authority: nil))
            try server.change(to: staging)
            #expect(try await outbox.flush() == 1)
            #expect(transport.requests.isEmpty)
            // An entry of the new server does not wait for it.
            try await outbox.enqueue(order(2, authority: nil))
            #expect(try await outbox.flush() == 1)
            #expect(transport.requests.map(\.authority) == ["staging.example.com"])
            #expect(try await outbox.entries().map(\.id) == [id])

            try server.change(to: production)
            #expect(try await outbox.flush() == 0)
            #expect(transport.requests.map(\.authority) == ["staging.example.com", "api.example.com"])
        }
    }

    @Test(arguments: ["http://api.example.com/v1", "https://api.example.com:8443/v1"])
    func otherSchemeOrPortIsAnotherServer(other: String) async throws {
        let transport = MockTransport { _ in .ok() }
        let server = SwitchableServer(production)
        let outbox = Outbox(in: store, over: stack(transport, server))
        try await controlled {
            try await outbox.enqueue(order(1, authority: nil))
            try server.change(to: try #require(URL(string: other)))
            #expect(try await outbox.flush() == 1)
            clock.advance(by: .seconds(7 * 86_400))
            #expect(try await outbox.flush() == 0)
            #expect(try await outbox.entries().first?.progress.isDead == true)
        }
        #expect(transport.requests.isEmpty)
    }

    @Test func otherPathOfTheServerIsTheSameServer() async throws {
        let transport = MockTransport { _ in .ok() }
        let server = SwitchableServer(production)
        let outbox = Outbox(in: store, over: stack(transport, server))
        try await controlled {
            try await outbox.enqueue(order(1, authority: nil))
            try server.change(to: try #require(URL(string: "https://API.example.com:443/v2")))
            #expect(try await outbox.flush() == 0)
        }
        #expect(transport.requests.map(\.path) == ["/v2/orders/1"])
        #expect(transport.requests.first?.headerFields[.authorization] == "Bearer token")
    }

    /// The app changes the server after the outbox has decided to send the entry.
    @Test func serverThatIsSwitchedDuringADeliveryDoesNotReceiveTheEntry() async throws {
        let transport = MockTransport { _ in .ok() }
        let server = SwitchableServer(production)
        let network = stack(transport, server)
        let switching = ScriptedStore(store, onUpdate: { [staging] in try? server.change(to: staging) })
        let outbox = Outbox(in: switching, over: network)
        try await controlled {
            try await outbox.enqueue(order(1, authority: nil))
            try await outbox.flush()
        }
        #expect(transport.requests.map(\.authority) == ["api.example.com"])
        // The credentials may be those of the new server by now.
        #expect(transport.requests.first?.headerFields[.authorization] == nil)
    }

    /// An earlier version of the library did not store the server.
    @Test func entryWithoutAServerIsSent() async throws {
        let transport = MockTransport { _ in .ok() }
        let outbox = Outbox(in: store, over: transport)
        try await controlled {
            try await outbox.enqueue(order(1))
            let entry = try #require(try await outbox.entries().first)
            #expect(entry.server == "https://api.example.com:443")
            var fields = try #require(
                try JSONSerialization.jsonObject(with: JSONEncoder().encode(entry)) as? [String: Any]
            )
            fields["server"] = nil
            let data = try JSONSerialization.data(withJSONObject: fields)
            let old = try JSONDecoder().decode(OutboxEntry.self, from: data)
            #expect(old.server == nil)
            #expect(store.remove(entry.id))
            try store.add(old)
            #expect(try await outbox.flush() == 0)
        }
        #expect(transport.requests.count == 1)
    }
}

/// A store that runs a closure before it removes an entry or updates the progress of one.
private final class ScriptedStore: OutboxStore {
    private let store: MemoryOutboxStore
    private let onRemove: @Sendable () async throws -> Void
    private let onUpdate: @Sendable () -> Void

    init(
        _ store: MemoryOutboxStore,
        onRemove: @escaping @Sendable () async throws -> Void = {},
        onUpdate: @escaping @Sendable () -> Void = {}
    ) {
        self.store = store
        self.onRemove = onRemove
        self.onUpdate = onUpdate
    }

    func ids() async throws -> [OutboxEntry.ID] { store.ids() }
    func entry(_ id: OutboxEntry.ID) async throws -> OutboxEntry? { store.entry(id) }
    func add(_ entry: OutboxEntry) async throws { try store.add(entry) }
    func claim() async throws -> Bool { store.claim() }
    func release() async { store.release() }

    func remove(_ id: OutboxEntry.ID) async throws -> Bool {
        try await onRemove()
        return store.remove(id)
    }

    func update(_ progress: OutboxEntry.Progress, of id: OutboxEntry.ID) async throws {
        onUpdate()
        store.update(progress, of: id)
    }
}
