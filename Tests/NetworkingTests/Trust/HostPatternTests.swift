import Networking
import Testing

@testable import NetworkingTrust

@Suite struct HostPatternTests {
    @Test(arguments: [
        ("api.example.com", "API.example.com.", true), ("api.example.com", "example.com", false),
        ("API.Example.com", "api.example.com", true), ("api.example.com", "api.example.com.evil.test", false),
        ("*.example.com", "api.example.com", true), ("*.example.com", "example.com", false),
        ("*.example.com", "a.b.example.com", false), ("*.example.com", "badexample.com", false),
        ("*.example.com", ".example.com", false), ("**.example.com", "example.com", true),
        ("**.example.com", "a.b.example.com", true), ("**.example.com", "badexample.com", false),
        ("127.0.0.1", "127.0.0.1", true), ("::1", "::1", true),
        ("::1", "0:0:0:0:0:0:0:1", true), ("2001:DB8:0::1", "2001:db8::1", true), ("::1", "::2", false),
        ("fe80::1", "fe80::1%eth0", false), ("::ffff:127.0.0.1", "::ffff:7f00:1", true),
    ])
    func matchesHosts(pattern: String, host: String, isMatch: Bool) throws {
        #expect(try #require(HostPattern(pattern)).matches(host) == isMatch)
    }

    @Test(arguments: [
        "", "*", "*.", "**", "**.", "*.*.example.com", "a*.example.com", "example.com:443", "https://example.com",
        "example..com", ".example.com", "exa mple.com", "bücher.example", "[::1]", "*.::1",
        "1:2:3", "::1::2", "::g",
        String(repeating: "a", count: 256),
    ])
    func refusesTextThatIsNoHost(text: String) {
        #expect(HostPattern(text) == nil)
    }

    @Test(
        arguments: [
            (["**.example.com", "**.a.example.com"], "x.a.example.com", 1),
            (["**.a.example.com", "**.example.com"], "x.a.example.com", 0),
            (["**.a.example.com", "*.a.example.com"], "x.a.example.com", 1),
            (["*.a.example.com", "x.a.example.com"], "x.a.example.com", 1),
            (["**.a.example.com", "**.example.com"], "b.example.com", 1),
            (["**.a.example.com"], "b.example.com", nil),
        ] as [([HostPattern], String, Int?)]
    )
    func mostSpecificPatternIsTheBestMatch(patterns: [HostPattern], host: String, best: Int?) {
        #expect(HostPattern.bestMatch(for: host, in: patterns) { [$0] } == best)
    }

    @Test func describesItself() {
        let patterns: [HostPattern] = ["Example.com.", "*.example.com", "**.example.com"]
        #expect(patterns.map { "\($0)" } == ["example.com", "*.example.com", "**.example.com"])
    }
}
