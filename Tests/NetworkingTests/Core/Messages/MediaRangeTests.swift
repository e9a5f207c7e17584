import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@Suite(.timeLimit(.minutes(20)))
struct MediaRangeTests {
    private func types(_ fields: HTTPFields) -> [String]? {
        HTTPResponseData(request: HTTPRequestData(), headerFields: fields).acceptedQueryTypes?.map(\.description)
    }

    /// The first is the example of RFC 10008 section 3.
    @Test(
        arguments: [
            (
                #""application/jsonpath", application/sql;charset="UTF-8""#,
                ["application/jsonpath", "application/sql;charset=UTF-8"]
            ),
            ("application/SQL", ["application/sql"]),
            ("*/*", ["*/*"]), ("text/*;charset=utf-8", ["text/*;charset=utf-8"]),
            (#""3gpp/*""#, ["3gpp/*"]),
            ("", []),
            // Members that are not media ranges.
            ("application/json, 7, ?1, (a b), text", ["application/json"]),
            (#""*/json", "a/b*", "a/b/c", "a b/c", "/", application/json"#, ["application/json"]),
            ("application/json;q=1, text/plain;charset=?1", []),
        ]
    )
    func readsTheMediaTypesOfAcceptQuery(value: String, expected: [String]) {
        #expect(types([.acceptQuery: value]) == expected)
    }

    @Test(arguments: ["application/json,", "application/json;", "\"open", "a/b c/d", "é/x"])
    func malformedFieldHasNoTypes(value: String) {
        #expect(types([.acceptQuery: value]) == nil)
    }

    @Test func longFieldHasNoTypes() {
        let value = Array(repeating: "a/b", count: 3_000).joined(separator: ", ")
        #expect(types([.acceptQuery: value]) == nil)
        #expect(types([:]) == nil)
    }

    @Test func joinsSeveralLines() {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .acceptQuery, value: "a/b"))
        fields.append(HTTPField(name: .acceptQuery, value: "\"c/d\""))
        #expect(types(fields) == ["a/b", "c/d"])
    }

    @Test(
        arguments: [
            ("application/json", "application/json", true),
            ("application/json", "Application/JSON; charset=utf-8", true),
            ("application/json", "application/xml", false), ("application/*", "application/xml", true),
            ("application/*", "applications/xml", false), ("*/*", "text/plain", true),
            ("text/plain", "", false), ("text/*", "text", false),
        ]
    )
    func containsMediaTypes(range: String, type: String, isContained: Bool) throws {
        #expect(try #require(MediaRange(range)).contains(type) == isContained)
    }

    @Test func comparesParameters() throws {
        let range = try #require(MediaRange("application/sql", parameters: ["Charset": "UTF-8"]))
        #expect(range.contains("application/sql; charset=\"utf-8\"; version=2"))
        #expect(!range.contains("application/sql"))
        #expect(!range.contains("application/sql; charset=utf-16"))
    }
}
