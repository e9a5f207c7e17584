import Foundation
import Logging
import Networking
import NetworkingTesting
import Testing

/// Every modifier of the library keeps the laws, alone and around every other.
@Suite(.timeLimit(.minutes(5)))
struct LawsTests {
    @Test(arguments: LawfulModifier.all)
    func modifierKeepsTheLaws(modifier: LawfulModifier) async throws {
        try await checkLaws(except: modifier.exceptions, around: modifier.wrap)
    }

    /// Any order compiles; this is that any order is safe.
    @Test(arguments: LawfulModifier.all)
    func everyPairKeepsTheLaws(outer: LawfulModifier) async {
        for inner in LawfulModifier.all {
            let exceptions = inner.exceptions.merging(outer.exceptions) { first, _ in first }
            await #expect(throws: Never.self, "around \(inner.testDescription)") {
                try await checkLaws(except: exceptions) { outer.wrap(inner.wrap($0)) }
            }
        }
    }

    @Test func wholeStackKeepsTheLaws() async throws {
        let exceptions = LawfulModifier.all.reduce(into: [:]) { exceptions, modifier in
            exceptions.merge(modifier.exceptions) { first, _ in first }
        }
        try await checkLaws(except: exceptions) { upstream in
            LawfulModifier.all.reduce(upstream) { $1.wrap($0) }
        }
        try await checkLaws(except: exceptions) { upstream in
            LawfulModifier.all.reversed().reduce(upstream) { $1.wrap($0) }
        }
    }
}

/// A modifier of the library as an app would write it.
struct LawfulModifier: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The laws that it breaks on purpose, and why.
    let exceptions: [Law: String]
    let wrap: @Sendable (AnyNetworkingComponent) -> AnyNetworkingComponent

    init(
        _ testDescription: String,
        except exceptions: [Law: String] = [:],
        _ wrap: @escaping @Sendable (AnyNetworkingComponent) -> any NetworkingComponent
    ) {
        self.testDescription = testDescription
        self.exceptions = exceptions
        self.wrap = { AnyNetworkingComponent(wrap($0)) }
    }

    static let all: [LawfulModifier] =
        [
            LawfulModifier("timeout") { $0.timeout(.seconds(10)) },
            LawfulModifier("timeout, by phases") { $0.timeout(.seconds(9), head: .seconds(8), idle: .seconds(7)) },
            LawfulModifier("deduplicated") { $0.deduplicated() },
            LawfulModifier("deadline") { $0.deadline(.seconds(30)) },
        ] + onTheCallersActor

    /// Those that need no task of their own.
    static let onTheCallersActor: [LawfulModifier] = [
        LawfulModifier("delayed") { $0.delayed(by: .seconds(3)) },
        LawfulModifier("numbered") { $0.numbered() },
        LawfulModifier("retry") { $0.retry() },
        LawfulModifier("intercepted") { $0.intercepted(by: Untouched()) },
        LawfulModifier("throttled") { $0.throttled(max: 6) },
        LawfulModifier("throttled, per host") { $0.throttled(maxPerHost: 6, queue: 9, maximumWait: .seconds(9)) },
        LawfulModifier("rateLimited") { $0.rateLimited(to: 100, per: .seconds(1)) },
        LawfulModifier("redirected") { $0.redirected() },
        LawfulModifier("checkedStatusCode") { $0.checkedStatusCode() },
        LawfulModifier("environment") { $0.environment(\.random, .seeded(1)) },
        LawfulModifier("logged") { $0.logged(using: LogRecorder().logger(.trace), detail: .body()) },
        LawfulModifier("traced") { $0.traced() },
        LawfulModifier("logged, silent") { $0.logged(using: .silent, detail: .off) },
        LawfulModifier("recorded", except: [.retention: "it is there to keep requests"]) {
            $0.recorded(by: RequestRecorder())
        },
        LawfulModifier("faultInjected") {
            $0.faultInjected(by: FaultInjector(seed: 1, [.latency(.seconds(1)), .sliced(into: 5, every: .seconds(1))]))
        },
        LawfulModifier("server(baseURL:)") { $0.server(baseURL: URL(string: "https://api.example.com/v1")!) },
        LawfulModifier("server(scheme:)") { $0.server(scheme: "https") },
        LawfulModifier("server(authority:)") { $0.server(authority: "api.example.com", overriding: true) },
        LawfulModifier("server(path:)") { $0.server(path: "index") },
        LawfulModifier("server(prefixPath:)") { $0.server(prefixPath: "v1") },
        LawfulModifier("server(headerField:)") { $0.server(headerField: .authorization, "Bearer secret") },
        LawfulModifier("server(customHeaderField:)") { $0.server(customHeaderField: "X-Custom", "value") },
        LawfulModifier("server(userAgent:)") { $0.server(userAgent: "Shop/2.1") },
        LawfulModifier("server(queryEncoding:)") { $0.server(queryEncoding: .form) },
        LawfulModifier("server(authenticationMethod:)") { $0.server(authenticationMethod: .bearer) },
        LawfulModifier("server(mutate:)") { $0.server(mutate: \.maximumResponseBytes) { $0 / 2 } },
        LawfulModifier("server(mutateRequest:)") { $0.server { $0.query.language = "en" } },
        LawfulModifier("instrument") { $0.instrument() },
        LawfulModifier("observed", except: [.retention: "the listener of the test keeps requests"]) {
            $0.observed(by: EventRecorder())
        },
        LawfulModifier("cached") { $0.cached() },
        LawfulModifier("authenticated") {
            let authorities = ["laws.example", "api.example.com"]
            return $0.authenticated(with: Networking.Session(userID: "emily", accessToken: "token"), at: authorities)
        },
        LawfulModifier("authenticated, when asked") {
            $0.authenticated(with: BearerCredentials(token: "token"), at: ["laws.example"], preemptive: false)
        },
        LawfulModifier("nil") { $0.modified(Resent?.none) },
        LawfulModifier("AnyNetworkingComponent") { AnyNetworkingComponent($0) },
    ]
}

private struct Untouched: RequestInterceptor {}
