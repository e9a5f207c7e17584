import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// The failures that count for an endpoint, the clocks of stacks that share endpoints, and cookies.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct EndpointPairsTests {
    private let clock = ManualClock()
    private let endpoints = ServerEndpoints("api.example", endpoints: ["a.example", "b.example", "c.example"])
    private let request = HTTPRequestData(path: "users")

    private func handshakeFailure(_ request: HTTPRequestData) -> NetworkingError {
        var error = NetworkingError(.tls, request: request)
        error.isHandshakeFailure = true
        return error
    }

    // MARK: Handshakes

    @Test func failedHandshakeEjectsAnEndpoint() async {
        let network = MockTransport { request in
            if request.authority == "a.example" { throw handshakeFailure(request) }
            return .ok()
        }
        .server(endpoints: endpoints).environment(\.clock, .manual(clock)).environment(\.random, .seeded(1))
        for _ in 0..<60 { _ = try? await network.data(request) }
        #expect(endpoints.statuses.map(\.isEjected) == [true, false, false])
    }

    @Test func failedHandshakeOfADeviceWithoutANetworkEjectsNothing() async {
        let network = MockTransport { throw handshakeFailure($0) }.server(endpoints: endpoints)
            .environment(\.connectivity, ManualConnectivity(.offline))
        for _ in 0..<60 { _ = try? await network.data(request) }
        #expect(endpoints.statuses.allSatisfy { !$0.isEjected })
    }

    @Test(arguments: [HTTPRequest.Method.get, .put, .post])
    func retryMovesOnAfterAFailedHandshake(method: HTTPRequest.Method) async throws {
        let isFirst = Locked(true)
        let transport = MockTransport { request in
            let fails = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            if fails { throw handshakeFailure(request) }
            return .ok()
        }
        let network = transport.server(endpoints: endpoints).retry(.immediate(), budget: .unlimited)
            .environment(\.clock, .manual(clock))
        #expect(try await network.data(request.with { $0.method = method }).status == .ok)
        #expect(Set(transport.requests.map(\.authority)).count == 2)
    }

    @Test func untrustedServerIsNeitherRetriedNorReplaced() async throws {
        let mirror = MockTransport { _ in .ok() }
        let transport = MockTransport { throw NetworkingError(.tls, request: $0) }
        let network = transport.retry(.immediate(), budget: .unlimited).fallback(to: mirror)
        await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(transport.requests.count == 1)
        #expect(mirror.requests.isEmpty)
        let unreachable = MockTransport { throw handshakeFailure($0) }
        #expect(try await unreachable.fallback(to: mirror).data(.lawful).status == .ok)
    }

    // MARK: Clocks

    @Test func stacksWithDifferentClocksShareTheEjections() async throws {
        let failing = MockTransport { request in request.authority == "a.example" ? .failure(.connection) : .ok() }
            .server(endpoints: endpoints).environment(\.clock, .manual(clock))
        for _ in 0..<60 { _ = try? await failing.data(request) }
        #expect(endpoints.statuses[0].isEjected)

        let late = ManualClock()
        late.advance(by: .seconds(1_000_000))
        let transport = MockTransport { _ in .ok() }
        let network = transport.server(endpoints: endpoints).environment(\.clock, .manual(late))
        for _ in 0..<60 { try await network.data(request) }
        #expect(endpoints.statuses[0].isEjected)
        late.advance(by: .seconds(34))
        try await network.data(request)
        #expect(!endpoints.statuses[0].isEjected)
    }

    @Test func clockThatIsSetBackEjectsNoLonger() throws {
        let clock = AdjustedClock()
        let network = NetworkClock(clock)
        clock.advance(by: .seconds(100_000))
        func send(_ outcome: EndpointTable.Outcome) throws -> Int {
            let pick = try #require(endpoints.pick(after: nil, for: request, random: .max, on: network).pick)
            _ = endpoints.end(pick, as: outcome, jitter: 0, on: network)
            return pick.index
        }
        var index = 0
        while !endpoints.statuses.contains(where: \.isEjected) { index = try send(.failure) }
        clock.advance(by: .seconds(-100_000))
        #expect(try send(.success) != index)
        clock.advance(by: .seconds(30))
        #expect(try send(.success) == index)
        #expect(endpoints.statuses.allSatisfy { !$0.isEjected })
    }

    // MARK: Cookies

    @Test(arguments: [("", true), ("; Domain=api.example", true), ("; Domain=a.example", false)])
    func cookieOfAMemberIsOneOfTheServer(attribute: String, isStored: Bool) async throws {
        let transport = MockTransport { _ in .ok(headerFields: [.setCookie: "a=1\(attribute)"]) }
        let members = ServerEndpoints("api.example", endpoints: ["a.example"])
        let network = transport.server(endpoints: members).cookies(in: CookieJar())
        try await network.data(request)
        try await network.data(request)
        #expect(transport.requests.map { $0.headerFields[.cookie] } == [nil, isStored ? "a=1" : nil])
        try await network.data(HTTPRequestData(authority: "a.example"))
        #expect(transport.requests.last?.headerFields[.cookie] == nil)
    }

    // MARK: Credentials

    @Test func rejectedTokenIsRefreshedForAllMembers() async throws {
        let transport = MockTransport { request in
            request.headerFields[.authorization] == "Bearer new" ? .ok() : .status(.unauthorized)
        }
        let delegate = ScriptedAuthenticationDelegate<Networking.Session>(
            refreshing: [.success(Networking.Session(userID: "emily", accessToken: "new"))]
        )
        let old = Networking.Session(userID: "emily", accessToken: "old", refreshToken: "r")
        let network = transport.server(endpoints: endpoints)
            .authenticated(with: TokenStore(old, delegate: delegate))
        for _ in 0..<20 { #expect(try await network.data(request).status == .ok) }
        #expect(transport.requests.count == 21)
        #expect(transport.requests.allSatisfy { ["a.example", "b.example", "c.example"].contains($0.authority) })
    }

    @Test func requestThatLeavesAMemberDoesNotComeBackWithCredentials() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.authenticated(with: BearerCredentials(token: "secret"))
            .modified("Detour") { request, upstream in
                var request = request
                request.authority = "c.example.org"
                request.authority = "b.example"
                return try await upstream.send(request)
            }
            .server(endpoints: endpoints)
        try await network.data(request)
        #expect(transport.requests.map(\.authority) == ["b.example"])
        #expect(transport.requests[0].headerFields[.authorization] == nil)
    }
}
