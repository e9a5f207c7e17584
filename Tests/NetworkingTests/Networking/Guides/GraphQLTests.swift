import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

// The code of `Documentation/Endpoints.md`.

private struct GraphQLQuery<Variables: Encodable & Sendable>: Encodable, Sendable {
    let query: String
    let variables: Variables
}

private struct GraphQLResult<Value: Decodable & Sendable>: Decodable, Sendable {
    let data: Value?
    let errors: [GraphQLError]?
}

private struct GraphQLError: Error, Decodable, Equatable {
    let message: String
}

extension Request where Response: Decodable & Sendable {
    fileprivate static func graphQL(_ query: String, variables: some Encodable & Sendable) -> Request {
        let body = RequestBody.json(GraphQLQuery(query: query, variables: variables))
        return Request(.post("graphql", body: body), as: GraphQLResult<Response>.self) { result in
            if let error = result.errors?.first { throw error }
            guard let value = result.data else { throw GraphQLError(message: "The result has no data.") }
            return value
        }
    }
}

@Suite
struct GraphQLTests {
    private struct UserData: Codable, Equatable, Sendable {
        let user: String
    }

    private func user(from json: String, status: HTTPResponse.Status = .ok) async throws -> (UserData, MockTransport) {
        let transport = MockTransport { _ in .json(text: json, status: status) }
        let network = transport.server(authority: "a.example")
        let request = Request<UserData>.graphQL("query($id: ID!) { user(id: $id) }", variables: ["id": "42"])
        return (try await network.request(request), transport)
    }

    @Test func dataIsTheValueOfTheQuery() async throws {
        let (user, transport) = try await user(from: #"{"data":{"user":"Emily"}}"#)
        #expect(user == UserData(user: "Emily"))
        let request = try #require(transport.requests.first)
        #expect(request.method == .post)
        #expect(request.path == "/graphql")
        let body = try #require(request.body?.data)
        #expect(String(decoding: body, as: UTF8.self).contains(#""variables":{"id":"42"}"#))
    }

    @Test(arguments: [
        #"{"errors":[{"message":"no such user"},{"message":"other"}]}"#,
        #"{"data":null,"errors":[{"message":"no such user","path":["user"]}]}"#,
        #"{"data":{"user":"Emily"},"errors":[{"message":"no such user"}]}"#,
    ])
    func firstErrorIsThrown(json: String) async throws {
        await #expect(throws: GraphQLError(message: "no such user")) { try await user(from: json) }
    }

    @Test(arguments: [#"{"data":null}"#, "{}", #"{"data":null,"errors":[]}"#])
    func resultWithoutDataIsAnError(json: String) async throws {
        await #expect(throws: GraphQLError(message: "The result has no data.")) { try await user(from: json) }
    }

    @Test func dataOfAnotherTypeIsADecodingError() async throws {
        let error = await #expect(throws: NetworkingError.self) { try await user(from: #"{"data":{"user":7}}"#) }
        #expect(error?.kind == .decoding)
    }

    @Test func refusedStatusIsAnErrorOfTheCall() async throws {
        let error = await #expect(throws: NetworkingError.self) { try await user(from: "{}", status: .badGateway) }
        #expect(error?.kind == .status)
    }
}
