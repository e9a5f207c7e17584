import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@Suite(.timeLimit(.minutes(20)))
struct RequestTests {
    private let http = HTTPRequestData(authority: "example.com", path: "users/42")

    private struct User: Codable, Equatable {
        var name: String
    }

    private struct UserDTO: Decodable {
        var firstName: String
    }

    private struct Rejected: Error {}

    private func network(_ json: String) -> MockTransport {
        MockTransport { _ in .ok(Data(json.utf8)) }
    }

    @Test func decodesJSONByDefault() async throws {
        let user = try await network(#"{"name":"Emily"}"#).request(Request<User>(http))
        #expect(user == User(name: "Emily"))
    }

    @Test func decodesWithAnotherDecoder() async throws {
        let data = try PropertyListEncoder().encode(User(name: "Emily"))
        let transport = MockTransport { _ in .ok(data) }
        #expect(try await transport.request(Request<User>(http, decoder: PropertyListDecoder())).name == "Emily")
    }

    @Test func doesNotChangeTheDecoderOfTheCaller() async throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.dateDecodingStrategy = .iso8601
        decoder.userInfo = [:]
        let request = Request(http, as: UserDTO.self, decoder: decoder) { $0.firstName }
        #expect(try await network(#"{"first_name":"Emily"}"#).request(request) == "Emily")
        guard case .convertFromSnakeCase = decoder.keyDecodingStrategy, case .iso8601 = decoder.dateDecodingStrategy
        else {
            Issue.record("The decoder was changed.")
            return
        }
        #expect(decoder.userInfo.isEmpty)
    }

    @Test func transformsATransportObjectIntoADomainValue() async throws {
        let request = Request(http, as: UserDTO.self) { User(name: $0.firstName) }
        #expect(try await network(#"{"firstName":"Emily"}"#).request(request) == User(name: "Emily"))
    }

    @Test func errorOfATransformIsThrownUnchanged() async {
        let request = Request<User>(http, as: UserDTO.self) { _ in throw Rejected() }
        await #expect(throws: Rejected.self) { try await network(#"{"firstName":"Emily"}"#).request(request) }
    }

    @Test func readsTheWholeResponse() async throws {
        let transport = MockTransport { _ in .ok(headerFields: [.eTag: "\"1\""]) }
        let request = Request<String?>(http) { $0.headerFields[.eTag] }
        #expect(try await transport.request(request) == "\"1\"")
    }

    @Test(arguments: ["", "garbage", "{}"])
    func needsNoBodyForNoValue(body: String) async throws {
        try await network(body).request(Request<Void>(http))
        let (_, response) = try await network(body).value(Request<Void>(http))
        #expect(response.data == Data(body.utf8))
    }

    @Test func sendsItsRequest() async throws {
        let transport = network("{}")
        var request = Request<Void>(http)
        request.http.method = .delete
        try await transport.request(request)
        #expect(transport.requests == [request.http].map { transport.resolved($0) })
        #expect(transport.requests.first?.id == http.id)
    }
}
