import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@Suite
struct StackCodersTests {
    private struct User: Codable, Equatable, Sendable {
        var firstName: String
        var joinedAt: Date
    }

    private struct Problem: Error, Codable, Equatable {
        var errorCode: Int
    }

    /// An encoder and decoder of text in which each value is one word.
    private struct WordCoder: BodyEncoder, BodyDecoder {
        func encode<Value: Encodable>(_ value: Value) throws -> Data {
            Data("word".utf8)
        }

        func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
            throw NetworkingError(.decoding, request: HTTPRequestData(), reason: "not a word")
        }
    }

    private let user = User(firstName: "Emily", joinedAt: Date(timeIntervalSince1970: 1_700_000_000.25))
    private let json = #"{"first_name":"Emily","joined_at":"2023-11-14T22:13:20.250Z"}"#

    private func network(_ transport: some NetworkingComponent) -> some NetworkingComponent {
        transport
            .decoder(.json(keys: .convertFromSnakeCase, dates: .iso8601WithFractions))
            .encoder(.json(keys: .convertToSnakeCase, dates: .iso8601WithFractions))
            .server(authority: "a.example")
    }

    @Test func decoderOfTheStackAppliesToEveryKindOfCall() async throws {
        let network = network(MockTransport { [json] _ in .text(json) })
        #expect(try await network.request(.get("users/1")) == user)
        #expect(try await network.value(.get("users/1"), as: User.self).body == user)
        #expect(try await network.request(HTTPRequestData.get("users/1"), as: User?.self) == user)
        #expect(try await network.data(.get("users/1")).json() == user)
        let mapped = Request(.get("users/1"), as: User.self) { $0.firstName }
        #expect(try await network.request(mapped) == "Emily")
        let own = Request<String>(.get("users/1")) { try $0.json(as: User.self).firstName }
        #expect(try await network.request(own) == "Emily")
        #expect(try await network.request(Request<User>(.get("users/1"))) == user)
        let named = Request(.get("users/1"), as: User.self) { $0.firstName }
        #expect(try await network.request(named) == "Emily")
    }

    @Test func optionsOfOneRequestDoNotReachAnother() {
        let network = network(MockTransport())
        var first = network.resolved(.get("users/1"))
        first.timeout = .seconds(1)
        let second = network.resolved(.get("users/2"))
        #expect(first.decoder != nil && first.timeout == .seconds(1))
        #expect(second.decoder != nil && second.timeout == nil)
        let third = network.resolved(HTTPRequestData.get("users/3").with(\.timeout, .seconds(3)))
        #expect(third.decoder != nil && third.timeout == .seconds(3))
    }

    @Test func decoderOfTheRequestTakesPrecedence() async throws {
        let network = network(MockTransport { _ in .text(#"{"firstName":"Emily","joinedAt":0}"#) })
        let plain = JSONDecoder()
        let expected = User(firstName: "Emily", joinedAt: Date(timeIntervalSinceReferenceDate: 0))
        #expect(try await network.request(HTTPRequestData.get("users/1"), as: User.self, decoder: plain) == expected)
        #expect(try await network.request(Request<User>(.get("users/1"), decoder: plain)) == expected)
        #expect(try await network.request(Request<User>.get("users/1").with(\.decoder, plain)) == expected)
        #expect(try await network.data(.get("users/1")).json(as: User.self, decoder: plain) == expected)
        await #expect(throws: NetworkingError.self) { try await network.request(Request<User>.get("users/1")) }
    }

    @Test func outerCoderTakesPrecedence() async throws {
        let transport = MockTransport { [json] _ in .text(json) }
        let outer = transport.decoder(WordCoder()).encoder(WordCoder(), contentType: "application/json")
        let network = network(outer)
        #expect(try await network.request(.post("users", body: .json(user))) == user)
        #expect(transport.requests.first?.body?.data == Data(json.utf8))
    }

    @Test func decoderOfTheStackAppliesToTheBodyOfAnError() async throws {
        let network = network(MockTransport { _ in .json(text: #"{"error_code":7}"#, status: .conflict) })
        let error = try #require(
            await #expect(throws: NetworkingError.self) { try await network.request(Request<User>.get("users/1")) }
        )
        #expect(try error.decodeBody(as: Problem.self) == Problem(errorCode: 7))
    }

    @Test func encoderOfTheStackWritesBodies() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = network(transport)
        try await network.perform(.post("users", body: .json(user)))
        try await network.perform(.post("users", body: .encoded(user)))
        try await network.perform(.post("users", body: .json(user, encoder: .json())))
        try await network.perform(.post("users", body: .data(Data("{}".utf8))))
        let bodies = transport.requests.map { $0.body?.data.map { String(decoding: $0, as: UTF8.self) } }
        #expect(bodies[0] == json)
        #expect(bodies[1] == json)
        #expect(bodies[2] == #"{"firstName":"Emily","joinedAt":721692800.25}"#)
        #expect(bodies[3] == "{}")
        #expect(
            transport.requests.map(\.headerFields[.contentType]) == [
                "application/json", "application/json", "application/json", "application/octet-stream",
            ]
        )
    }

    @Test func encoderOfAnotherFormatDoesNotApplyToJSON() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.encoder(WordCoder(), contentType: "text/x-word").server(authority: "a.example")
        try await network.perform(.post("words", body: .encoded(["a"])))
        try await network.perform(.post("words", body: .json(["a"])))
        #expect(transport.requests.map { $0.body?.data } == [Data("word".utf8), Data(#"["a"]"#.utf8)])
        #expect(transport.requests.map(\.headerFields[.contentType]) == ["text/x-word", "application/json"])
    }

    @Test func propertyListEncoderNamesItsMediaType() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.encoder(PropertyListEncoder()).server(authority: "a.example")
        try await network.perform(.post("words", body: .encoded(["a"])))
        try await network.perform(.post("words", body: .json(["a"])))
        #expect(transport.requests.map(\.headerFields[.contentType]) == ["application/x-plist", "application/json"])
    }

    @Test func bodyThatOnlyTheEncoderOfTheStackSupportsIsSent() async throws {
        let transport = MockTransport { _ in .ok() }
        let encoder = JSONEncoder()
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf",
            negativeInfinity: "-inf",
            nan: "nan"
        )
        let body = RequestBody.json([Double.nan])
        try await transport.encoder(encoder).perform(HTTPRequestData(method: .post, authority: "a.example", body: body))
        #expect(transport.requests.first?.body?.data == Data(#"["nan"]"#.utf8))
        let error = try #require(
            await #expect(throws: NetworkingError.self) {
                try await transport.perform(HTTPRequestData(method: .post, authority: "a.example", body: body))
            }
        )
        #expect(error.kind == .unencodableBody)
    }

    @Test func retrySendsTheSameBytes() async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .ok()])
        let network = transport.retry().encoder(.json(keys: .convertToSnakeCase)).server(authority: "a.example")
            .environment(\.clock, .immediate())
        try await network.perform(.put("users/1", body: .json(user)))
        #expect(transport.requests.count == 2)
        #expect(transport.requests.first?.body == transport.requests.last?.body)
    }

    @Test func concurrentTasksEncodeABodyOnce() async throws {
        let body = RequestBody.json(user)
        let lengths = await withTaskGroup(of: Int64?.self) { group in
            for _ in 0..<64 { group.addTask { body.length } }
            return await group.reduce(into: Set<Int64?>()) { $0.insert($1) }
        }
        #expect(lengths.count == 1)
        #expect(body == body)
        #expect(body == .json(user))
        #expect(body.isReplayable)
    }

    // MARK: Dates

    @Test(arguments: [
        ("2023-11-14T22:13:20Z", 1_700_000_000), ("2023-11-14T22:13:20.250Z", 1_700_000_000.25),
        ("2023-11-14T22:13:20.5Z", 1_700_000_000.5), ("2023-11-14T23:13:20+01:00", 1_700_000_000),
        ("2023-11-14T22:13:20.250250Z", 1_700_000_000.250_25),
        ("2023-11-14T22:13:20.999999999Z", 1_700_000_000.999_999_999),
        ("2023-11-14T23:13:20.250250250+01:00", 1_700_000_000.250_250_25),
    ])
    func readsDatesWithAndWithoutFractions(text: String, seconds: Double) throws {
        let decoder: JSONDecoder = .json(dates: .iso8601WithFractions)
        let date = try #require(try decoder.decode([Date].self, from: Data("[\"\(text)\"]".utf8)).first)
        #expect(abs(date.timeIntervalSince1970 - seconds) < 0.000_5)
    }

    @Test(arguments: ["yesterday", "", "2023-13-40T00:00:00Z", "1700000000"])
    func dateThatDoesNotParseIsADecodingError(text: String) async throws {
        let network = network(MockTransport { _ in .text(#"{"first_name":"Emily","joined_at":"\#(text)"}"#) })
        let error = try #require(
            await #expect(throws: NetworkingError.self) { try await network.request(Request<User>.get("users/1")) }
        )
        #expect(error.kind == .decoding)
        #expect(error.reason.contains("joinedAt"))
    }

    @Test func strategiesForBytesApply() throws {
        let encoder: JSONEncoder = .json(data: .deferredToData)
        #expect(try encoder.encode([Data([1, 2])]) == Data("[[1,2]]".utf8))
        let decoder: JSONDecoder = .json(data: .deferredToData)
        #expect(try decoder.decode([Data].self, from: Data("[[1,2]]".utf8)) == [Data([1, 2])])
    }

    // MARK: Errors of the app

    @Test func statusesThatAreNotAcceptedBecomeTheAppsError() async throws {
        let transport = MockTransport([
            .json(text: #"{"error_code":7}"#, status: .conflict), .json(text: "<html>", status: .badGateway),
            .json(text: #"{"error_code":8}"#, status: .unauthorized), .text(#"{"error_code":9}"#),
        ])
        let network = network(transport).checkedStatusCode(as: Problem.self)
        await #expect(throws: Problem(errorCode: 7)) { try await network.perform(.get("a")) }
        let error = try #require(await #expect(throws: NetworkingError.self) { try await network.perform(.get("a")) })
        #expect(error.response?.status == .badGateway)
        await #expect(throws: Problem(errorCode: 8)) { try await network.data(.get("a")) }
        #expect(try await network.data(.get("a")).status == .ok)
    }

    @Test func appsErrorMayHaveTheResponse() async throws {
        struct ShopError: Error, Equatable {
            var code: Int
            var status: Int
        }
        let network = network(MockTransport { _ in .json(text: #"{"errorCode":7}"#, status: .conflict) })
            .checkedStatusCode(as: Problem.self, decoder: JSONDecoder()) { problem, response in
                ShopError(code: problem.errorCode, status: response.status.code)
            }
        await #expect(throws: ShopError(code: 7, status: 409)) { try await network.perform(.get("a")) }
    }

    // MARK: Other results

    @Test func performThrowsForAStatusThatIsNotAccepted() async throws {
        let transport = MockTransport([.ok(), .status(.notFound), .status(.notFound)])
        let network = transport.server(authority: "a.example")
        #expect(try await network.perform(.delete("a")).status == .ok)
        await #expect(throws: NetworkingError.self) { try await network.perform(.delete("a")) }
        try await network.perform(HTTPRequestData.delete("a").with(\.acceptedStatuses, [404]))
    }

    @Test func resultsHoldTheValueOrTheError() async throws {
        let network = network(MockTransport([.text(json), .status(.notFound), .status(.notFound)]))
        #expect(try await network.result(of: Request<User>.get("users/1")).get() == user)
        let failure = await network.result(of: Request<User>.get("users/1"))
        #expect(throws: NetworkingError.self) { try failure.get() }
        #expect(try await network.result(of: HTTPRequestData.get("users/1")).get().status == .notFound)
        let broken = await network.result(of: HTTPRequestData(authority: ":::"))
        #expect(throws: NetworkingError.self) { try broken.get() }
    }

    @Test func responsesAreReadAsTextAndCheckedLater() async throws {
        let network = network(MockTransport { _ in .json(text: "Grüße", status: .conflict) })
        let response = try await network.data(.get("a"))
        #expect(response.text == "Grüße")
        let error = #expect(throws: NetworkingError.self) { try response.checkedStatus() }
        #expect(error?.kind == .status)
        #expect(try response.checkedStatus([409]).status == .conflict)
        let decoding = #expect(throws: NetworkingError.self) { try response.json(as: User.self) }
        #expect(decoding?.kind == .decoding)
    }

    @Test func prettyPrintedMessagesBreakJSONIntoLinesWithoutSecrets() async throws {
        let transport = MockTransport { _ in .text(#"{"name":"Emily","password":"secret-1"}"#) }
        var request = HTTPRequestData.post(
            "users",
            headers: [.authorization(bearer: "secret-2")],
            body: .json(["password": "secret-3", "name": "Emily"])
        )
        request.authority = "a.example"
        let response = try await transport.data(request)
        #expect(request.prettyPrinted.hasPrefix("POST https://a.example/users\n"))
        #expect(
            request.prettyPrinted.contains("\n  \"name\" : \"Emily\"")
                || request.prettyPrinted.contains("\"name\": \"Emily\"")
        )
        #expect(response.prettyPrinted.hasPrefix("200 OK\n"))
        #expect(response.prettyPrinted.split(separator: "\n").count > 4)
        for text in [request.prettyPrinted, response.prettyPrinted] {
            #expect(!text.contains("secret-"))
        }
    }
}
