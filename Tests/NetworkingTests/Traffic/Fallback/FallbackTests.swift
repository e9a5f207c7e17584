import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct FallbackTests {
    private struct AppError: Error {}

    private func failing(_ kind: NetworkingError.Kind) -> MockTransport {
        MockTransport { throw NetworkingError(kind, request: $0) }
    }

    private let mirror = MockTransport { _ in .text("mirror") }

    // MARK: Failures

    @Test(arguments: NetworkingError.Kind.allCases) func onlyUnavailableServersAreReplaced(
        kind: NetworkingError.Kind
    ) async throws {
        let isReplaced: Bool =
            switch kind.meaning {
            case .unreachable, .interrupted, .expired, .rejected: true
            default: false
            }
        let network = failing(kind).fallback(to: mirror)
        guard isReplaced else {
            let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
            #expect(error?.kind == kind)
            #expect(mirror.requests.isEmpty)
            return
        }
        let response = try await network.data(.lawful)
        #expect(response.bodyText == "mirror")
        #expect((response.failureBeforeFallback?.error as? NetworkingError)?.kind == kind)
        #expect(response.request == .lawful)
    }

    @Test(arguments: [(500, true), (502, true), (503, true), (504, true), (404, false), (429, false), (200, false)])
    func onlyStatusesOfUnavailableServersAreReplaced(code: Int, isReplaced: Bool) async throws {
        let server = MockTransport { _ in .status(HTTPResponse.Status(code: code)) }
        let response = try await server.fallback(to: mirror).data(.lawful)
        #expect((response.bodyText == "mirror") == isReplaced)
        #expect((response.failureBeforeFallback != nil) == isReplaced)
    }

    @Test func errorsOfTheAppAndCancellationsAreNotReplaced() async throws {
        await #expect(throws: AppError.self) {
            try await MockTransport { _ in throw AppError() }.fallback(to: mirror).data(.lawful)
        }
        await #expect(throws: CancellationError.self) {
            try await MockTransport { _ in throw CancellationError() }.fallback(to: mirror, when: { _ in true })
                .data(.lawful)
        }
        #expect(mirror.requests.isEmpty)
    }

    @Test func appMayReplaceOtherFailures() async throws {
        let server = MockTransport { _ in .status(.notFound) }
        let network = server.fallback(to: mirror) { $0.response?.status == .notFound }
        #expect(try await network.data(.lawful).bodyText == "mirror")
        let strict = MockTransport { _ in throw AppError() }.fallback(to: mirror) { $0.error is AppError }
        #expect(try await strict.data(.lawful).bodyText == "mirror")
    }

    @Test func firstFailureIsTheOutcomeIfTheOtherComponentFailsToo() async throws {
        let events = EventRecorder()
        let network = failing(.connection).fallback(to: failing(.tls)).observed(by: events)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.kind == .connection)
        #expect(events.names.contains("fallbackFailed"))
    }

    // MARK: Requests

    @Test func onlySafeRequestsFallBackUnlessTheyMay() async throws {
        let network = failing(.connection).fallback(to: mirror)
        await #expect(throws: NetworkingError.self) { try await network.data(.lawful.with { $0.method = .put }) }
        await #expect(throws: NetworkingError.self) { try await network.data(.lawful.with { $0.fallsBack = false }) }
        #expect(mirror.requests.isEmpty)
        let put = HTTPRequestData.lawful.with {
            $0.method = .put
            $0.fallsBack = true
        }
        #expect(try await network.data(put).bodyText == "mirror")
        #expect(mirror.requests.map(\.method) == [.put])
    }

    @Test func otherComponentRewritesTheRequestForItself() async throws {
        let server = MockTransport { _ in .status(.serviceUnavailable) }
        let network = server.server(baseURL: URL(string: "https://a.example/v1")!)
            .server(headerField: .authorization, "Bearer a")
            .fallback(to: mirror.server(authority: "b.example"))
            .server(userAgent: "Shop/2")
        _ = try await network.data(HTTPRequestData(path: "users"))
        #expect(server.requests.first?.url?.absoluteString == "https://a.example/v1/users")
        #expect(server.requests.first?.headerFields[.authorization] == "Bearer a")
        let request = try #require(mirror.requests.first)
        #expect(request.url?.absoluteString == "https://b.example/users")
        #expect(request.headerFields[.authorization] == nil)
        #expect(request.headerFields[.userAgent] == "Shop/2")
    }

    @Test func credentialsForTheFirstServerAreNotSentToTheOther() async throws {
        let server = MockTransport { _ in .status(.serviceUnavailable) }
        let network = server.server(authority: "a.example")
            .fallback(to: mirror.server(authority: "b.example", overriding: true))
            .server(headerField: .authorization, "Bearer a")
        _ = try await network.data(HTTPRequestData(path: "users"))
        #expect(server.requests.first?.headerFields[.authorization] == "Bearer a")
        #expect(mirror.requests.map { $0.headerFields[.authorization] } == [nil])
        let outer = server.fallback(to: mirror.server(authority: "b.example", overriding: true))
            .server(headerField: .authorization, "Bearer a").server(authority: "a.example")
        _ = try await outer.data(HTTPRequestData(path: "users"))
        #expect(server.requests.last?.headerFields[.authorization] == "Bearer a")
        #expect(mirror.requests.map(\.authority) == ["b.example", "b.example"])
        #expect(mirror.requests.map { $0.headerFields[.authorization] } == [nil, nil])
    }

    @Test func requestStaysOneOfItsUser() async throws {
        let store = TokenStore(Networking.Session(userID: "emily", accessToken: "a"))
        let server = MockTransport { _ in
            store.set(Networking.Session(userID: "michael", accessToken: "b"))
            return .status(.serviceUnavailable)
        }
        let network = server.authenticated(with: store).server(authority: "a.example")
            .fallback(to: mirror.authenticated(with: store).server(authority: "b.example"))
        #expect(try await network.data(HTTPRequestData(path: "users")).status == .serviceUnavailable)
        #expect(mirror.requests.isEmpty)
    }

    /// The other stack has a store of its own, in which the next user signs in, too.
    @Test(arguments: [false, true]) func requestStaysOneOfItsUserInTheOtherStack(isKept: Bool) async throws {
        let stores = ["a", "b"].map { TokenStore(Networking.Session(userID: "emily", accessToken: $0)) }
        let server = MockTransport { _ in
            for store in stores { store.set(Networking.Session(userID: "michael", accessToken: "c")) }
            return .status(.serviceUnavailable)
        }
        let network = server.authenticated(with: stores[0]).server(authority: "a.example")
            .fallback(to: mirror.authenticated(with: stores[1]).server(authority: "b.example"))
        let request = HTTPRequestData(path: "users")
        let response = try await network.data(isKept ? network.notingUsers(of: request) : request)
        #expect(response.status == .serviceUnavailable)
        #expect(mirror.requests.isEmpty)
    }

    @Test func bodyThatAReaderHasIsNotReplaced() async throws {
        let server = MockTransport { _ in
            .chunks([.text("part"), .failure(NetworkingError(.connectionLost, request: .lawful))])
        }
        let sink = CollectingSink()
        let request = HTTPRequestData.lawful.with { $0.sink = sink }
        let error = await #expect(throws: NetworkingError.self) {
            try await server.fallback(to: mirror).data(request)
        }
        #expect(error?.kind == .connectionLost)
        #expect(mirror.requests.isEmpty)
    }

    // MARK: Closures and stored responses

    @Test func closureReturnsAResponseOrNone() async throws {
        let server = failing(.connection)
        let network = server.fallback { request, failure in
            guard (failure.error as? NetworkingError)?.kind == .connection, request.url?.path() == "/known" else {
                return nil
            }
            return HTTPResponseData(request: request, data: Data("local".utf8))
        }
        #expect(try await network.data(HTTPRequestData(authority: "a.example", path: "known")).bodyText == "local")
        await #expect(throws: NetworkingError.self) {
            try await network.data(HTTPRequestData(authority: "a.example", path: "other"))
        }
        await #expect(throws: AppError.self) {
            try await server.fallback { _, _ in throw AppError() }.data(.lawful)
        }
    }

    @Test func storedResponseIsUsedHoweverOld() async throws {
        let clock = ManualClock()
        let isDown = Atomic(false)
        let server = MockTransport { request in
            if isDown.load(ordering: .acquiring) { throw NetworkingError(.connection, request: request) }
            return .ok(Data("stored".utf8), headerFields: [.cacheControl: "max-age=60, must-revalidate"])
        }
        let network = server.cached().fallbackToStoredResponse().environment(\.clock, .manual(clock))
        #expect(try await network.data(.lawful).failureBeforeFallback == nil)
        isDown.store(true, ordering: .releasing)
        clock.advance(by: .seconds(365 * 86_400))
        let response = try await network.data(.lawful)
        #expect(response.bodyText == "stored")
        #expect(response.failureBeforeFallback != nil)
        await #expect(throws: NetworkingError.self) {
            try await network.data(HTTPRequestData(authority: "a.example", path: "unknown"))
        }
    }

    @Test func substituteIsNotStored() async throws {
        let isDown = Atomic(true)
        let server = MockTransport { request in
            isDown.load(ordering: .acquiring)
                ? .status(.serviceUnavailable) : .ok(Data("server".utf8), headerFields: [.cacheControl: "max-age=60"])
        }
        let other = MockTransport { _ in .ok(Data("mirror".utf8), headerFields: [.cacheControl: "max-age=60"]) }
        let network = server.cached().fallback(to: other)
        #expect(try await network.data(.lawful).bodyText == "mirror")
        isDown.store(false, ordering: .releasing)
        #expect(try await network.data(.lawful).bodyText == "server")
        #expect(try await network.data(.lawful).bodyText == "server")
        #expect((server.requests.count, other.requests.count) == (2, 1))
    }

    @Test func storedResponseIsThatOfTheUserAndOnlyIfItMayBeStored() async throws {
        let isDown = Atomic(false)
        let store = TokenStore(Networking.Session(userID: "emily", accessToken: "a"))
        let server = MockTransport { request in
            if isDown.load(ordering: .acquiring) { throw NetworkingError(.connection, request: request) }
            let directive = request.path == "/secret" ? "no-store" : "max-age=60"
            return .ok(Data("stored".utf8), headerFields: [.cacheControl: directive])
        }
        let network = server.authenticated(with: store).server(authority: "a.example").cached()
            .fallbackToStoredResponse()
        for path in ["open", "secret"] { _ = try await network.data(HTTPRequestData(path: RequestPath(path))) }
        isDown.store(true, ordering: .releasing)
        #expect(try await network.data(HTTPRequestData(path: "open")).bodyText == "stored")
        await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData(path: "secret")) }
        store.set(Networking.Session(userID: "michael", accessToken: "b"))
        await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData(path: "open")) }
    }

    @Test func withoutACacheNothingIsSentForAStoredResponse() async throws {
        let server = failing(.connection)
        await #expect(throws: NetworkingError.self) { try await server.fallbackToStoredResponse().data(.lawful) }
        #expect(server.requests.count == 1)
    }

    // MARK: Waits

    @Test func cancelledCallerAndDeadlineEndTheWaitForTheOtherComponent() async throws {
        let clock = ManualClock()
        let slow = PacedServer([.init(head: .seconds(60))])
        let network = failing(.connection).fallback(to: slow).deadline(.seconds(5))
            .environment(\.clock, .manual(clock))
        let cancelled = Task { try await network.data(.lawful) }
        try await eventually("the other component has the request") { slow.count == 1 }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        let late = Task { try await network.data(.lawful) }
        try await eventually("the other component has the request") { slow.count == 2 }
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: NetworkingError.self) { try await late.value }
        #expect(error?.kind == .deadline)
        try await eventually("both exchanges have ended") { slow.cancelled.sorted() == [1, 2] }
    }

    // MARK: The stack

    @Test func diagnosticsNameTheRightPlace() {
        #expect(mirror.retry().cached().fallbackToStoredResponse().diagnostics.isEmpty)
        #expect(mirror.retry().fallback(to: mirror).deduplicated().diagnostics.isEmpty)
        #expect(mirror.fallbackToStoredResponse().diagnostics.count == 1)
        #expect(mirror.fallback(to: mirror).retry().diagnostics.count == 1)
        #expect(mirror.fallback(to: mirror).cached().diagnostics.count == 1)
        #expect(mirror.fallback(to: mirror.retry()).requestOptions.contains(.retryPolicy))
    }
}
