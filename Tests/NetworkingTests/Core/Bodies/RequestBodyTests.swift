import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20)))
struct RequestBodyTests {
    @Test func holdsBytes() {
        let body = RequestBody.data(Data([1, 2, 3]))
        #expect(body.data == Data([1, 2, 3]))
        #expect(body.length == 3)
        #expect(body.isReplayable)
        #expect(body.contentType == "application/octet-stream")
        #expect(RequestBody.data(Data(), contentType: "image/png").contentType == "image/png")
        #expect(RequestBody.data(Data()).length == 0)
    }

    // MARK: JSON

    @Test func writesJSONWithSortedKeysAndPlainSlashes() {
        let body = RequestBody.json(["b": "https://x/", "a": "ü", "c": "\""])
        #expect(body.data == Data(#"{"a":"ü","b":"https://x/","c":"\""}"#.utf8))
        #expect(body.contentType == "application/json")
        #expect(body.length == Int64(body.data?.count ?? -1))
        #expect(body.isReplayable)
    }

    @Test func equalValuesEncodeToEqualJSON() {
        let pairs = (0..<50).map { ("key\($0)", $0) }
        let one = Dictionary(uniqueKeysWithValues: pairs)
        let other = Dictionary(uniqueKeysWithValues: pairs.reversed())
        #expect(RequestBody.json(one) == .json(other))
        #expect(RequestBody.json(one).hashValue == RequestBody.json(other).hashValue)
    }

    @Test func encodesWithTheCallersEncoder() {
        struct Message: Encodable {
            let sentAt = Date(timeIntervalSince1970: 0)
        }
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.dateEncodingStrategy = .secondsSince1970
        #expect(RequestBody.json(Message(), encoder: encoder).data == Data(#"{"sent_at":0}"#.utf8))
    }

    @Test func encodesOnce() async throws {
        let counter = EncodingCounter()
        let body = RequestBody.json(counter)
        let transport = MockTransport { _ in .ok() }
        for _ in 0..<3 {
            try await transport.data(HTTPRequestData(method: .post, authority: "example.com", body: body))
        }
        #expect(counter.count == 1)
        #expect(Set(transport.requests.map(\.body)).count == 1)
    }

    @Test func valueThatCannotBeEncodedFailsTheSend() async {
        let body = RequestBody.json(Double.nan)
        #expect(body.data == nil)
        #expect(body.length == nil)
        #expect(!body.isReplayable)
        let transport = MockTransport { _ in .ok() }
        let error = await #expect(throws: NetworkingError.self) {
            try await transport.data(HTTPRequestData(method: .post, authority: "example.com", body: body))
        }
        #expect(error?.kind == .unencodableBody)
        #expect(error?.underlying is EncodingError)
        #expect(error?.request.body == body)
        #expect(transport.requests.isEmpty)
    }

    // MARK: Forms

    /// The ancestor library did not encode the body of OAuth requests.
    @Test(arguments: [
        ("a b", "a+b"),
        ("a+b", "a%2Bb"),
        ("&=+ %", "%26%3D%2B+%25"),
        ("*-._", "*-._"),
        ("~!'()/:?#[]@$,;", "%7E%21%27%28%29%2F%3A%3F%23%5B%5D%40%24%2C%3B"),
        ("ü", "%C3%BC"),
        ("👋", "%F0%9F%91%8B"),
        ("\r\n\0", "%0D%0A%00"),
        ("  ", "++"),
        ("", ""),
        ("=\u{301}&\u{301} \u{301}", "%3D%CC%81%26%CC%81+%CC%81"),
    ])
    func writesFormsByTheRulesOfWHATWG(text: String, encoded: String) {
        #expect(RequestBody.form([text: text]).data == Data("\(encoded)=\(encoded)".utf8))
        #expect(RequestBody.form([URLQueryItem(name: text, value: text)]) == .form([text: text]))
    }

    @Test func keepsOrderAndRepetitionOfAForm() {
        let body = RequestBody.form(["b": "1", "a": "2", "b": "3"])
        #expect(body.data == Data("b=1&a=2&b=3".utf8))
        #expect(body.contentType == "application/x-www-form-urlencoded")
        #expect(RequestBody.form([URLQueryItem(name: "a", value: nil)]).data == Data("a=".utf8))
        #expect(RequestBody.form([:]).data == Data())
    }

    @Test func formHasValuesOfSeveralTypes() {
        let cursor: String? = nil
        let body = RequestBody.form(
            [
                "user": "Zoë", "page": 1, "all": true, "tag": ["a b", "c"], "cursor": cursor, "none": nil,
                "none": [String](),
            ]
        )
        #expect(body.data == Data("user=Zo%C3%AB&page=1&all=true&tag=a+b&tag=c".utf8))
        #expect(body.contentType == "application/x-www-form-urlencoded")
    }

    @Test func formFollowsItsFormat() {
        let format = QueryFormat(arrays: .brackets, booleans: .digits)
        #expect(
            RequestBody.form(["t": ["a", "b"], "x": true], format: format).data == Data("t%5B%5D=a&t%5B%5D=b&x=1".utf8)
        )
        let commas = QueryFormat(arrays: .commaSeparated)
        #expect(RequestBody.form(["t": ["a,b", "c d"]], format: commas).data == Data("t=a%2Cb,c+d".utf8))
    }

    @Test func formOfADictionaryIsSortedByName() {
        let fields = Dictionary(uniqueKeysWithValues: ["b", "a", "c"].map { ($0, "\($0) 1") })
        #expect(RequestBody.form(fields).data == Data("a=a+1&b=b+1&c=c+1".utf8))
    }

    @Test func formOfPairsKeepsTheirOrder() {
        let fields: KeyValuePairs<String, Int> = ["b": 1, "a": 2, "b": 3]
        #expect(RequestBody.form(fields).data == Data("b=1&a=2&b=3".utf8))
    }

    // MARK: JSON objects

    @Test func objectHasValuesOfSeveralTypes() {
        let cursor: String? = nil
        let name = "Zoë"
        let body = RequestBody.json(
            [
                "page": 1, "username": name, "tags": ["a"], "cursor": cursor, "all": true,
                "in": ["x": 1, "y": name] as JSONObject,
            ]
        )
        let json = #"{"all":true,"cursor":null,"in":{"x":1,"y":"Zoë"},"page":1,"tags":["a"],"username":"Zoë"}"#
        #expect(body.data == Data(json.utf8))
        #expect(body.contentType == "application/json")
    }

    @Test func objectKeepsItsNamesAndFollowsTheEncoder() throws {
        struct Product: Encodable, Sendable {
            let unitPrice = 3
        }
        let date = Date(timeIntervalSince1970: 0)
        let encoder = JSONEncoder.json(keys: .convertToSnakeCase, dates: .iso8601)
        let body = RequestBody.json(["createdAt": date, "firstItem": Product()], encoder: encoder)
        let json = #"{"createdAt":"1970-01-01T00:00:00Z","firstItem":{"unit_price":3}}"#
        #expect(body.data == Data(json.utf8))
        let network = MockTransport { _ in .ok() }.encoder(encoder)
        let request = network.resolved(.post("a", body: .json(["createdAt": date, "firstItem": Product()])))
        #expect(request.body?.data == Data(json.utf8))
    }

    @Test func lastValueOfARepeatedNameApplies() {
        #expect(RequestBody.json(["a": 1, "a": "b"]).data == Data(#"{"a":"b"}"#.utf8))
    }

    @Test func objectWithAValueThatCannotBeEncodedFailsTheSend() async {
        let transport = MockTransport { _ in .ok() }
        let error = await #expect(throws: NetworkingError.self) {
            try await transport.data(
                HTTPRequestData(method: .post, authority: "example.com", body: .json(["a": Double.nan, "b": "c"]))
            )
        }
        #expect(error?.kind == .unencodableBody)
        #expect(transport.requests.isEmpty)
    }

    // MARK: Content-Type

    @Test func setsItsContentType() async throws {
        let transport = MockTransport { _ in .ok() }
        try await transport.data(HTTPRequestData(method: .post, authority: "example.com", body: .json([1])))
        #expect(transport.requests.first?.headerFields[values: .contentType] == ["application/json"])
    }

    /// The ancestor library appended its own field, so two were sent.
    @Test func contentTypeOfTheCallerTakesPrecedence() async throws {
        let transport = MockTransport { _ in .ok() }
        let request = HTTPRequestData(
            method: .post,
            authority: "example.com",
            headerFields: [.contentType: "application/problem+json"],
            body: .json([1])
        )
        try await transport.data(request)
        #expect(transport.requests.first?.headerFields[values: .contentType] == ["application/problem+json"])
    }

    @Test func bodyThatAModifierSetsHasItsContentType() async throws {
        let wrapping = Sending { request, upstream in
            try await upstream.send(request.with { $0.body = .json([1]) })
        }
        let transport = MockTransport { _ in .ok() }
        try await transport.modified(wrapping).data(HTTPRequestData(method: .post, authority: "example.com"))
        #expect(transport.requests.first?.headerFields[.contentType] == "application/json")
    }

    // MARK: Equality and descriptions

    @Test func bodiesAreEqualByBytesAndContentType() {
        #expect(RequestBody.data(Data("[1]".utf8), contentType: "application/json") == .json([1]))
        #expect(RequestBody.data(Data("[1]".utf8)) != .json([1]))
        #expect(RequestBody.json([1]) != .json([2]))
        let unencodable = RequestBody.json(Double.nan)
        #expect(unencodable == unencodable)
        #expect(unencodable != .json(Double.nan))
        #expect(unencodable != .data(Data()))
        #expect(unencodable.hashValue == unencodable.hashValue)
    }

    @Test func describesTypeAndLengthOnly() {
        let body = RequestBody.form(["password": "hunter2"])
        #expect(body.description == "application/x-www-form-urlencoded, 16 bytes")
        #expect(!everyPrint(of: body).contains("hunter2"))
        #expect(RequestBody.json(Double.nan).description == "application/json, unencodable")
    }
}

/// Counts its encodings.
private final class EncodingCounter: Encodable, Sendable {
    private let number = Atomic(0)

    var count: Int {
        number.load(ordering: .relaxed)
    }

    func encode(to encoder: any Encoder) throws {
        let count = number.add(1, ordering: .relaxed).newValue
        var container = encoder.singleValueContainer()
        try container.encode(count)
    }
}
