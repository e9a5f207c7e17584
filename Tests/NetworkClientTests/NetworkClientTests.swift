import Foundation
import NetworkClient
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct NetworkClientTests {
    @Test func missingClientIsExplainedInTheError() async throws {
        let error = await #expect(throws: NetworkingError.self) { try await AddressAPI().address("203.0.113.7") }
        #expect(error?.kind == .unimplemented)
        let message = "\(try #require(error))"
        #expect(
            message
                == "GET https://ipinfo.io/203.0.113.7: The request cannot be sent because a "
                + "NetworkClient (withNetworkClient, an initializer, "
                + "or SwiftUI's environment) was never provided. Provide URLSession.shared, or a MockTransport in a test."
        )
    }

    @Test func apiUsesTheClientOfItsTask() async throws {
        let transport = MockTransport()
        transport.on(.get, "/203.0.113.7") { _ in .json(Address(city: "Utrecht")) }
        try await withNetworkClient(transport) {
            let address = try await AddressAPI().address("203.0.113.7")
            #expect(address == Address(city: "Utrecht"))
        }
        #expect(transport.requests.map(\.url?.absoluteString) == ["https://ipinfo.io/203.0.113.7"])
        #expect(transport.requests.first?.headerFields[.authorization] == "Bearer token")
    }

    @Test func apiUsesAnExplicitClient() async throws {
        let transport = MockTransport([.json(Address(city: "Lima"))])
        let api = AddressAPI(NetworkClient(transport))
        #expect(try await api.address(nil) == Address(city: "Lima"))
        #expect(transport.requests.map(\.path) == ["/"])
    }

    @Test func childTasksInheritTheClientAndSiblingsDoNot() async throws {
        let (first, second) = (MockTransport { _ in .text("first") }, MockTransport { _ in .text("second") })
        async let one = withNetworkClient(first) {
            async let child = text()
            return try await child
        }
        async let other = withNetworkClient(second) {
            try await withThrowingTaskGroup { group in
                group.addTask { try await text() }
                return try await group.next()
            }
        }
        #expect(try await one == "first")
        #expect(try await other == "second")
        #expect(NetworkClient.current.network() is UnimplementedTransport)
    }

    @Test func innerScopeReplacesTheClientUntilItEnds() async throws {
        try await withNetworkClient(MockTransport { _ in .text("outer") }) {
            try await withNetworkClient(MockTransport { _ in .text("inner") }) {
                let inner = try await text()
                #expect(inner == "inner")
            }
            let outer = try await text()
            #expect(outer == "outer")
        }
    }

    @Test func apiKeepsTheClientOfItsCreation() async throws {
        let api = await withNetworkClient(MockTransport { _ in .json(Address(city: "Oslo")) }) { AddressAPI() }
        #expect(try await api.address(nil).city == "Oslo")
    }

    @Test func closureOfTheClientIsCalledForEachNetwork() async throws {
        let recorder = RequestRecorder()
        var client = NetworkClient { MockTransport([.ok()]).recorded(by: recorder) }
        _ = try await client.network().data(HTTPRequestData(authority: "a.example"))
        _ = try await client.network().data(HTTPRequestData(authority: "b.example"))
        #expect(recorder.requests.map(\.authority) == ["a.example", "b.example"])
        client.network = { MockTransport { _ in .text("another") } }
        #expect(try await client.network().data(HTTPRequestData(authority: "a.example")).data.count == 7)
    }

    @MainActor @Test func scopeRunsOnTheCallersActor() async throws {
        let value = await withNetworkClient(.unimplemented) {
            MainActor.preconditionIsolated()
            return 1
        }
        #expect(value == 1)
    }

    private func text() async throws -> String {
        let response = try await NetworkClient.current.network().data(HTTPRequestData(authority: "api.example.com"))
        return String(decoding: response.data, as: UTF8.self)
    }
}

/// An API client of an app.
struct AddressAPI: Sendable {
    private let network: any NetworkingComponent

    init(_ client: NetworkClient = .current) {
        network = client.network()
            .server(headerField: .authorization, "Bearer token")
            .server(headerField: .accept, "application/json")
            .server(authority: "ipinfo.io")
    }

    func address(_ address: String?) async throws -> Address {
        try await network.value(Request(HTTPRequestData(path: address ?? "/"))).body
    }
}

struct Address: Codable, Sendable, Equatable {
    let city: String
}
