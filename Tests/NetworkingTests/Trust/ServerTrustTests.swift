import Foundation
import Networking
import NetworkingTesting
import Testing

@testable import NetworkingCore
@testable import NetworkingTrust

@Suite struct ServerTrustTests {
    static let current: CertificatePin = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    static let backup: CertificatePin = "sha256/BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA="

    // MARK: Pins

    @Test(arguments: [
        "", "sha256/", "sha256/AAAA", "sha1/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "sha256/" + String(repeating: "A", count: 1_000), "sha256/!AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    ])
    func refusesTextThatIsNoPin(text: String) {
        #expect(CertificatePin(text) == nil)
    }

    @Test func pinsDescribeThemselvesAsTheyAreWritten() {
        let certificate: CertificatePin = "certificate-sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
        #expect("\(Self.current)" == "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
        #expect("\(certificate)" == "certificate-sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
        #expect(certificate.subject == .certificate && Self.current.subject == .publicKey)
        #expect(certificate != Self.current)
    }

    @Test func mostSpecificEntryAppliesAlone() {
        let trust = ServerTrust(pins: [
            HostPins("**.example.com", pins: [Self.current]),
            HostPins("*.example.com", pins: [Self.current], except: ["legacy.example.com"]),
            HostPins("api.example.com", pins: [Self.backup]),
        ])
        #expect(trust.pins(for: "api.example.com")?.host == "api.example.com")
        #expect(trust.pins(for: "www.example.com")?.host == "*.example.com")
        #expect(trust.pins(for: "a.b.example.com")?.host == "**.example.com")
        #expect(trust.pins(for: "legacy.example.com") == nil)
        #expect(trust.pins(for: "example.org") == nil)
        #expect(trust.pins(for: "www.example.com")?.exceptions == ["legacy.example.com"])
    }

    @Test func identityOfTheMostSpecificHostIsUsed() {
        let trust = ServerTrust(clientIdentities: [
            ClientIdentity(pkcs12: Data(), password: "secret", for: "*.example.com"),
            ClientIdentity(pemChain: "", key: "secret", password: "secret", for: "other.test", "api.example.com"),
        ])
        #expect(trust.identityIndex(for: "api.example.com") == 1)
        #expect(trust.identityIndex(for: "www.example.com") == 0)
        #expect(trust.identityIndex(for: "example.org") == nil)
    }

    @Test func identityShowsNoSecret() {
        let identity = ClientIdentity(pemChain: "chain-1", key: "key-1", password: "word-1", for: "api.example.com")
        let file = ClientIdentity(pkcs12: Data("chain-1".utf8), password: "word-1", for: "api.example.com")
        var dump = ""
        Swift.dump(ServerTrust(clientIdentities: [identity, file]), to: &dump)
        for text in ["\(identity)", String(reflecting: identity), dump] {
            #expect(text.contains("api.example.com"))
            #expect(!text.contains("chain-1") && !text.contains("key-1") && !text.contains("word-1"))
        }
        for (source, name) in [(identity.source, "pem"), (file.source, "pkcs12")] {
            var dump = ""
            Swift.dump(source, to: &dump)
            #expect("\(source)" == name && String(reflecting: source) == name)
            #expect(!dump.contains("chain-1") && !dump.contains("key-1") && !dump.contains("word-1"))
        }
        #expect(identity.hosts == ["api.example.com"])
    }

    @Test func pinsExpireAtTheirDate() {
        let date = Date(timeIntervalSince1970: 1_000)
        let pins = HostPins("api.example.com", pins: [Self.current], expires: date)
        #expect(pins.expiration == date)
        #expect(pins.mode == .enforced && pins.scope == .leaf)
        #expect(pins.areExpired(at: date))
        #expect(!pins.areExpired(at: date.addingTimeInterval(-1)))
        #expect(!HostPins("api.example.com", pins: [Self.current]).areExpired(at: .distantFuture))
    }

    @Test func leafIsComparedUnlessTheScopeIsTheChain() throws {
        let leaf = try TrustSamples.certificate("trusted")
        let root = try TrustSamples.certificate("authority")
        let other = try TrustSamples.certificate("rotated")
        func mismatch(_ pins: [CertificatePin], _ scope: HostPins.Scope) -> PinMismatch? {
            HostPins("localhost", pins: pins, scope: scope).mismatch(with: [leaf, root], of: "localhost")
        }
        #expect(mismatch([leaf.publicKeyPin], .leaf) == nil)
        #expect(mismatch([leaf.certificatePin], .leaf) == nil)
        #expect(mismatch([other.publicKeyPin, leaf.publicKeyPin], .leaf) == nil)
        #expect(mismatch([root.publicKeyPin], .validatedChain) == nil)
        #expect(mismatch([root.publicKeyPin], .leaf)?.presented == [leaf.publicKeyPin])
        #expect(mismatch([root.publicKeyPin], .leaf)?.expected == [root.publicKeyPin])
        #expect(mismatch([other.certificatePin], .leaf)?.presented == [leaf.publicKeyPin, leaf.certificatePin])
        #expect(HostPins("localhost", certificates: [leaf]).pins == [leaf.publicKeyPin])
        #expect(HostPins("localhost", certificates: [leaf]).mismatch(with: [], of: "localhost") != nil)
    }

    // MARK: Requests

    @Test func hostTrustHasThePinsAndTheIdentityOfTheHost() throws {
        let pins = HostPins("api.example.com", pins: [Self.current])
        let trust = ServerTrust(
            pins: [pins],
            clientIdentities: [ClientIdentity(pkcs12: Data(), password: "", for: "other.test", "*.example.com")]
        )
        func host(_ url: String) throws -> HostTrust? {
            try trust.hostTrust(for: HTTPRequestData(url: try #require(URL(string: url))))
        }
        let api = try host("https://API.example.com.:8443/users")
        #expect(api?.host == "api.example.com" && api?.pins == pins && api?.identityIndex == 0)
        let www = try host("https://www.example.com")
        #expect(www?.host == "www.example.com" && www?.pins == nil && www?.identityIndex == 0)
        #expect(try host("http://www.example.com") == nil)
        #expect(try host("https://example.org") == nil)
        #expect(api?.mismatch(with: [])?.host == "api.example.com")
        #expect(www?.mismatch(with: []) == nil)
    }

    /// A connection that was made with other pins must not serve the request.
    @Test func hostTrustsAreEqualOnlyWithEqualPins() {
        let pins = HostPins("api.example.com", pins: [Self.current])
        let other = HostPins("api.example.com", pins: [Self.backup])
        let hosts = [
            HostTrust(host: "api.example.com", pins: pins, identityIndex: nil),
            HostTrust(host: "api.example.com", pins: other, identityIndex: nil),
            HostTrust(host: "api.example.com", pins: nil, identityIndex: 0),
            HostTrust(host: "api.example.com", pins: pins, identityIndex: 0),
            HostTrust(host: "www.example.com", pins: pins, identityIndex: nil),
        ]
        #expect(Set(hosts + hosts).count == hosts.count)
    }

    @Test(arguments: ["[::1]", "[0:0:0:0:0:0:0:1]", "[0000::0001]:8443", "[::0.0.0.1]"])
    func everySpellingOfAnIPv6AddressHasItsPins(authority: String) throws {
        for pattern in ["::1", "0:0::1"] {
            let pins = HostPins(try #require(HostPattern(pattern)), pins: [Self.current])
            let request = HTTPRequestData(scheme: "https", authority: authority, path: "/users")
            #expect(try ServerTrust(pins: [pins]).hostTrust(for: request)?.host == "::1")
        }
    }

    @Test func pinsExpireByTheClockOfTheStack() async throws {
        let clock = ManualClock(start: Date(timeIntervalSince1970: 1_000))
        let trust = ServerTrust(pins: [
            HostPins("api.example.com", pins: [Self.current], expires: Date(timeIntervalSince1970: 1_010))
        ])
        let events = EventRecorder()
        let network = PinnedStub(trust: trust).environment(\.clock, .manual(clock)).observed(by: events)
        let request = HTTPRequestData(url: try #require(URL(string: "https://API.example.com./users")))
        #expect(try await network.data(request).status == .noContent)
        #expect(events.events.compactMap { $0 as? TrustEvent }.isEmpty)
        clock.advance(by: .seconds(10))
        #expect(try await network.data(request).status == .ok)
        #expect(events.events.compactMap { $0 as? TrustEvent }.map { "\($0)" } == ["pinsExpired(api.example.com)"])
    }

    /// Foundation connects to the ASCII form of such a name, which may have pins.
    @Test func hostThatIsNotASCIIIsRefusedWithPins() async throws {
        let request = HTTPRequestData(scheme: "https", authority: "b\u{fc}cher.example", path: "/users")
        let pins = [HostPins("xn--bcher-kva.example", pins: [Self.current])]
        let error = await #expect(throws: NetworkingError.self) {
            try await PinnedStub(trust: ServerTrust(pins: pins)).data(request)
        }
        #expect(error?.kind == .invalidRequest)
        #expect(try await PinnedStub(trust: ServerTrust()).data(request).status == .ok)
    }

    @Test func requestWithoutTLSToAPinnedHostIsRefused() async throws {
        let trust = ServerTrust(pins: [
            HostPins("api.example.com", pins: [Self.current]),
            HostPins("reported.example.com", pins: [Self.current], mode: .reportOnly),
        ])
        let network = PinnedStub(trust: trust)
        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(HTTPRequestData(scheme: "http", authority: "API.example.com", path: "/users"))
        }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("api.example.com has pins") == true)
        // Software that decodes the name would connect to the server with the pins.
        let escaped = HTTPRequestData(scheme: "http", authority: "%61pi.example.com", path: "/users")
        await #expect(throws: NetworkingError.self) { try await network.data(escaped) }
        for host in ["reported.example.com", "other.example.com"] {
            let response = try await network.data(HTTPRequestData(scheme: "http", authority: host, path: "/users"))
            #expect(response.status == .ok)
        }
    }

    @Test func errorNamesHostAndPins() {
        let mismatch = PinMismatch(host: "api.example.com", presented: [Self.current], expected: [Self.backup])
        let error = NetworkingError(mismatch, request: HTTPRequestData(path: "users"))
        #expect(error.kind == .tls)
        #expect(error.pinMismatch == mismatch)
        for part in ["api.example.com", "\(Self.current)", "\(Self.backup)"] {
            #expect(error.reason.contains(part))
        }
        #expect(!error.localizedDescription.contains("example"))
        #expect(NetworkingError(.tls, request: HTTPRequestData(path: "users")).pinMismatch == nil)
        #expect("\(PinMismatch(host: "a", presented: [], expected: [Self.backup]))".contains("no certificate"))
    }

    @Test func eventsNameTheHost() {
        let mismatch = PinMismatch(host: "api.example.com", presented: [Self.current], expected: [Self.backup])
        let events: [TrustEvent] = [
            .mismatchRefused(mismatch), .mismatchReported(mismatch), .pinsExpired(host: "api.example.com"),
        ]
        #expect(
            events.map { "\($0)" } == [
                "pinMismatchRefused(api.example.com)", "pinMismatchReported(api.example.com)",
                "pinsExpired(api.example.com)",
            ]
        )
    }

    // MARK: Diagnostics

    @Test func diagnosticsNameProbableMistakes() {
        let both = [Self.current, Self.backup]
        func messages(_ pins: [HostPins]) -> [String] {
            let stack = AnyNetworkingComponent(PinnedStub(trust: ServerTrust(pins: pins)))
            return stack.retry().server(authority: "api.example.com").diagnostics.map(\.message)
        }
        #expect(messages([]).isEmpty)
        #expect(messages([HostPins("*.example.com", pins: both), HostPins("other.test", pins: both)]).isEmpty)
        #expect(messages([HostPins("api.example.com", pins: [Self.current])]).first?.contains("single pin") == true)
        #expect(messages([HostPins("api.example.com", pins: both, expires: .distantFuture)]).isEmpty)
        let expired = HostPins("api.example.com", pins: both, expires: .distantPast)
        #expect(messages([expired]).first?.contains("have expired") == true)
        let elsewhere = messages([HostPins("example.com", pins: both)])
        #expect(elsewhere.first?.contains("api.example.com, which has no pins") == true)
        let twice = messages([HostPins("api.example.com", pins: both), HostPins("api.example.com", pins: both)])
        #expect(twice.first?.contains("2 entries") == true)
    }
}

/// A transport that responds with 204 to a request with pins, and 200 to any other.
private struct PinnedStub: NetworkingTransport {
    let trust: ServerTrust

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        let isPinned = try trust.hostTrust(for: request)?.pins != nil
        return HTTPResponseData(request: request, status: isPinned ? .noContent : .ok, data: Data())
    }

    var stackPart: StackPart { StackPart(rules: trust.rules) }
}
