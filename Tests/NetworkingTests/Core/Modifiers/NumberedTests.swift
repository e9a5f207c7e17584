import Networking
import NetworkingTesting
import Testing

@Suite(.timeLimit(.minutes(20)))
struct NumberedTests {
    @Test func countsFromOneInTheOrderOfSending() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.numbered()

        for _ in 1...3 {
            try await network.data(.lawful)
        }

        #expect(transport.requests.map(\.number) == [1, 2, 3])
    }

    @Test func copiesShareACounterAndSeparateStacksDoNot() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.numbered()
        let copy = AnyNetworkingComponent(network)
        let other = transport.numbered()

        try await network.data(.lawful)
        try await copy.data(.lawful)
        try await other.data(.lawful)

        #expect(transport.requests.map(\.number) == [1, 2, 1])
    }

    @Test func requestKeepsItsNumber() async throws {
        let transport = MockTransport { _ in .ok() }
        let request = HTTPRequestData.lawful.with { $0.number = 42 }

        try await transport.numbered().data(request)

        #expect(transport.requests.map(\.number) == [42])
    }

    @Test func attemptsShareANumber() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.resent(times: 2).numbered()

        try await network.data(.lawful)
        try await network.data(.lawful)

        #expect(transport.requests.map(\.number) == [1, 1, 2, 2])
    }

    @Test func outerNumberTakesPrecedence() async throws {
        let transport = MockTransport { _ in .ok() }
        let inner = transport.numbered()

        try await inner.data(.lawful)
        try await inner.numbered().data(.lawful)

        #expect(transport.requests.map(\.number) == [1, 1])
    }

    @Test func callersRequestGetsNoNumber() async throws {
        let response = try await MockTransport { _ in .ok() }.numbered().data(.lawful)

        #expect(response.request.number == nil)
        #expect(response.sentRequest.number == 1)
    }

    @Test func thousandsOfRequestsGetANumberEach() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.numbered()

        try await withThrowingTaskGroup { group in
            for _ in 0..<2_000 {
                group.addTask { _ = try await network.data(.lawful) }
            }
            try await group.waitForAll()
        }

        #expect(Set(transport.requests.compactMap(\.number)) == Set(1...2_000))
    }
}
