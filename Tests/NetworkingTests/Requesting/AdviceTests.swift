import Networking
import Testing

@Suite
struct AdviceTests {
    private let transport = MockTransport()

    @Test func theOrderOfTheGuideNeedsNone() {
        let network = transport.timeout(.seconds(10)).throttled(max: 6).rateLimited(to: 9, per: .seconds(1))
            .redirected()
            .retry().deduplicated().checkedStatusCode().deadline(.seconds(30)).logged().numbered()
            .server(authority: "api.example.com")
        #expect(network.advice.isEmpty)
        #expect(transport.advice.isEmpty)
    }

    @Test(arguments: [
        ("2 retry modifiers", MockTransport().retry().retry() as any NetworkingComponent),
        ("covers all attempts", MockTransport().retry().timeout(.seconds(10))),
        ("never gets that far", MockTransport().timeout(.seconds(10)).deadline(.seconds(5))),
        ("holds its slot", MockTransport().retry().throttled(max: 6)),
        ("is counted", MockTransport().retry().rateLimited(to: 1, per: .seconds(1))),
        ("each try again", MockTransport().deduplicated().retry()),
        ("covers one attempt", MockTransport().deadline(.seconds(5)).retry()),
        ("holds its slot", AnyNetworkingComponent(MockTransport().retry()).throttled(max: 6)),
    ])
    func whatIsProbablyNotMeantIsTold(words: String, network: any NetworkingComponent) {
        #expect(network.advice.count == 1)
        #expect(network.advice.first?.contains(words) == true)
    }
}
