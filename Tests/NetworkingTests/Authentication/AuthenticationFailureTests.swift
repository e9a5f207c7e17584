import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// Token servers with truncated responses, outages or overload.
///
/// None of these failures signs the user out.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct AuthenticationFailureTests {
    private struct Renewing: AuthenticationDelegate {
        func refresh(
            _ session: Session,
            after response: HTTPResponseData?,
            over network: any NetworkingComponent
        ) async throws -> Session {
            let url = URL(string: "https://login.example.com/token?key=secret-4")!
            let request = HTTPRequestData(method: .post, url: url, body: .json(["refreshToken": session.refreshToken]))
            return try await network.request(request, as: Session.self)
        }
    }

    private let clock = ManualClock()
    private let store: TokenStore<Session>

    init() {
        store = TokenStore(
            Session(userID: "emily", accessToken: "secret-1", refreshToken: "secret-2"),
            delegate: Renewing()
        )
    }

    /// Creates a transport with a token endpoint that returns these responses, and then a session.
    private func transport(_ responses: MockResponse...) -> MockTransport {
        let rest = Mutex(responses)
        return MockTransport { request in
            guard request.path == "/token" else {
                return request.headerFields[.authorization] == "Bearer secret-3" ? .ok() : .status(.unauthorized)
            }
            return rest.withLock { $0.isEmpty ? nil : $0.removeFirst() }
                ?? .json(text: #"{"accessToken":"secret-3","userID":"emily"}"#)
        }
    }

    private func stack(_ transport: MockTransport, retries: Int = 0) -> AnyNetworkingComponent {
        let policy = retries == 0 ? RetryPolicy.never : .immediate(maximumRetries: retries)
        return AnyNetworkingComponent(
            transport.authenticated(with: store).retry(policy).server(authority: "api.example.com")
                .environment(\.clock, .immediate())
        )
    }

    /// Failures of a token endpoint that refuse no credentials, with the kinds of their errors.
    private static let damages: [(MockResponse, NetworkingError.Kind)] = [
        (.failure(.truncated), .truncated), (.failure(.invalidResponse), .invalidResponse),
        (.failure(.connectionLost), .connectionLost), (.failure(.timeout), .timeout), (.failure(.offline), .offline),
        (.text(#"{"accessToken":"secr"#), .decoding), (.text("<html>secret-5</html>"), .decoding), (.ok(), .decoding),
        (.status(.serviceUnavailable), .status), (.status(.tooManyRequests), .status), (.status(.badGateway), .status),
    ]

    @Test(arguments: damages.indices)
    func damagedTokenResponseKeepsItsKind(number: Int) async throws {
        let (response, kind) = Self.damages[number]
        let error = await #expect(throws: NetworkingError.self) { try await stack(transport(response)).me() }
        #expect(error?.kind == kind)
        #expect(error?.isUnauthorized == false)
        #expect(error?.request.path == "/me")
        #expect((error?.underlying as? NetworkingError)?.request.path == "/token")
        #expect(store.credentials?.accessToken == "secret-1")
    }

    /// A POST that the server has not processed is sent when a token is available.
    @Test(arguments: damages.indices, [true, false])
    func requestsAreRetriedAfterADamagedTokenResponse(number: Int, isExpired: Bool) async throws {
        if isExpired {
            store.update(
                Session(accessToken: "secret-1", refreshToken: "secret-2", expirationDate: .distantPast)
            )
        }
        let transport = transport(Self.damages[number].0)
        let response = try await stack(transport, retries: 1).me { $0.method = .post }
        #expect(response.status == .ok)
        #expect(response.attempts.count == 1)
        let orders = transport.requests.filter { $0.path == "/me" }.map { $0.headerFields[.authorization] }
        // A request with the old token was refused each time.
        #expect(orders == (isExpired ? [] : ["Bearer secret-1", "Bearer secret-1"]) + ["Bearer secret-3"])
        #expect(transport.requests.count { $0.path == "/token" } == 2)
    }

    @Test func errorHasTheRetryAfterOfABusyTokenServer() async throws {
        let transport = transport(.status(.tooManyRequests, headerFields: [.retryAfter: "7"]))
        let response = try await stack(transport, retries: 1).me()
        #expect(response.status == .ok)
        let backoff = try #require(response.attempts.first?.backoff)
        #expect(.seconds(7) ... .seconds(7.7) ~= backoff)
        #expect(response.attempts.first?.response?.status == .tooManyRequests)
    }

    @Test func errorOfARefreshHasTheRetryAfterOfItsCause() async throws {
        let busy = NetworkingError(.rejected, request: .lawful, reason: "Busy.", retryAfter: .seconds(7))
        let delegate = ScriptedAuthenticationDelegate<Session>(refreshing: [.failure(busy)])
        let store = TokenStore(Session(userID: "emily", accessToken: "secret-1"), delegate: delegate)
        let network = MockTransport { _ in .status(.unauthorized) }.authenticated(with: store)
            .server(authority: "api.example.com")
        let error = await #expect(throws: NetworkingError.self) { try await network.me() }
        #expect(error?.kind == .rejected)
        #expect(error?.retryAfter == .seconds(7))
    }

    @Test(arguments: [HTTPResponse.Status.badRequest, .unauthorized, .forbidden])
    func refusalByTheTokenServerIsNotRetried(status: HTTPResponse.Status) async throws {
        let transport = transport(.status(status))
        let error = await #expect(throws: NetworkingError.self) { try await stack(transport, retries: 1).me() }
        #expect(error?.kind == .unauthorized)
        #expect(error?.response?.request.path == "/me")
        #expect(transport.requests.count { $0.path == "/token" } == 1)
    }

    /// An order of one user must not be placed on the account of another user.
    @Test func requestIsNotRetriedForAnotherUser() async throws {
        struct Switching: RetryStrategy {
            let store: TokenStore<Session>

            func decide(about request: HTTPRequestData, after attempts: [Attempt]) async -> RetryDecision {
                store.set(Session(userID: "james", accessToken: "secret-3"))
                return .standard
            }
        }

        let transport = transport(.failure(.connectionLost))
        let budget = RetryBudget(.ratio(0, reserve: 1))
        let network = transport.authenticated(with: store)
            .retry(.immediate().deciding(by: Switching(store: store)), budget: budget)
            .server(authority: "api.example.com")
        let error = await #expect(throws: NetworkingError.self) { try await network.me { $0.method = .post } }
        #expect(error?.kind == .connectionLost)
        #expect(error?.retryRefusal == .anotherUser)
        #expect(!transport.requests.contains { $0.headerFields[.authorization] == "Bearer secret-3" })
        // The budget has the unused retry back.
        #expect(budget.withdraw(AuthorityKey("api.example.com"), at: .zero) != nil)
    }

    @Test func errorNamesTheFailedRequestAndTheReason() async throws {
        let refused = await #expect(throws: NetworkingError.self) {
            try await stack(transport(.failure(.invalidResponse))).me()
        }
        #expect(
            refused?.reason
                == "The server refused the credentials, and their refresh failed: POST https://login.example.com/token?key=<redacted> "
                + "failed. The response is not valid HTTP. Check that the server speaks HTTP on this port."
        )
        store.update(Session(accessToken: "secret-1", refreshToken: "secret-2", expirationDate: .distantPast))
        let error = await #expect(throws: NetworkingError.self) {
            try await stack(transport(.text("<html>secret-5</html>"))).me()
        }
        let start =
            "The refresh of the credentials failed, so the request was not sent: POST https://login.example.com/token?key=<redacted> "
            + "failed. The body does not decode"
        #expect(error?.reason.hasPrefix(start) == true, "\(error?.reason ?? "")")
        for error in [refused, error] {
            #expect(!everyPrint(of: error as Any).contains("secret"))
        }
    }

    @Test func errorOfTheAppsDelegateIsTheUnderlyingError() async throws {
        struct Declined: Error {
            let token = "secret-6"
        }
        let delegate = ScriptedAuthenticationDelegate<Session>(refreshing: [
            .failure(Declined()), .failure(DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: ""))),
        ])
        let store = TokenStore(Session(accessToken: "secret-1"), delegate: delegate)
        let network = transport().authenticated(with: store).server(authority: "api.example.com")
        let declined = await #expect(throws: NetworkingError.self) { try await network.me() }
        #expect(declined?.kind == .unauthorized)
        #expect(declined?.underlying is Declined)
        #expect(declined?.reason.contains("Declined") == true)
        #expect(!everyPrint(of: declined as Any).contains("secret"))
        let damaged = await #expect(throws: NetworkingError.self) { try await network.me() }
        #expect(damaged?.kind == .decoding)
    }
}
