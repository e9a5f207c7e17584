import Foundation
import Networking
import NetworkingTesting
import Testing

/// Suites with thousands of tests use mocks, so the mocks must be fast.
@Suite(.timeLimit(.minutes(20)))
struct MockSpeedTests {
    // The bounds are far above the time of a debug build beside other suites. They fail if the time grows with the
    // number of requests or stubs. .ci/checks/release-app has the bound of a release build.

    @Test func tenThousandRequestsThroughNineModifiersAreFast() async throws {
        let transport = MockTransport()
        transport.on(.get, "/users/:id", .json(text: #"{"id":42}"#))
        let network = transport.timeout(.seconds(10)).throttled(max: 6).retry().deduplicated().checkedStatusCode()
            .deadline(.seconds(30)).redirected().numbered().server(authority: "api.example.com")

        let duration = try await ContinuousClock()
            .measure {
                for id in 0..<10_000 { try await network.data(HTTPRequestData(path: "/users/\(id)")) }
            }

        #expect(transport.requests.count == 10_000)
        #expect(duration < .seconds(60))
    }

    @Test func hundredStubsAreMatchedQuickly() async throws {
        let transport = MockTransport()
        for index in 0..<100 {
            transport.on(.request(.get, "/stub\(index)/:id") && .query("page"), uses: .any, .ok())
        }
        transport.on(.get, "/last", .ok())
        let request = HTTPRequestData(authority: "api.example.com", path: "/last?page=2")

        let duration = try await ContinuousClock()
            .measure {
                for _ in 0..<1_000 { try await transport.data(request) }
            }

        #expect(transport.requests.count == 1_000)
        #expect(duration < .seconds(60))
    }
}
