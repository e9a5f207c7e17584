import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

private struct GetUser: Endpoint {
    struct User: Codable, Equatable, Sendable {
        let userName: String
    }

    typealias Response = User

    var path: RequestPath { "user" }
}

@Suite(.timeLimit(.minutes(20)))
struct APIServiceTests {
    private let transport = MockTransport { _ in .json(text: #"{"user_name": "Emily"}"#) }
    private let baseURL: URL
    private let tokens = TokenStore(BearerCredentials(token: "secret"))

    init() throws {
        baseURL = try #require(URL(string: "https://api.example.com/v1"))
    }

    @Test func addsItsServerCredentialsAndCoders() async throws {
        let service = APIService(transport, baseURL: baseURL) {
            $0.authenticated(with: tokens).decoder(.json(keys: .convertFromSnakeCase))
        }

        let user = try await service.request(GetUser())

        #expect(user.userName == "Emily")
        let request = try #require(transport.requests.first)
        #expect(request.url?.absoluteString == "https://api.example.com/v1/user")
        #expect(request.headerFields[.authorization] == "Bearer secret")
    }

    @Test func servicesOfOneNetworkDoNotShareCredentials() async throws {
        let other = try #require(URL(string: "https://other.example"))
        let network = transport.numbered()
        let first = APIService(network, baseURL: baseURL) { $0.authenticated(with: tokens) }
        let second = APIService(network, baseURL: other)

        try await first.data(HTTPRequestData(path: "user"))
        try await second.data(HTTPRequestData(path: "user"))
        try await first.data(HTTPRequestData(url: other))

        #expect(transport.requests.map(\.authority) == ["api.example.com", "other.example", "other.example"])
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["Bearer secret", nil, nil])
        #expect(transport.requests.map(\.number) == [1, 2, 3])
    }

    @Test func serverCanBeChanged() async throws {
        let staging = try #require(URL(string: "https://staging.example.com"))
        let server = SwitchableServer(baseURL)
        let services = [APIService(transport, server: server), APIService(transport, server: server)]

        try services[0].server.change(to: staging)
        try await services[1].data(HTTPRequestData(path: "user"))

        #expect(services[1].server === server)
        #expect(transport.requests.map(\.url?.absoluteString) == ["https://staging.example.com/user"])
    }

    @Test func isAComponentLikeItsStack() throws {
        let server = SwitchableServer(baseURL)
        let stack = transport.authenticated(with: tokens).timeout(.seconds(1)).server(baseURL: server)
        let service = APIService(transport, server: server) { $0.authenticated(with: tokens).timeout(.seconds(1)) }
        let request = HTTPRequestData(path: "user")

        #expect(service.resolved(request) == stack.resolved(request))
        #expect(service.principal(for: service.resolved(request)) == stack.principal(for: stack.resolved(request)))
        #expect(service.principal(for: service.resolved(request)) != nil)
        #expect(service.modifiers.count == stack.modifiers.count)
        #expect(service.requestOptions == stack.requestOptions)
        #expect(service.outline == stack.outline)
        #expect(service.diagnostics == stack.diagnostics)
    }

    @Test func keepsTheLaws() async throws {
        try await checkLaws { [baseURL] in AnyNetworkingComponent(APIService($0, baseURL: baseURL)) }
    }
}
