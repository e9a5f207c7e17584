#if URLSession && canImport(FoundationNetworking)
import Testing

@testable import NetworkingURLSession

@Suite
struct EnvironmentProxyTests {
    @Test(
        arguments: [
            ([:], "localhost", false),
            (["http_proxy": ""], "localhost", false),
            (["HTTP_PROXY": "p"], "localhost", false),
            (["http_proxy": "p"], "localhost", true),
            (["all_proxy": "p"], "localhost", true),
            (["ALL_PROXY": "p"], "::1", true),
            (["http_proxy": "p", "no_proxy": "*"], "localhost", false),
            (["http_proxy": "p", "no_proxy": "a, LOCALHOST"], "localhost", false),
            (["http_proxy": "p", "NO_PROXY": ".localhost"], "localhost", false),
            (["http_proxy": "p", "no_proxy": "host"], "localhost", true),
            (["http_proxy": "p", "no_proxy": "127.0.0.1"], "127.0.0.1", false),
            (["http_proxy": "p", "no_proxy": "127.0.0.1"], "127.0.0.2", true),
            (["http_proxy": "p", "no_proxy": "127.0.0.0/8"], "127.0.0.2", false),
            (["http_proxy": "p", "no_proxy": "127.0.0.0/x"], "127.0.0.2", true),
            (["http_proxy": "p", "no_proxy": "[::1]"], "::1", false),
            (["http_proxy": "p", "no_proxy": "::1"], "0:0:0:0:0:0:0:1", false),
        ] as [([String: String], String, Bool)]
    )
    func followsTheVariablesOfLibcurl(variables: [String: String], host: String, isUsed: Bool) {
        #expect(EnvironmentProxy { variables[$0] }.receivesRequests(to: host[...]) == isUsed)
    }
}
#endif
