import Logging
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20)))
struct NetworkEnvironmentTests {
    @Test func keyHasItsDefaultUntilItIsSet() {
        var environment = NetworkEnvironment()
        #expect(environment.tenant == "public")

        environment.tenant = "blue"

        #expect(environment.tenant == "blue")
        #expect(environment.region == "eu")
    }

    @Test func keysAreIndependent() {
        var environment = NetworkEnvironment()

        environment.tenant = "blue"
        environment.region = nil
        environment.tenant = "green"

        #expect(environment.tenant == "green")
        #expect(environment.region == nil)
    }

    @Test func copiesAreValues() {
        var first = NetworkEnvironment()
        first.tenant = "blue"
        var second = first

        second.tenant = "green"
        second.clock = .manual(ManualClock())

        #expect(first.tenant == "blue")
        #expect(second.tenant == "green")
    }

    @Test func valueAppliesUpstreamOnly() async throws {
        let journal = Journal()
        let network = MockTransport { _ in .ok() }
            .modified(Reading(name: "upstream", journal: journal))
            .environment(\.tenant, "blue")
            .modified(Reading(name: "downstream", journal: journal))

        try await network.data(.lawful)

        #expect(journal.entries == ["downstream public", "upstream blue"])
        #expect(NetworkEnvironment.current.tenant == "public")
    }

    @Test func valueNearestToTheTransportTakesPrecedence() async throws {
        let journal = Journal()
        let network = MockTransport { _ in .ok() }
            .modified(Reading(name: "transport", journal: journal))
            .environment(\.tenant, "inner")
            .modified(Reading(name: "between", journal: journal))
            .environment(\.tenant, "outer")

        try await network.data(.lawful)

        #expect(journal.entries == ["between outer", "transport inner"])
    }

    @Test func valuesOfSeveralKeysCombine() async throws {
        let journal = Journal()
        let network = MockTransport { _ in .ok() }
            .modified(Reading(name: "tenant", journal: journal))
            .environment(\.region, "us")
            .environment(\.tenant, "blue")
        let outer = NetworkEnvironment.current

        try await network.data(.lawful)

        #expect(journal.entries == ["tenant blue"])
        #expect(outer.region == "eu")
    }

    /// Each `environment(_:_:)` adds its value to those further out.
    @Test func throttlingIsSwitchedOffNextToOtherValues() async throws {
        let limiter = ConcurrencyLimiter(max: 1)
        let held = HeldResponse()
        let limited = MockTransport { _ in .held(by: held) }.throttled(by: limiter, maximumWait: .zero)
        let holder = Task { try await limited.data(.lawful) }
        try await held.waitForRequests()
        let network = limited.environment(\.isThrottled, false).environment(\.tenant, "blue")
        let other = Task { try await network.data(.lawful) }
        try await held.waitForRequests(2)
        held.respond()
        _ = try await (holder.value, other.value)
    }

    @Test func childTasksInheritTheEnvironment() async throws {
        var environment = NetworkEnvironment()
        environment.tenant = "blue"

        await withEnvironment(environment) {
            async let child = NetworkEnvironment.current.tenant
            #expect(await child == "blue")
            #expect(await Task { NetworkEnvironment.current.tenant }.value == "blue")
            #expect(await Task.detached { NetworkEnvironment.current.tenant }.value == "public")
        }
    }

    @Test func callersEnvironmentReachesTheStack() async throws {
        let journal = Journal()
        let network = MockTransport { _ in .ok() }.modified(Reading(name: "stack", journal: journal))
            .timeout(.seconds(5))
        var environment = NetworkEnvironment()
        environment.tenant = "caller's"

        try await withEnvironment(environment) { try await network.data(.lawful) }

        #expect(journal.entries == ["stack caller's"])
    }

    @Test func environmentEndsWithItsOperationThatThrows() async {
        struct Failure: Error {}
        var environment = NetworkEnvironment()
        environment.tenant = "blue"

        await #expect(throws: Failure.self) {
            try await withEnvironment(environment) { throw Failure() }
        }

        #expect(NetworkEnvironment.current.tenant == "public")
    }

    @Test func concurrentCallsHaveSeparateValues() async throws {
        let network = MockTransport { _ in .text(NetworkEnvironment.current.tenant) }

        try await withThrowingTaskGroup { group in
            for number in 0..<200 {
                group.addTask {
                    let response = try await network.environment(\.tenant, "\(number)").data(.lawful)
                    #expect(String(decoding: response.data, as: UTF8.self) == "\(number)")
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func seedDoesNotAffectTheSecureRandomSource() async throws {
        let journal = Journal()
        let transport = MockTransport { _ in
            let environment = NetworkEnvironment.current
            journal.note("\(environment.random.next()) \(environment.secureRandom.bytes(16))")
            return .ok()
        }

        for _ in 1...2 {
            try await transport.environment(\.random, .seeded(42)).data(.lawful)
        }

        let drawn = journal.entries.map { $0.split(separator: " ", maxSplits: 1) }
        #expect(drawn[0][0] == drawn[1][0])
        #expect(drawn[0][1] != drawn[1][1])
    }

    @Test func loggerIsTheTaskLocalOneByDefault() async throws {
        let taskLocal = LogRecorder()
        let set = LogRecorder()
        let network = MockTransport { _ in .ok() }.logged()

        try await withLogger(taskLocal.logger()) { _ in
            try await network.data(.lawful)
            try await network.environment(\.logger, set.logger()).data(.lawful)
        }

        #expect(taskLocal.lines.count == 2)
        #expect(set.lines.count == 2)
    }

    @Test func sharedWorkUsesTheDefaultInsteadOfTheValueOfOneCall() async throws {
        let journal = Journal()
        let network = MockTransport { _ in
            let environment = NetworkEnvironment.current
            journal.note("\(environment.tenant), \(environment.job)")
            return .ok()
        }
        for network in [AnyNetworkingComponent(network), AnyNetworkingComponent(network.deduplicated())] {
            _ = try await network.environment(\.tenant, "blue").environment(\.job, 7).data(.lawful)
        }
        #expect(journal.entries == ["blue, 7", "blue, 0"])
    }
}

// MARK: - Values

private enum JobKey: NetworkEnvironmentKey {
    static let defaultValue = 0
    static let isOfOneCall = true
}

private enum RegionKey: NetworkEnvironmentKey {
    static let defaultValue: String? = "eu"
}

extension NetworkEnvironment {
    fileprivate var job: Int {
        get { self[JobKey.self] }
        set { self[JobKey.self] = newValue }
    }

    /// A key with `nil` as a possible value.
    fileprivate var region: String? {
        get { self[RegionKey.self] }
        set { self[RegionKey.self] = newValue }
    }
}

private struct Reading: NetworkingModifier {
    let name: String
    let journal: Journal

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        journal.note("\(name) \(NetworkEnvironment.current.tenant)")
        return try await upstream.send(request)
    }
}
