import Foundation
import Networking
import NetworkingTesting
import Testing

@Suite(.timeLimit(.minutes(20)))
struct ServerTests {
    private let transport = MockTransport { _ in .ok() }

    @Test func propertyIsChangedThroughItsKeyPath() async throws {
        let network = transport.server(mutate: \.maximumResponseBytes) { $0 / 2 }

        try await network.data(.lawful.with { $0.maximumResponseBytes = 10 })

        #expect(transport.requests.map(\.maximumResponseBytes) == [5])
    }

    @Test func requestIsChangedByAClosure() async throws {
        let network = transport.server { request in
            request.query.language = "en"
            request.headerFields[.acceptLanguage] = "en"
        }

        try await network.data(HTTPRequestData(authority: "api.example.com", path: "users?page=2"))

        #expect(transport.requests.map(\.url?.absoluteString) == ["https://api.example.com/users?page=2&language=en"])
        #expect(transport.requests.map { $0.headerFields[.acceptLanguage] } == ["en"])
    }

    @Test func pathInsideOfAPrefixHasADiagnostic() throws {
        let base = try #require(URL(string: "https://api.example.com/v1"))
        let root = try #require(URL(string: "https://api.example.com"))
        let useless = [
            AnyNetworkingComponent(transport.server(path: "index").server(prefixPath: "v1")),
            AnyNetworkingComponent(transport.server(path: "index").server(baseURL: base)),
        ]
        for network in useless {
            #expect(network.diagnostics.map(\.message).contains { $0.contains("has no effect") })
        }
        let useful = [
            AnyNetworkingComponent(transport.server(prefixPath: "v1").server(path: "index")),
            AnyNetworkingComponent(transport.server(path: "index").server(baseURL: root)),
            AnyNetworkingComponent(transport.server(path: "index", overriding: true).server(prefixPath: "v1")),
        ]
        for network in useful {
            #expect(!network.diagnostics.map(\.message).contains { $0.contains("has no effect") })
        }
    }

    /// The ancestor library applied each mutation again for every modifier outside of it.
    @Test(arguments: [0, 1, 5])
    func mutationIsAppliedOnceWithOuterModifiers(count: Int) async throws {
        var network = AnyNetworkingComponent(
            transport.server { $0.headerFields.append(name: .acceptLanguage, value: "en") }.server(prefixPath: "v1")
        )
        for _ in 0..<count {
            network = AnyNetworkingComponent(network.numbered().logged(using: .silent))
        }

        try await network.server(authority: "api.example.com").data(HTTPRequestData(path: "users"))

        #expect(transport.requests.map { $0.headerFields[values: .acceptLanguage] } == [["en"]])
        #expect(transport.requests.map(\.path) == ["/v1/users"])
    }

    @Test func disabledMutationsDoNotChangeTheRequest() async throws {
        let network =
            transport
            .server(baseURL: try #require(URL(string: "https://api.example.com/v1")))
            .server(headerField: .accept, "application/json", overriding: true)
            .server(userAgent: "Shop/2.1")
            .server(authenticationMethod: .bearer, overriding: true)
            .server(queryEncoding: .form)
            .server(mutate: \.maximumResponseBytes) { _ in 1 }
            .server { $0.authority = "elsewhere.example" }
        let request = HTTPRequestData(authority: "laws.example", path: "check?a=b%20c")
            .with { $0.serverMutations = .disabled }

        try await network.data(request)

        let sent = try #require(transport.requests.first)
        #expect(sent.url?.absoluteString == "https://laws.example/check?a=b%20c")
        #expect(sent.headerFields.isEmpty)
        #expect(sent.authenticationMethod == nil)
        #expect(sent.maximumResponseBytes == 64 << 20)
    }

    @Test func disabledMutationsDoNotFillAnAuthority() async {
        let network = transport.server(authority: "api.example.com")

        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(HTTPRequestData(path: "users").with { $0.serverMutations = .disabled })
        }

        #expect(error?.kind == .invalidRequest)
    }

    @Test(
        arguments: [
            (nil, false, .bearer), (.basic, false, .basic), (nil, true, .bearer), (.basic, true, .bearer),
        ] as [(AuthenticationMethod?, Bool, AuthenticationMethod)]
    )
    func authenticationMethodIsFilledOrOverridden(
        own: AuthenticationMethod?,
        overriding: Bool,
        expected: AuthenticationMethod
    ) async throws {
        let network = transport.server(authenticationMethod: .bearer, overriding: overriding)

        try await network.data(.lawful.with { $0.authenticationMethod = own })

        #expect(transport.requests.map(\.authenticationMethod) == [expected])
    }

    @Test func outermostMutationIsAppliedFirst() {
        let network =
            transport
            .server { $0.headerFields.append(name: .via, value: "inner") }
            .server { $0.headerFields.append(name: .via, value: "outer") }

        #expect(network.resolved(.lawful).headerFields[values: .via] == ["outer", "inner"])
    }
}
