import Foundation
import Networking
import NetworkingTesting
import Testing
import ThirdParty

/// Each modifier of the package with each kind of modifier of the library, on either side.
@Suite(.timeLimit(.minutes(20)))
struct PairsTests {
    struct Modifier: Sendable, CustomTestStringConvertible {
        let name: String
        let wrap: @Sendable (AnyNetworkingComponent) -> AnyNetworkingComponent

        var testDescription: String { name }

        init(_ name: String, _ wrap: @escaping @Sendable (AnyNetworkingComponent) -> any NetworkingComponent) {
            self.name = name
            self.wrap = { AnyNetworkingComponent(wrap($0)) }
        }
    }

    static let own = [
        Modifier("checksumVerified()") { $0.checksumVerified() },
        Modifier("courteous(pausing:)") { $0.courteous(pausing: .zero) },
        Modifier("hopLimited(to:)") { $0.hopLimited(to: .seconds(60)) },
        Modifier("vendorTraced()") { $0.vendorTraced() },
    ]

    private static let authorities = ["laws.example", "api.example.com"]

    static let ofTheLibrary = [
        Modifier("authenticated(with:)") {
            $0.authenticated(with: BearerCredentials(token: "token"), at: authorities)
        },
        Modifier("cached()") { $0.cached() },
        Modifier("checkedStatusCode()") { $0.checkedStatusCode() },
        Modifier("cookies(in:)") { $0.cookies(in: CookieJar()) },
        Modifier("deadline(_:)") { $0.deadline(.seconds(30)) },
        Modifier("decoder(_:)") { $0.decoder(.json(keys: .convertFromSnakeCase)) },
        Modifier("deduplicated()") { $0.deduplicated() },
        Modifier("delayed(by:)") { $0.delayed(by: .seconds(3)) },
        Modifier("environment(_:_:)") { $0.environment(\.random, .seeded(1)) },
        Modifier("instrument()") { $0.instrument() },
        Modifier("logged()") { $0.logged() },
        Modifier("numbered()") { $0.numbered() },
        Modifier("observed(_:)") { $0.observed { _, _ in } },
        Modifier("adaptiveLimit()") { $0.adaptiveLimit() },
        Modifier("adaptiveThrottle()") { $0.adaptiveThrottle() },
        Modifier("circuitBreaker()") { $0.circuitBreaker() },
        Modifier("rateLimited(to:per:)") { $0.rateLimited(to: 100, per: .seconds(1)) },
        Modifier("rateLimited(by:), the server") { $0.rateLimited(by: ServerRateLimiter()) },
        Modifier("rateLimited(by:), adaptive") { $0.rateLimited(by: AdaptiveRateLimiter()) },
        Modifier("redirected()") { $0.redirected() },
        Modifier("retry()") { $0.retry() },
        Modifier("server(headerField:)") { $0.server(headerField: .accept, "application/json") },
        Modifier("throttled(max:)") { $0.throttled(max: 4) },
        Modifier("timeout(_:)") { $0.timeout(.seconds(10)) },
        Modifier("traced()") { $0.traced() },
        Modifier("whenOffline(_:)") {
            $0.whenOffline(.fail).environment(\.connectivity, ManualConnectivity())
        },
    ]

    @Test(arguments: own, ofTheLibrary)
    func pairKeepsTheLaws(own: Modifier, other: Modifier) async throws {
        try await checkLaws { own.wrap(other.wrap(AnyNetworkingComponent($0))) }
        try await checkLaws { other.wrap(own.wrap(AnyNetworkingComponent($0))) }
    }
}
