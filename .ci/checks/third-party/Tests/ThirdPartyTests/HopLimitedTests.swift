import Networking
import NetworkingTesting
import Testing
import ThirdParty

@Suite(.timeLimit(.minutes(20)))
struct HopLimitedTests {
    @Test func keepsTheLaws() async throws {
        try await checkLaws(of: HopLimited(limit: .seconds(60)))
    }

    @Test func eachHopHasItsOwnTime() async throws {
        let clock = ManualClock()
        let transport = MockTransport { request in
            guard request.path != "/3" else { return .never }
            clock.advance(by: .seconds(4))
            return .redirect(to: request.path == "/1" ? "/2" : "/3")
        }
        let network = transport.hopLimited(to: .seconds(5)).environment(\.clock, .manual(clock))
        async let response = network.data(HTTPRequestData(authority: "api.example.com", path: "/1"))
        try await transport.waitForRequests(3)
        try await clock.advance(by: .seconds(5), afterSleepers: 1)
        do {
            _ = try await response
            Issue.record("The call returned a response after the time limit of its last hop.")
        } catch let error as NetworkingError {
            #expect(error.kind == .timeout)
            #expect(error.request.path == "/3")
        }
        #expect(transport.cancelled == 1)
    }

    @Test func diagnosticNamesTheModifierAsTheOutlineDoes() {
        let network = MockTransport().hopLimited(to: .seconds(5)).deadline(.seconds(8))
        #expect(network.diagnostics.map(\.message).contains { $0.hasPrefix("hopLimited(to: 5.0 seconds) is inside") })
    }

    /// What a transport that keeps its connections needs to know of a request.
    @Test func transportCanKeepUsersApart() {
        func owner(_ token: String?) -> ConnectionOwner? {
            var request = HTTPRequestData.lawful
            if let token { request.setCredential("Bearer \(token)", for: .authorization) }
            return ConnectionOwner(of: request)
        }
        #expect(owner(nil) == nil)
        #expect(owner("emily") == owner("emily"))
        #expect(owner("emily") != owner("james"))
        #expect(HTTPRequestData.lawful.mayBeSentTwice)
        #expect(DecompressionLimit(ratio: 10).isExceeded(decoded: 16 << 20, encoded: 1 << 20))
    }
}
