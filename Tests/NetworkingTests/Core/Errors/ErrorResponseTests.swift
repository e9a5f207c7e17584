import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// Parts of a stack that decide by a response which a part further in has replaced by an error of the app.
@Suite(.timeLimit(.minutes(20)))
struct ErrorResponseTests {
    private struct Problem: Error, Decodable {
        let code: Int
    }

    private static func refusal(_ status: HTTPResponse.Status, _ fields: HTTPFields = [:]) -> MockResponse {
        .json(text: #"{"code": 7}"#, status: status).headerFields(fields)
    }

    @Test func requestLeadsFromAnErrorOfTheAppToItsResponse() async throws {
        let seen = Mutex<[HTTPResponse.Status?]>([])
        let watching = Sending { request, upstream in
            do {
                return try await upstream.send(request)
            } catch {
                seen.withLock { $0.append(request.response(of: error)?.status) }
                throw error
            }
        }
        let transport = MockTransport([Self.refusal(.conflict), .status(.notFound), .failure(.offline), .ok()])
        let network = transport.checkedStatusCode(as: Problem.self).modified(watching)
        for _ in 1...3 {
            await #expect(throws: (any Error).self) { try await network.data(.lawful) }
        }
        try await network.data(.lawful)
        // The body of a 404 without a problem does not decode, so its error is the library's.
        #expect(seen.withLock { $0 } == [.conflict, .notFound, nil])
    }

    /// A caller that has joined an exchange learns as much of its error as the caller that started it.
    @Test func callersOfASharedExchangeSeeTheResponseOfItsError() async throws {
        let seen = Mutex<[HTTPResponse.Status?]>([])
        let (held, inFlight) = (Suspension<Void>(), InFlightRequests())
        let watching = Sending { request, upstream in
            do {
                return try await upstream.send(request)
            } catch {
                seen.withLock { $0.append(request.response(of: error)?.status) }
                throw error
            }
        }
        let transport = MockTransport { _ in
            try await held.value()
            return Self.refusal(.conflict)
        }
        let network = transport.checkedStatusCode(as: Problem.self).deduplicated(sharing: inFlight).modified(watching)
        let calls = (0..<2).map { _ in Task { try await network.data(.lawful) } }
        try await eventually("inFlight.waiting == 2") { inFlight.waiting == 2 }
        held.resume()
        for call in calls {
            await #expect(throws: Problem.self) { try await call.value }
        }
        #expect(seen.withLock { $0 } == [.conflict, .conflict])
        #expect(transport.requests.count == 1)
    }

    /// The error of one user's request must not reach another user, whatever its type is.
    @Test func errorOfAnotherUsersResponseIsNotShared() async throws {
        struct Named: Error, Decodable, Equatable {
            let user: String
        }
        let user = Mutex("emily")
        let (held, inFlight) = (Suspension<Void>(), InFlightRequests())
        let isFirst = Atomic(true)
        let adding = Sending { request, upstream in
            try await upstream.send(request.with { $0.setCredential(user.withLock { $0 }, for: .authorization) })
        }
        let transport = MockTransport { request in
            let name = request.headerFields[.authorization] ?? ""
            if isFirst.exchange(false, ordering: .relaxed) { try await held.value() }
            return .json(text: #"{"user": "\#(name)"}"#, status: .forbidden)
        }
        let network = transport.checkedStatusCode(as: Named.self).modified(adding).deduplicated(sharing: inFlight)
        let emily = Task { try await network.data(.lawful) }
        try await eventually("the first request is sent") { !isFirst.load(ordering: .relaxed) }
        user.withLock { $0 = "james" }
        let james = Task { try await network.data(.lawful) }
        try await eventually("inFlight.waiting == 2") { inFlight.waiting == 2 }
        held.resume()
        await #expect(throws: Named(user: "emily")) { try await emily.value }
        await #expect(throws: Named(user: "james")) { try await james.value }
    }

    @Test func errorOfAnotherTypeHasNoResponse() async throws {
        struct Other: Error {}
        let seen = Mutex<[HTTPResponse.Status?]>([])
        let failing = Sending { request, upstream in
            do {
                return try await upstream.send(request)
            } catch {
                seen.withLock { $0.append(request.response(of: Other())?.status) }
                throw error
            }
        }
        let network = MockTransport([Self.refusal(.conflict)]).checkedStatusCode(as: Problem.self).modified(failing)
        await #expect(throws: Problem.self) { try await network.data(.lawful) }
        #expect(seen.withLock { $0 } == [nil])
    }

    @Test func responseOfAnEarlierAttemptIsForgotten() async throws {
        let seen = Mutex<[HTTPResponse.Status?]>([])
        let isFirst = Atomic(true)
        let failing = Sending { request, upstream in
            if isFirst.exchange(false, ordering: .relaxed) {
                await #expect(throws: Problem.self) { try await upstream.send(request) }
                #expect(request.response(of: Problem(code: 1))?.status == .conflict)
            }
            _ = try await upstream.send(request)
            seen.withLock { $0.append(request.response(of: Problem(code: 1))?.status) }
            throw Problem(code: 1)
        }
        let network = MockTransport([Self.refusal(.conflict), .ok()]).checkedStatusCode(as: Problem.self)
            .modified(failing)
        await #expect(throws: Problem.self) { try await network.data(.lawful) }
        #expect(seen.withLock { $0 } == [nil])
    }

    @Test func requestsOfErrorsAndResponsesDoNotKeepTheResponse() async throws {
        let transport = MockTransport([Self.refusal(.conflict)])
        let network = transport.checkedStatusCode(as: Problem.self)
        await #expect(throws: Problem.self) { try await network.data(.lawful) }
        #expect(transport.requests.last?.response(of: Problem(code: 7)) == nil)
    }

    // MARK: The parts that decide by responses

    @Test func retryDecidesByTheResponse() async throws {
        let transport = MockTransport([Self.refusal(.serviceUnavailable), Self.refusal(.notFound), .ok()])
        let network = transport.checkedStatusCode(as: Problem.self).retry(.immediate())
        await #expect(throws: Problem.self) { try await network.data(.lawful) }
        #expect(transport.requests.count == 2)
    }

    @Test func retryRespectsRetryAfterOfAnErrorOfTheApp() async throws {
        let clock = ManualClock()
        let transport = MockTransport([Self.refusal(.serviceUnavailable, [.retryAfter: "7"]), .ok()])
        let network = transport.checkedStatusCode(as: Problem.self).retry().environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers()
        #expect(try #require(clock.nextDeadline).offset >= .seconds(7))
        clock.advanceToNextDeadline()
        let response = try await call.value
        #expect(response.attempts.first?.response?.status == .serviceUnavailable)
        #expect(response.attempts.first?.error is Problem)
        #expect("\(response.attempts)".contains("Problem 503"))
    }

    @Test func hedgingDecidesByTheResponse() async throws {
        let clock = ManualClock()
        let transport = MockTransport([Self.refusal(.serviceUnavailable), Self.refusal(.notFound)])
        let network = transport.checkedStatusCode(as: Problem.self).hedged(.after(.seconds(1), extraLoad: 1))
            .environment(\.clock, .manual(clock))
        await #expect(throws: Problem.self) { try await network.data(.lawful) }
        #expect(transport.requests.count == 2)
    }

    @Test func refusedTokenIsRefreshed() async throws {
        let transport = MockTransport { request in
            request.headerFields[.authorization] == "Bearer new" ? .ok() : Self.refusal(.unauthorized)
        }
        let delegate = ScriptedAuthenticationDelegate<Session>(refreshing: [.success(Session(accessToken: "new"))])
        let store = TokenStore(Session(accessToken: "old"), delegate: delegate)
        let network = transport.checkedStatusCode(as: Problem.self).authenticated(with: store)
            .server(authority: "api.example.com")
        #expect(try await network.data(HTTPRequestData(path: "me")).status == .ok)
        guard case .refresh(_, let response) = delegate.calls.first else {
            Issue.record("no refresh")
            return
        }
        #expect(response?.status == .unauthorized)
    }

    @Test func staleResponseReplacesAFailure() async throws {
        let clock = ManualClock()
        let transport = MockTransport([
            .text("stored").headerFields([.cacheControl: "max-age=1, stale-if-error=600", .eTag: "\"1\""]),
            Self.refusal(.serviceUnavailable), Self.refusal(.notFound),
        ])
        let network = transport.checkedStatusCode(as: Problem.self).cached().environment(\.clock, .manual(clock))
        try await network.data(.lawful)
        clock.advance(by: .seconds(10))
        let response = try await network.data(.lawful)
        #expect(String(decoding: response.data, as: UTF8.self) == "stored")
        await #expect(throws: Problem.self) { try await network.data(.lawful) }
    }

    @Test func refusedChangeKeepsStoredResponses() async throws {
        let transport = MockTransport { request in
            request.method == .get
                ? .text("stored").headerFields([.cacheControl: "max-age=600"]) : Self.refusal(.init(code: 422))
        }
        let network = transport.checkedStatusCode(as: Problem.self).cached()
        try await network.data(.lawful)
        await #expect(throws: Problem.self) { try await network.data(.lawful.with { $0.method = .put }) }
        try await network.data(.lawful)
        #expect(transport.requests.map(\.method) == [.get, .put])
    }

    @Test func cookiesOfARefusedResponseAreStored() async throws {
        let jar = CookieJar()
        let transport = MockTransport([
            Self.refusal(.unauthorized, [.setCookie: "session=1; Path=/"]), .ok(),
        ])
        let network = transport.checkedStatusCode(as: Problem.self).cookies(in: jar)
        await #expect(throws: Problem.self) { try await network.data(.lawful) }
        try await network.data(.lawful)
        #expect(transport.requests.last?.headerFields[.cookie] == "session=1")
    }
}

extension MockResponse {
    fileprivate static func failure(_ kind: NetworkingError.Kind) -> MockResponse {
        .failure(NetworkingError(kind, request: .lawful))
    }
}
