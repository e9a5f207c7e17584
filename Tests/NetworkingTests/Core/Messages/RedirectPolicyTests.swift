import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(20)))
struct RedirectPolicyTests {
    private let request = HTTPRequestData(scheme: "https", authority: "example.com", path: "a/b")

    // MARK: Downgrades

    @Test func redirectToPlainHTTPIsNotFollowed() async throws {
        let events = EventRecorder()
        let transport = MockTransport([.redirect(to: "http://example.com/b")])
        let response = try await transport.data(request.with { $0.addObserver(events) })
        #expect(response.status == .found)
        #expect(transport.requests.count == 1)
        #expect(events.events.map(\.description).contains("redirectRefused(downgrade)"))
    }

    @Test func allowedDowngradeIsFollowedWithoutCredentials() async throws {
        let transport = MockTransport([.redirect(to: "http://example.com/b"), .ok()])
        let request = request.with {
            $0.redirects = .follow.allowingDowngrade()
            $0.headerFields[.authorization] = "Bearer token-1"
        }
        let response = try await transport.data(request)
        #expect(response.status == .ok)
        #expect(transport.requests.last?.description == "GET http://example.com/b")
        #expect(transport.requests.last?.headerFields[.authorization] == nil)
    }

    // MARK: Credentials

    @Test(arguments: ["DPoP", "X-CSRF-Token", "X-XSRF-Token"])
    func proofsAreNotSentToAnotherServer(name: String) async throws {
        let name = try #require(HTTPField.Name(name))
        let transport = MockTransport([.redirect(to: "https://other.example/"), .ok()])
        try await transport.data(request.with { $0.headerFields[name] = "proof" })
        #expect(transport.requests.map { $0.headerFields[name] } == ["proof", nil])
    }

    @Test func policyCanNameFurtherCredentials() async throws {
        let tenant = try #require(HTTPField.Name("X-Tenant"))
        let transport = MockTransport([
            .redirect(to: "/c"), .redirect(to: "https://other.example/"), .redirect(to: "https://example.com/d"), .ok(),
        ])
        let request = request.with {
            $0.redirects = .follow.strippingCredentials(tenant)
            $0.headerFields[tenant] = "7"
        }
        try await transport.data(request)
        #expect(transport.requests.map { $0.headerFields[tenant] } == ["7", "7", nil, nil])
    }

    @Test func credentialOptionsAreNotSentToAnotherServer() async throws {
        let ticket = RequestOption<String?>("ticket", default: nil, affects: .nothing, isCredential: true)
        let color = RequestOption("color", default: "none", affects: .nothing)
        let transport = MockTransport([.redirect(to: "https://other.example/"), .ok()])
        let request = request.with {
            $0[ticket] = "ticket-1"
            $0[color] = "red"
        }
        try await transport.data(request)
        #expect(transport.requests.map { $0[ticket] } == ["ticket-1", nil])
        #expect(transport.requests.map { $0[color] } == ["red", "red"])
    }

    // MARK: Decisions of the app

    @Test func closureGetsTheNextRequest() async throws {
        let seen = Mutex<[String]>([])
        let transport = MockTransport([.redirect(to: "/c"), .redirect(to: "/d", status: .seeOther), .ok()])
        let request = request.with {
            $0.redirects = .follow.deciding { redirect in
                seen.withLock {
                    $0.append(
                        "\(redirect.history.count): \(redirect.request) -\(redirect.response.status.code)-> \(redirect.next)"
                    )
                }
                return .follow
            }
        }
        try await transport.data(request)
        #expect(
            seen.withLock { $0 } == [
                "0: GET https://example.com/a/b -302-> GET https://example.com/c",
                "1: GET https://example.com/c -303-> GET https://example.com/d",
            ]
        )
    }

    @Test func closureCanStopTheRedirect() async throws {
        let events = EventRecorder()
        let transport = MockTransport([.redirect(to: "/c"), .redirect(to: "https://other.example/")])
        let request = request.with {
            $0.redirects = .follow.deciding { $0.next.authority == "example.com" ? .follow : .stop }
            $0.addObserver(events)
        }
        let response = try await transport.data(request)
        #expect(response.headerFields[.location] == "https://other.example/")
        #expect(response.redirects.count == 1)
        #expect(events.events.map(\.description).contains("redirectRefused(policy)"))
    }

    @Test func errorOfAClosureFailsTheCall() async {
        struct Captive: Error {}
        let transport = MockTransport([.redirect(to: "https://portal.example/")])
        let request = request.with { $0.redirects = .follow.deciding { _ in throw Captive() } }
        await #expect(throws: Captive.self) { try await transport.data(request) }
    }

    @Test func closureIsNotCalledForRefusedRedirects() async throws {
        let transport = MockTransport([.redirect(to: "ftp://example.com/")])
        let request = request.with {
            $0.redirects = .follow.deciding { _ in
                Issue.record("asked")
                return .follow
            }
        }
        #expect(try await transport.data(request).status == .found)
    }

    @Test(arguments: [
        (RedirectPolicy.follow, "up to 20"),
        (.never, "never"),
        (.follow(upTo: 3).allowingDowngrade(), "up to 3, to http too"),
        (.follow.deciding { _ in .stop }, "up to 20, if the app agrees"),
    ])
    func descriptionListsItsSettings(policy: RedirectPolicy, description: String) {
        #expect("\(policy)" == description)
    }
}
