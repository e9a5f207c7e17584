import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// Credentials that a modifier of the app sets in `resolve`, for a user that no principal names.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct ResolvedCredentialTests {
    enum Credential: CaseIterable {
        case field, unmarkedField, cookie, fieldOfTheApp, queryItem, unmarkedQueryItem, queryItemOfTheApp

        func set(_ user: String, in request: inout HTTPRequestData) {
            switch self {
            case .field: request.setCredential("Bearer \(user)", for: .authorization)
            case .unmarkedField: request.headerFields[.authorization] = "Bearer \(user)"
            case .cookie: request.headerFields[.cookie] = "session=\(user)"
            case .fieldOfTheApp: request.setCredential(user, for: HTTPField.Name("X-Ticket")!)
            case .queryItem: request.setCredential(user, forQueryItem: "access_token")
            case .unmarkedQueryItem: request.query["access_token"] = user
            case .queryItemOfTheApp: request.setCredential(user, forQueryItem: "u")
            }
        }
    }

    enum Part: CaseIterable {
        case cachedInMemory, cachedInAStore, deduplicated

        func added(to network: some NetworkingComponent) -> AnyNetworkingComponent {
            switch self {
            case .cachedInMemory: AnyNetworkingComponent(network.cached())
            case .cachedInAStore:
                AnyNetworkingComponent(network.cached(in: StackedCacheStore(over: MemoryCacheStore())))
            case .deduplicated: AnyNetworkingComponent(network.deduplicated())
            }
        }
    }

    struct Order: CustomTestStringConvertible {
        let part: Part
        let isOutside: Bool

        static let all = Part.allCases.flatMap { part in
            [true, false].map { Order(part: part, isOutside: $0) }
        }

        var testDescription: String {
            "\(part) \(isOutside ? "outside" : "inside")"
        }
    }

    private struct Adding: NetworkingModifier {
        let credential: Credential
        let user: Locked<String>

        func resolve(_ request: inout HTTPRequestData) {
            credential.set(user.value, in: &request)
        }
    }

    private let user = Locked("alice")

    private func stack(_ transport: MockTransport, _ credential: Credential, _ order: Order) -> AnyNetworkingComponent {
        let adding = Adding(credential: credential, user: user)
        let network =
            order.isOutside
            ? AnyNetworkingComponent(order.part.added(to: transport.modified(adding)))
            : AnyNetworkingComponent(order.part.added(to: transport).modified(adding))
        return AnyNetworkingComponent(network.server(authority: "api.example.com"))
    }

    private func isFor(_ user: String, _ request: HTTPRequestData) -> Bool {
        request.target?.contains(user) == true || request.headerFields.httpFields.contains { $0.value.contains(user) }
    }

    private func transport(_ gate: MockGate? = nil) -> MockTransport {
        MockTransport { request in
            try await gate?.wait()
            let user = ["alice", "bob"].filter { isFor($0, request) }.joined()
            return .text(user).headerFields([.cacheControl: "max-age=100"])
        }
    }

    @Test(arguments: Order.all, Credential.allCases)
    func userGetsNoResponseOfAnotherUser(order: Order, credential: Credential) async throws {
        let transport = transport()
        let network = stack(transport, credential, order)
        for name in ["alice", "bob", "alice"] {
            user.withLock { $0 = name }
            #expect(try await network.data(HTTPRequestData(path: "me")).text == name)
        }
    }

    @Test(arguments: Order.all, Credential.allCases)
    func userDoesNotJoinARequestOfAnotherUser(order: Order, credential: Credential) async throws {
        let gate = MockGate()
        let transport = transport(gate)
        let network = stack(transport, credential, order)
        let alice = Task { try await network.data(HTTPRequestData(path: "me")) }
        try await transport.waitForRequests(1)
        user.withLock { $0 = "bob" }
        let bob = Task { try await network.data(HTTPRequestData(path: "me")) }
        try await eventually("both requests are sent") { transport.requests.count == 2 }
        gate.open()
        #expect(try await alice.value.text == "alice")
        #expect(try await bob.value.text == "bob")
    }

    /// Both responses are for the user for whom the iteration began.
    @Test(arguments: Credential.allCases)
    func freshResponseIsForTheUserOfTheStoredOne(credential: Credential) async throws {
        let transport = transport()
        let network = stack(transport, credential, Order(part: .cachedInMemory, isOutside: true))
        let request = HTTPRequestData(path: "me")
        try await network.data(request)
        for try await response in network.storedThenFresh(request) {
            #expect(response.text == "alice")
            user.withLock { $0 = "bob" }
        }
        #expect(transport.requests.count == 2)
        #expect(transport.requests.allSatisfy { isFor("alice", $0) })
    }
}
