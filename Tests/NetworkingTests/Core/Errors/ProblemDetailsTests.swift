import Foundation
import HTTPTypes
import Logging
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20)))
struct ProblemDetailsTests {
    /// The first example of RFC 9457 section 3.
    private static let credit = """
        {
         "type": "https://example.com/probs/out-of-credit",
         "title": "You do not have enough credit.",
         "detail": "Your current balance is 30, but that costs 50.",
         "instance": "/account/12345/msgs/abc",
         "balance": 30,
         "accounts": ["/account/12345", "/account/67890"]
        }
        """

    private static func response(
        _ json: String,
        status: HTTPResponse.Status = .forbidden,
        type: String = "application/problem+json"
    ) -> MockResponse {
        MockResponse(status: status, data: Data(json.utf8), headerFields: [.contentType: type])
    }

    private let request = HTTPRequestData(scheme: "https", authority: "shop.example.com", path: "/v1/orders")

    private func problem(_ json: String, type: String = "application/problem+json") async throws -> ProblemDetails? {
        try await MockTransport { _ in Self.response(json, type: type) }.data(request).problemDetails
    }

    private struct Credit: Decodable, Equatable {
        let balance: Int
        let accounts: [String]
    }

    // MARK: Members

    @Test func stackThrowsTheExampleOfTheStandard() async throws {
        let network = MockTransport { _ in Self.response(Self.credit) }.checkedStatusCode(as: ProblemDetails.self)
        let problem = try #require(
            await #expect(throws: ProblemDetails.self) { try await network.data(request) }
        )
        #expect(problem.type == "https://example.com/probs/out-of-credit")
        #expect(problem.title == "You do not have enough credit.")
        #expect(problem.detail == "Your current balance is 30, but that costs 50.")
        #expect(problem.instance == "https://shop.example.com/account/12345/msgs/abc")
        #expect(problem.status == nil)
        #expect(problem.httpStatus == .forbidden)
        let credit = Credit(balance: 30, accounts: ["/account/12345", "/account/67890"])
        #expect(try problem.members(as: Credit.self) == credit)
        #expect((problem as any Error).problemDetails == problem)
    }

    /// The second example of RFC 9457 section 3.
    @Test func membersOfTheExampleWithValidationErrors() async throws {
        struct Faults: Decodable {
            struct Fault: Decodable, Equatable {
                let detail: String
                let pointer: String
            }

            let errors: [Fault]
        }
        let json = """
            {"type": "https://example.net/validation-error", "title": "Your request is not valid.",
             "errors": [{"detail": "must be a positive integer", "pointer": "#/age"},
                        {"detail": "must be 'green', 'red' or 'blue'", "pointer": "#/profile/color"}]}
            """
        let problem = try #require(try await problem(json))
        let faults = try problem.members(as: Faults.self).errors
        #expect(faults.map(\.pointer) == ["#/age", "#/profile/color"])
        #expect(throws: DecodingError.self) { try problem.members(as: Credit.self) }
    }

    @Test func membersUseTheDecoderOfTheStack() async throws {
        struct Balance: Decodable {
            let currentBalance: Int
        }
        let network = MockTransport { _ in Self.response(#"{"current_balance": 30}"#) }
            .checkedStatusCode(as: ProblemDetails.self)
            .decoder(.json(keys: .convertFromSnakeCase))
        let problem = await #expect(throws: ProblemDetails.self) { try await network.data(request) }
        #expect(try problem?.members(as: Balance.self).currentBalance == 30)
    }

    @Test func errorOfTheLibraryHasTheDetails() async throws {
        let network = MockTransport { _ in Self.response(Self.credit) }
        let error = await #expect(throws: NetworkingError.self) { try await network.value(request, as: String.self) }
        #expect(error?.problemDetails?.title == "You do not have enough credit.")
        #expect(CancellationError().problemDetails == nil)
    }

    /// RFC 9457 section 3.1: a member of a wrong type is ignored.
    @Test(
        arguments: [
            "{}", #"{"type": 1, "title": [], "status": "403", "detail": {}, "instance": null}"#,
            #"{"title": {"title": "x", "status": 404}, "status": [404]}"#, #"{"status": 404.5}"#, #"{"status": 1e999}"#,
            #"{"status": -404}"#, #"{"status": 600}"#, #"{"status": 99999999999999999999}"#, #"{"Title": "x"}"#,
            #"{"title": 1, "title": "second", "status": "404", "status": 404}"#,
        ]
    )
    func ignoresStandardMembersOfAnotherType(json: String) async throws {
        let problem = try #require(try await problem(json))
        #expect(problem.type == "about:blank")
        #expect(problem.title == nil)
        #expect(problem.status == nil)
        #expect(problem.detail == nil)
        #expect(problem.instance == nil)
        #expect(problem.description == "403")
    }

    @Test func readsEscapesAndMarks() async throws {
        let json = "\u{FEFF}" + #"{"t\u0069tle": "\u00e9\ud83d\ude00\n", "status": 404.0}"#
        let problem = try #require(try await problem(json, type: "Application/Problem+JSON; charset=utf-8"))
        #expect(problem.title == "é😀\n")
        #expect(problem.status == 404)
        #expect(try problem.members(as: [String: JSONText].self).count == 2)
    }

    /// The description and the decoded members must not be about different problems.
    @Test func firstOfRepeatedMembersCountsAsInADecoder() async throws {
        struct Members: Decodable {
            let title: String
            let status: Int
        }
        let json = #"{"t\u0069tle": "first", "status": 404, "title": "second", "status": 500, "title": {}}"#
        let problem = try #require(try await problem(json))
        #expect(problem.title == "first" && problem.status == 404)
        let members = try problem.members(as: Members.self)
        #expect(members.title == problem.title && members.status == problem.status)
        let decoded = try JSONDecoder().decode(ProblemDetails.self, from: Data(json.utf8))
        #expect(decoded.title == problem.title && decoded.status == problem.status)
    }

    private struct JSONText: Decodable {
        init(from decoder: any Decoder) throws {}
    }

    @Test(
        arguments: [
            ("/probs/credit", "https://shop.example.com/probs/credit"),
            ("credit", "https://shop.example.com/v1/credit"),
            ("/probs#credit", "https://shop.example.com/probs#credit"), ("//a.example/x", "https://a.example/x"),
            ("urn:example:credit", "urn:example:credit"), ("HTTPS://A.example/%41#b", "HTTPS://A.example/%41#b"),
            ("#credit", "#credit"), ("", ""), ("about:blank", "about:blank"),
        ]
    )
    func resolvesTheType(type: String, expected: String) async throws {
        #expect(try await problem(#"{"type": "\#(type)"}"#)?.type == expected)
    }

    // MARK: Hostile bodies

    @Test(
        arguments: [
            "", "null", "[]", "1", "\"x\"", "{", #"{"title": "x""#, #"{"title": "x"} {}"#, #"{"title": "\x"}"#,
            #"{"a": [}"#, "<html></html>", #"{title: "x"}"#, "{\"title\": \"\u{0}\"}",
            String(repeating: #"{"a":"#, count: 33) + "1" + String(repeating: "}", count: 33),
            #"{"a":"# + String(repeating: "[", count: 60_000),
            #"{"a": ""# + String(repeating: "x", count: 65_536) + #""}"#,
        ]
    )
    func hostileDocumentsAreNoProblemDetails(json: String) async throws {
        #expect(try await problem(json) == nil)
        #expect(throws: DecodingError.self) { try ProblemDetails(json: Data(json.utf8)) }
        let network = MockTransport { _ in Self.response(json) }.checkedStatusCode(as: ProblemDetails.self)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
        #expect(error?.status == .forbidden)
    }

    @Test func textThatIsNotUTF8IsNoDocument() throws {
        #expect(throws: DecodingError.self) {
            try ProblemDetails(json: Data(#"{"title": ""#.utf8) + [0xFF] + Data(#""}"#.utf8))
        }
        // An escape may stand for half of a character.
        #expect(try ProblemDetails(json: Data(#"{"title": "\ud800"}"#.utf8)).title == "\u{FFFD}")
    }

    @Test func documentsUpToTheLimitsAreRead() throws {
        let depth = ProblemDetails.maximumDepth
        let deep = String(repeating: #"{"a":"#, count: depth) + "1" + String(repeating: "}", count: depth)
        #expect(try ProblemDetails(json: Data(deep.utf8)).title == nil)
        let long = #"{"title": ""# + String(repeating: "x", count: ProblemDetails.maximumBytes - 13) + #""}"#
        #expect(try ProblemDetails(json: Data(long.utf8)).title?.count == ProblemDetails.maximumBytes - 13)
    }

    @Test(arguments: ["application/json", "text/html", "application/problem+xml", "application/problem+json-seq"])
    func otherMediaTypesAreNoProblemDetails(type: String) async throws {
        #expect(try await problem(Self.credit, type: type) == nil)
        let network = MockTransport { _ in Self.response(Self.credit, type: type) }
            .checkedStatusCode(as: ProblemDetails.self)
        await #expect(throws: NetworkingError.self) { try await network.data(request) }
        let response = try await MockTransport { _ in Self.response(Self.credit, type: type) }.data(request)
        let error = #expect(throws: NetworkingError.self) { try response.json(as: ProblemDetails.self) }
        #expect(error?.reason.contains("application/problem+json") == true)
    }

    /// Another decoder, or a member of another type, reads all members too.
    @Test func decodesWithinAnotherType() throws {
        let json = Data(#"{"failures": [\#(Self.credit), {"a_b": [1.5, true, null, "x", {"c_d": -2}]}]}"#.utf8)
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let problems = try #require(try decoder.decode([String: [ProblemDetails]].self, from: json)["failures"])
        #expect(problems[0].title == "You do not have enough credit.")
        #expect(try problems[0].members(as: Credit.self).balance == 30)
        let other = #"{"a_b":[1.5,true,null,"x",{"c_d":-2}]}"#
        #expect(problems[1] == (try ProblemDetails(json: Data(other.utf8))))
        let deep = #"{"a":"# + String(repeating: "[", count: 200) + String(repeating: "]", count: 200) + "}"
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(ProblemDetails.self, from: Data(deep.utf8)) }
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(ProblemDetails.self, from: Data("[]".utf8)) }
    }

    // MARK: Texts

    @Test func userSeesTheTextOfTheStatus() async throws {
        let problem = try #require(try await problem(Self.credit))
        #expect(problem.errorDescription == "You do not have access to this.")
        #expect((problem as any Error).localizedDescription == problem.errorDescription)
        #expect(problem.failureReason == "Your account is not allowed to do this.")
        #expect(problem.recoverySuggestion == "Ask for access, or sign in with another account.")
        let other = try ProblemDetails(json: Data(#"{"status": 418}"#.utf8))
        #expect(other.errorDescription == "The server refused the request.")
    }

    @Test func descriptionHasTheTitleAndNoOtherMember() async throws {
        let problem = try #require(try await problem(Self.credit))
        let expected = "403 You do not have enough credit. (https://example.com/probs/out-of-credit)"
        #expect("\(problem)" == expected)
        #expect(String(reflecting: problem) == expected)
        var dump = ""
        Swift.dump(problem, to: &dump)
        #expect(!dump.contains("balance"))
        #expect("\(try ProblemDetails(json: Data("{}".utf8)))" == "problem details without a title")
    }

    @Test func descriptionHasNoSecretAndIsOneLine() async throws {
        let json = #"{"title": "no\r\n token=SECRET for MARKED", "type": "https://u:SECRET@a.example/?token=SECRET"}"#
        var request = request
        request.markSecret("MARKED")
        let log = LogRecorder()
        let network = MockTransport { _ in Self.response(json) }
            .checkedStatusCode(as: ProblemDetails.self)
            .logged(using: log.logger(.debug))
        let problem = try #require(await #expect(throws: ProblemDetails.self) { try await network.data(request) })
        #expect(!"\(problem)\(log.text)".contains("SECRET"))
        #expect(!"\(problem)\(log.text)".contains("MARKED"))
        #expect(!"\(problem)".contains("\n"))
        #expect(log.messages.contains { $0.contains("failed") && $0.contains("no") && $0.contains("a.example") })
    }
}
