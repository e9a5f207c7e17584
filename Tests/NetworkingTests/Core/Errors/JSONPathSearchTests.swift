import Testing

@testable import NetworkingCore

/// The search for the value at a coding path.
@Suite(.timeLimit(.minutes(20)))
struct JSONPathSearchTests {
    private struct Key: CodingKey, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
        let stringValue: String
        let intValue: Int?

        init(stringValue: String) {
            self.stringValue = stringValue
            intValue = nil
        }

        init(intValue: Int) {
            stringValue = "\(intValue)"
            self.intValue = intValue
        }

        init(stringLiteral value: String) {
            self.init(stringValue: value)
        }

        init(integerLiteral value: Int) {
            self.init(intValue: value)
        }
    }

    private func value(at path: [Key], in document: String) -> JSONPathSearch.Value {
        JSONPathSearch.value(at: path, in: Array(document.utf8))
    }

    private func member(_ name: String, at path: [Key] = [], in document: String) -> JSONPathSearch.Member {
        JSONPathSearch.member(named: name, ofObjectAt: path, in: Array(document.utf8))
    }

    @Test func namesTheTypeOfTheValue() {
        let document = #" {"a": {"b": [1, "x", null, true, {}, []]}, "c": 2} "#
        #expect(value(at: [], in: document) == .found("an object"))
        #expect(value(at: ["a", "b"], in: document) == .found("an array"))
        let types = ["a number", "a string", "null", "a Boolean", "an object", "an array"]
        for (index, type) in types.enumerated() {
            #expect(value(at: ["a", "b", Key(intValue: index)], in: document) == .found(type))
        }
        #expect(value(at: ["c"], in: document) == .found("a number"))
    }

    @Test func findsNoValueAtAMissingPath() {
        let document = #"{"a": {"b": [1]}}"#
        for path: [Key] in [["x"], ["a", "x"], ["a", "b", 1], ["a", "b", "x"], ["a", "b", 0, "x"]] {
            #expect(value(at: path, in: document) == .missing)
        }
        #expect(value(at: ["a", "b", Key(intValue: -1)], in: document) == .missing)
    }

    @Test func readsNamesWithEscapes() {
        #expect(value(at: ["a/b"], in: #"{"\u0061\/b": true}"#) == .found("a Boolean"))
    }

    @Test func readsIntegerKeysOfObjectsByName() {
        #expect(value(at: [7], in: #"{"7": "x"}"#) == .found("a string"))
    }

    @Test func matchesNamesThatADecoderConverts() {
        #expect(value(at: ["userInfo", "firstName"], in: #"{"user_info": {"first_name": 1}}"#) == .found("a number"))
    }

    @Test(arguments: ["", " ", "no JSON", #"{"a""#, #"{"a": [1, "#, #"{"x": ["#])
    func stopsAtTheFirstFault(document: String) {
        #expect(value(at: ["a", 5], in: document) == .unreadable)
        #expect(member("b", at: ["a"], in: document) == .noObject)
    }

    @Test func findsMembersAndSimilarNames() {
        let document = #"{"a": {"id": 1, "user_id": "x", "userID": null}}"#
        #expect(member("id", at: ["a"], in: document) == .found("a number"))
        #expect(member("userID", at: ["a"], in: document) == .found("null"))
        #expect(member("userId", at: ["a"], in: document) == .similar("user_id"))
        #expect(member("name", at: ["a"], in: document) == .missing)
        #expect(member("name", at: ["a", "id"], in: document) == .noObject)
        #expect(member("name", in: "[]") == .noObject)
    }

    @Test func deepAndLongDocumentsAreSkipped() {
        let deep = String(repeating: "[", count: 200_000) + String(repeating: "]", count: 200_000)
        #expect(value(at: ["b"], in: #"{"a": \#(deep), "b": "x"}"#) == .found("a string"))
        #expect(member("b", in: #"{"a": \#(deep), "B": "x"}"#) == .similar("B"))
        let long = String(repeating: "0,", count: 200_000)
        #expect(value(at: [200_000], in: "[\(long)null]") == .found("null"))
    }
}
