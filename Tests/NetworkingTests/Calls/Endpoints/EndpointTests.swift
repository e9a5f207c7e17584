import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

private struct User: Codable, Equatable, Sendable {
    var id = 42
    var userName = "Emily"
}

extension Request where Response == User {
    fileprivate static func user(id: Int) -> Self {
        Request(HTTPRequestData(path: "users/\(id)"))
    }
}

private struct GetUser: Endpoint {
    typealias Response = User
    let id: String

    var path: RequestPath { "users/\(id)" }
}

private struct CreateUser: Endpoint {
    typealias Response = Void
    let user: User

    var method: HTTPRequest.Method { .post }
    var path: RequestPath { "users?source=app" }
    var query: RequestQuery { ["notify": true, "tag": ["a", "b"], "missing": String?.none] }
    var headers: HeaderFields { [.acceptLanguage: "de"] }
    var body: RequestBody? { .json(user) }

    func configure(_ request: inout HTTPRequestData) {
        request.timeout = .seconds(5)
        request.acceptedStatuses = [201]
    }
}

private struct SnakeCaseUser: Endpoint {
    typealias Response = User

    var path: RequestPath { "user" }
    var decoder: (any BodyDecoder)? { JSONDecoder.json(keys: .convertFromSnakeCase) }
}

/// Notes the address of the bytes.
private struct AddressDecoder: BodyDecoder {
    let address = Locked<UInt?>(nil)

    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        address.withLock { $0 = data.address }
        return try JSONDecoder().decode(type, from: data)
    }
}

extension Data {
    fileprivate var address: UInt {
        withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    }
}

private struct NamedUser: Endpoint {
    typealias Response = String

    struct Refused: Error {}

    var path: RequestPath { "user" }

    func decode(_ response: HTTPResponseData) throws -> String {
        guard !response.data.isEmpty else { throw Refused() }
        return try response.json(as: User.self).userName
    }
}

/// An API as an enumeration, with calls that name the type to decode.
private enum Shop: Endpoint {
    typealias Response = HTTPResponseData

    case user(Int)
    case names

    var path: RequestPath {
        switch self {
        case .user(let id): "users/\(id)"
        case .names: "names"
        }
    }
}

private struct FreshNews: Endpoint {
    typealias Response = Void

    var path: RequestPath { "news" }
    var options: [EndpointOption] {
        [.set(\.cacheMode, .reload), .set(\.retryPolicy, .immediate(maximumRetries: 1)), .set(\.timeout, .seconds(5))]
    }

    func configure(_ request: inout HTTPRequestData) {
        request.timeout = .seconds(7)
    }
}

@Suite(.timeLimit(.minutes(20)))
struct EndpointTests {
    private let transport = MockTransport { _ in .json(User()) }

    private var network: some NetworkingComponent {
        transport.server(authority: "api.example.com")
    }

    // MARK: Requests

    @Test func hasDefaultsForAllButPathAndResponse() throws {
        let endpoint = GetUser(id: "42")
        #expect(endpoint.method == .get)
        #expect(endpoint.query.isEmpty)
        #expect(endpoint.headers.isEmpty)
        #expect(endpoint.body == nil)
        #expect(endpoint.decoder == nil)
        #expect(endpoint.options.isEmpty)

        let request = HTTPRequestData(endpoint)
        #expect(request == HTTPRequestData(path: "users/42"))
        #expect(request.decoder == nil)
        #expect(Request(endpoint).http == request)
    }

    @Test func sendsAllPartsOfTheRequest() async throws {
        let transport = MockTransport { _ in .status(.created) }
        let user = User()

        try await transport.server(authority: "api.example.com").request(CreateUser(user: user))

        let request = try #require(transport.requests.first)
        #expect(request.method == .post)
        let url = "https://api.example.com/users?source=app&notify=true&tag=a&tag=b"
        #expect(request.url?.absoluteString == url)
        #expect(request.headerFields[.acceptLanguage] == "de")
        #expect(request.headerFields[.contentType] == "application/json")
        #expect(try JSONDecoder().decode(User.self, from: #require(request.body?.data)) == user)
        #expect(request.timeout == .seconds(5))
    }

    @Test func optionsReachTheCacheAndTheRetriesOfTheStack() async throws {
        let transport = MockTransport([
            .text("old").headerFields([.cacheControl: "max-age=60"]), .status(.serviceUnavailable), .text("new"),
        ])
        let network = transport.cached().retry(.never).server(authority: "api.example.com")
        #expect(try await network.data(.get("news")).text == "old")
        #expect(try await network.data(.get("news")).isCached)

        // The cache is not asked, and the policy of the endpoint replaces that of the stack.
        try await network.request(FreshNews())

        #expect(transport.requests.count == 3)
        // `configure` comes last.
        #expect(HTTPRequestData(FreshNews()).timeout == .seconds(7))
    }

    @Test func escapesValuesInThePath() async throws {
        _ = try await network.request(GetUser(id: "a/b?c"))

        #expect(transport.requests.map(\.path) == ["/users/a%2Fb%3Fc"])
    }

    @Test func sendsNothingIfAValueChangesThePath() async throws {
        let error = await #expect(throws: NetworkingError.self) { try await network.request(GetUser(id: "..")) }

        #expect(error?.kind == .invalidRequest)
        #expect(transport.requests.isEmpty)
    }

    // MARK: Responses

    @Test func everyCallDecodesTheResponse() async throws {
        let endpoint = GetUser(id: "42")

        let (body, response) = try await network.value(endpoint)
        #expect(body == User())
        #expect(response.status == .ok)
        #expect(try await network.request(endpoint) == User())
        #expect(try await network.result(of: endpoint).get() == User())
        #expect(try await network.request(Request(endpoint)) == User())
        #expect(try await network.data(endpoint).json(as: User.self) == User())
    }

    @Test func typedRequestsAreStillFoundByTheirStaticMembers() async throws {
        #expect(try await network.request(.user(id: 1)) == User())
        #expect(try await network.value(.user(id: 2)).body == User())
        #expect(try await network.request(.get("users/3"), as: User.self) == User())
        #expect(transport.requests.map(\.path) == ["/users/1", "/users/2", "/users/3"])
    }

    @Test func existentialEndpointHasItsResponseType() async throws {
        let endpoint: any Endpoint<User> = GetUser(id: "42")

        let user = try await network.request(endpoint)

        #expect(user == User())
    }

    @Test func usesItsDecoderAndThenThatOfTheStack() async throws {
        let transport = MockTransport { _ in .json(text: #"{"id": 7, "user_name": "Ada"}"#) }
        let network = transport.server(authority: "api.example.com")
        let ada = User(id: 7, userName: "Ada")

        #expect(try await network.request(SnakeCaseUser()) == ada)
        #expect(HTTPRequestData(SnakeCaseUser()).decoder != nil)
        let error = await #expect(throws: NetworkingError.self) { try await network.request(GetUser(id: "7")) }
        #expect(error?.kind == .decoding)
        let decoding = network.decoder(.json(keys: .convertFromSnakeCase))
        #expect(try await decoding.request(GetUser(id: "7")) == ada)
        #expect(try await decoding.request(Shop.user(7), as: User.self) == ada)
    }

    @Test func bodyReachesTheDecoderWithoutACopy() async throws {
        let user = User(userName: String(repeating: "e", count: 100_000))
        let body = try JSONEncoder().encode(user)
        let decoder = AddressDecoder()
        let network = MockTransport { _ in .ok(body) }.deduplicated().cached().retry().logged().decoder(decoder)
            .server(authority: "api.example.com")
        #expect(try await network.request(.user(id: 42)) == user)
        #expect(decoder.address.withLock { $0 } == body.address)
    }

    @Test func enumerationDecodesToTheTypeOfTheCall() async throws {
        let transport = MockTransport()
        transport.on(.get, "/users/42", .json(User()))
        transport.on(.get, "/names", .json(["Emily"]))
        let network = transport.server(authority: "api.example.com")

        #expect(try await network.request(Shop.user(42), as: User.self) == User())
        let (names, response) = try await network.value(Shop.names.request(as: [String].self))
        #expect(names == ["Emily"])
        #expect(response.request.path == "/names")
        #expect(try await network.request(Shop.names).json(as: [String].self) == ["Emily"])
    }

    @Test func decoderOfTheCallTakesPrecedence() async throws {
        let transport = MockTransport { _ in .json(text: #"{"id": 7, "user_name": "Ada"}"#) }
        let network = transport.server(authority: "api.example.com")
        let decoder = JSONDecoder.json(keys: .convertFromSnakeCase)

        #expect(try await network.request(Shop.user(7), as: User.self, decoder: decoder).userName == "Ada")
        #expect(try await network.value(Shop.user(7).request(as: User.self, decoder: decoder)).body.userName == "Ada")
    }

    // MARK: Errors

    @Test func statusThatTheEndpointDoesNotAcceptIsAnError() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.server(authority: "api.example.com")

        let error = await #expect(throws: NetworkingError.self) {
            try await network.request(CreateUser(user: User()))
        }
        #expect(error?.kind == .status)
        #expect(try await network.data(CreateUser(user: User())).status == .ok)
    }

    @Test func performThrowsForAStatusThatIsNotAccepted() async throws {
        let transport = MockTransport([.ok(), .status(.notFound)])
        let network = transport.server(authority: "api.example.com")
        #expect(try await network.perform(Shop.names).status == .ok)
        let error = await #expect(throws: NetworkingError.self) { try await network.perform(Shop.names) }
        #expect(error?.kind == .status)
    }

    @Test func resultContainsTheErrorOfTheCall() async throws {
        let transport = MockTransport { _ in .status(.notFound) }

        let result = await transport.server(authority: "api.example.com").result(of: GetUser(id: "42"))

        let error = #expect(throws: NetworkingError.self) { try result.get() }
        #expect(error?.response?.status == .notFound)
    }

    @Test func resultNamesTheTypeOfTheBody() async throws {
        #expect(try await network.result(of: Shop.user(42).request(as: User.self)).get() == User())
        let decoder = JSONDecoder.json(keys: .convertFromSnakeCase)
        let transport = MockTransport([.json(text: #"{"id": 7, "user_name": "Ada"}"#), .status(.notFound), .text("{")])
        let network = transport.server(authority: "api.example.com")
        #expect(
            try await network.result(of: Shop.user(7).request(as: User.self, decoder: decoder)).get().userName == "Ada"
        )
        #expect(await network.result(of: Shop.user(7).request(as: User.self)).networkingError?.kind == .status)
        #expect(await network.result(of: Shop.user(7).request(as: User.self)).networkingError?.kind == .decoding)
    }

    @Test func customDecodingMayThrowCustomErrors() async throws {
        #expect(try await network.request(NamedUser()) == "Emily")

        let empty = MockTransport { _ in .ok() }.server(authority: "api.example.com")
        await #expect(throws: NamedUser.Refused.self) { try await empty.request(NamedUser()) }
        let malformed = MockTransport { _ in .text("{") }.server(authority: "api.example.com")
        let error = await #expect(throws: NetworkingError.self) { try await malformed.request(NamedUser()) }
        #expect(error?.kind == .decoding)
    }
}
