#if AsyncHTTPClient && SecureTestServer
import AsyncHTTPClient
import Foundation
import HTTPTypes
import Networking
import NetworkingAsyncHTTPClient
import NetworkingTestServer
import NetworkingTesting
import TestSupport
import Testing

extension Loopback {
    /// Two servers that try to obtain the cookies and the credentials of another host, over TLS with pins.
    ///
    /// The names are resolved to 127.0.0.1, because neither that address nor `localhost` has a domain for cookies.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
    struct HostileRedirectTests {
        static let versions = TestServer.TLS.ApplicationProtocol.allCases
        static let shop = "www.shop.example"
        static let other = "elsewhere.example"
        static let third = "www.bank.example"

        /// Two servers, a stack for the first of them, and the values that the stack has stored and reported.
        struct Scene {
            let shop: TestServer
            let other: TestServer
            let network: AnyNetworkingComponent
            let jar: CookieJar
            let owner: Principal?
            let events: EventRecorder

            /// The cookies of the jar as `name@domain`, those of the user and those without one.
            var stored: [String] {
                let owners: Set<Principal?> = [owner, nil]
                return owners.flatMap { jar.cookies(of: $0) }.map { "\($0.name)@\($0.domain)" }.sorted()
            }

            var rejected: [CookieRejection] {
                events.events.compactMap { event in
                    if case CookieEvent.rejected(let reason) = event { reason } else { nil }
                }
            }
        }

        /// Each server has a certificate that is valid for its own name.
        private func run(
            _ version: TestServer.TLS.ApplicationProtocol,
            resolving names: [String] = [],
            _ body: nonisolated(nonsending) (Scene) async throws -> Void
        ) async throws {
            try await withTestServer(tls: try TestCertificates.tls("named", version)) { shop in
                try await withTestServer(tls: try TestCertificates.tls("elsewhere", version)) { other in
                    var configuration = HTTPClient.Configuration.networking
                    for name in [Self.shop, Self.other, Self.third] + names {
                        configuration.dnsOverride[name] = "127.0.0.1"
                    }
                    let certificate = try TestCertificates.certificate("named")
                    let trust = ServerTrust(
                        roots: .only([try TestCertificates.certificate("authority")]),
                        pins: [HostPins("*.shop.example", certificates: [certificate])]
                    )
                    let transport = try AsyncHTTPClientTransport(configuration: configuration, trust: trust)
                    let jar = CookieJar()
                    let events = EventRecorder()
                    let signedIn = transport.authenticated(with: BearerCredentials(token: "token-1"))
                    let shopsOwn = signedIn.server(authority: "\(Self.shop):\(shop.port)")
                    let owner = shopsOwn.principal(for: HTTPRequestData())
                    for host in [Self.shop, Self.third] {
                        for owner in Set([owner, nil]) {
                            let cookie = Cookie(
                                name: "session",
                                value: "of-\(host)",
                                domain: host,
                                isSecure: true,
                                created: Date()
                            )
                            try jar.set(cookie, for: owner)
                        }
                    }
                    let network = signedIn.cookies(in: jar).observed(by: events)
                        .server(authority: "\(Self.shop):\(shop.port)")
                    let scene = Scene(
                        shop: shop,
                        other: other,
                        network: AnyNetworkingComponent(network),
                        jar: jar,
                        owner: owner,
                        events: events
                    )
                    try await transport.untilShutDown { try await body(scene) }
                }
            }
        }

        /// A redirect to another host and back, where both hosts set cookies for domains that are not theirs.
        @Test(arguments: versions)
        func nothingReachesTheWrongHost(version: TestServer.TLS.ApplicationProtocol) async throws {
            try await run(version) { scene in
                let there = "https://\(Self.other):\(scene.other.port)/landing"
                let back = "https://\(Self.shop):\(scene.shop.port)/end"
                scene.shop.route("/start") { _ in
                    .redirect(
                        to: there,
                        setting: "own=1; Secure; Path=/",
                        "stolen=1; Domain=\(Self.other); Secure; Path=/",
                        "stolen=2; Domain=\(Self.third); Secure; Path=/",
                        "stolen=3; Domain=example; Secure; Path=/"
                    )
                }
                scene.other.route("/landing") { _ in
                    .redirect(
                        to: back,
                        setting: "guest=1; Secure; Path=/",
                        "session=replaced; Domain=\(Self.shop); Secure; Path=/",
                        "session=replaced; Domain=shop.example; Secure; Path=/",
                        "session=replaced; Domain=\(Self.third); Secure; Path=/"
                    )
                }
                scene.shop.route("/end") { _ in .text("end") }

                #expect(try await scene.network.data(.get("start")).text == "end")

                let sent = scene.shop.requests
                #expect(sent.map(\.path) == ["/start", "/end"])
                #expect(sent.first?.headerFields[.authorization] == "Bearer token-1")
                #expect(sent.first?.headerFields[.cookie] == "session=of-\(Self.shop)")
                #expect(sent.last?.headerFields[.cookie]?.contains("session=of-\(Self.shop)") == true)
                for request in sent {
                    let cookies = request.headerFields[.cookie] ?? ""
                    #expect(
                        !["replaced", "guest", "stolen", Self.third].contains { cookies.contains($0) },
                        "\(cookies)"
                    )
                }

                #expect(scene.other.requests.map(\.path) == ["/landing"])
                let landing = try #require(scene.other.requests.first).headerFields
                #expect(landing[.authorization] == nil)
                #expect(landing[.cookie] == nil)
                #expect(!landing.contains { $0.value.contains("token-1") || $0.value.contains("of-") })

                let prepared = [Self.shop, Self.third].map { "session@\($0)" }
                #expect(scene.stored == (prepared + prepared + ["own@\(Self.shop)", "guest@\(Self.other)"]).sorted())
                let values = [scene.owner, nil].flatMap { scene.jar.cookies(of: $0) }.filter { $0.name == "session" }
                #expect(values.allSatisfy { $0.value == "of-\($0.domain)" })
                #expect(scene.rejected.filter { $0 == .otherDomain }.count == 5)
                #expect(scene.rejected.filter { $0 != .otherDomain } == [.publicSuffix])
                #expect(scene.events.events.allSatisfy { !($0 is TrustEvent) })
            }
        }

        /// The other server poses as a server of the shop, with its own certificate; the shop's cookies and pins apply.
        @Test(arguments: versions)
        func serverWithTheCertificateOfAnotherHostReceivesNothing(
            version: TestServer.TLS.ApplicationProtocol
        ) async throws {
            // A name without cookies: a redirect to the shop's own name, on another port and so without credentials, would
            // act for another user and is not followed.
            let name = "api.shop.example"
            try await run(version, resolving: [name]) { scene in
                scene.shop.route("/start") { _ in
                    .redirect(to: "https://\(name):\(scene.other.port)/landing", setting: "own=1; Path=/")
                }
                let error = await #expect(throws: NetworkingError.self) {
                    try await scene.network.data(.get("start"))
                }
                #expect(error?.kind == .tls, "\(String(reflecting: error))")
                #expect(scene.shop.requests.map(\.path) == ["/start"])
                #expect(scene.other.requests.isEmpty)
            }
        }

        /// A pinned host redirects to its own name without TLS, where any machine on the network could respond.
        @Test(arguments: versions)
        func redirectOfAPinnedHostToPlainHTTPIsRefused(version: TestServer.TLS.ApplicationProtocol) async throws {
            try await run(version) { scene in
                scene.shop.route("/start") { _ in
                    .redirect(to: "http://\(Self.shop):\(scene.other.port)/landing", setting: "own=1; Path=/")
                }
                let response = try await scene.network.data(.get("start"))
                #expect(response.status == .found)
                #expect(scene.events.events.contains { $0.description == "redirectRefused(downgrade)" })
                #expect(scene.other.acceptedConnections == 0)
            }
        }

        /// Each redirect goes to another name below a pattern with pins, and each name needs a separate client.
        @Test func namesBelowAPatternLeaveAtMost64Clients() async throws {
            let names = (0..<80).map { "a\($0).shop.example" }
            try await run(.http1, resolving: names) { scene in
                scene.shop.route("/end") { _ in .text("end") }
                for name in names {
                    let request = HTTPRequestData(
                        scheme: "https",
                        authority: "\(name):\(scene.shop.port)",
                        path: "/end"
                    )
                    try await scene.network.data(request)
                }
                #expect(scene.shop.requests.count == 80)
                // The connections of removed clients are closed, those of the last 64 hosts are kept.
                try await eventually("64 connections are open") { scene.shop.openConnections == 64 }
            }
        }
    }
}

extension TestResponse {
    /// Returns a redirect that sets cookies.
    fileprivate static func redirect(to location: String, setting cookies: String...) -> TestResponse {
        var response = TestResponse.redirect(to: location)
        for cookie in cookies {
            response.headerFields.append(HTTPField(name: .setCookie, value: cookie))
        }
        return response
    }
}
#endif
