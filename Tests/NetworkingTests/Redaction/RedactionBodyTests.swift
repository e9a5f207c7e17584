import Foundation
import Testing

// Bodies are written for logs only, which is internal.
@testable import Networking

@Suite(.timeLimit(.minutes(5)))
struct RedactionBodyTests {
    private func text(_ body: String, _ contentType: String?, limit: Int = 4_096) -> String {
        Redaction.standard.text(for: Data(body.utf8), contentType: contentType, style: .init(limit: limit))
    }

    @Test(arguments: [
        (#"{"user":"emily","password":"hunter2"}"#, #"{"password":"<redacted>","user":"emily"}"#),
        (#"{"Password":"hunter2"}"#, #"{"Password":"<redacted>"}"#),
        (#"{"a":{"b":[{"access_token":"hunter2","c":1}]}}"#, #"{"a":{"b":[{"access_token":"<redacted>","c":1}]}}"#),
        (#"{"token":{"a":["hunter2"]}}"#, #"{"token":"<redacted>"}"#),
        (#"{"secret":["hunter2"],"pin":1234,"x":null}"#, #"{"pin":"<redacted>","secret":"<redacted>","x":null}"#),
        (#"{"\u0070assword":"hunter2"}"#, #"{"password":"<redacted>"}"#),
        (
            #"{"clientSecret":"hunter2","accessToken":"hunter2"}"#,
            #"{"accessToken":"<redacted>","clientSecret":"<redacted>"}"#
        ),
        (#"[true,false,1,-1.5,"a",{},[]]"#, #"[true,false,1,-1.5,"a",{},[]]"#),
        (#""just text""#, #""just text""#),
        (#"{"x":"a\"b\\c\nd\te\u001b"}"#, "{\"x\":\"a\\\"b\\\\c\\nd\\te\u{FFFD}\"}"),
        ("null", "null"),
    ])
    func hidesFieldsOfJSONAtAnyDepth(body: String, shown: String) {
        #expect(text(body, "application/json") == shown)
        #expect(text(body, "application/problem+JSON; charset=utf-8") == shown)
    }

    @Test(arguments: [
        #"{"password":"hunter2""#, "hunter2", "", "\u{0}hunter2", #"{"a":1}{"password":"hunter2"}"#,
        String(repeating: "[", count: 100_000) + #""hunter2""#, #"{"password":"hunter2","x":1e999}"#,
    ])
    func showsNothingOfWhatIsNoJSON(body: String) {
        let shown = text(body, "application/json")
        #expect(!shown.contains("hunter2"))
        #expect(shown == (body.isEmpty ? "empty" : "\(body.utf8.count) bytes of application/json"))
    }

    @Test(arguments: [
        ("user=emily&password=hunter2", "user=emily&password=<redacted>"),
        ("PASSWORD=hunter2&x=a+b%20", "PASSWORD=<redacted>&x=a+b%20"),
        ("pass%77ord=hunter2", "pass%77ord=<redacted>"),
        ("code=hunter2&code_verifier=hunter2&grant_type=a", "code=<redacted>&code_verifier=<redacted>&grant_type=a"),
        ("password=hunter2=hunter2", "password=<redacted>"),
        ("a&b=&=c", "a&b=&=c"),
    ])
    func hidesFieldsOfForms(body: String, shown: String) {
        #expect(text(body, "application/x-www-form-urlencoded") == shown)
        #expect(text(body, "Application/X-WWW-Form-Urlencoded; charset=utf-8") == shown)
    }

    /// The sign and the mark are one character, and a search for the sign alone passes it by.
    @Test func hidesAFormFieldWhoseValueBeginsWithACombiningMark() {
        let type = "application/x-www-form-urlencoded"
        #expect(text("password=\u{301}hunter2", type) == "password=<redacted>")
        #expect(text("a=1&\u{301}=1&token=hunter2", type) == "a=1&\u{301}=1&token=<redacted>")
    }

    @Test func aFormCannotForgeALine() {
        #expect(text("a=1\r\nINFO forged", "application/x-www-form-urlencoded") == "a=1\u{FFFD}\u{FFFD}INFO forged")
    }

    @Test(
        arguments: [
            ("hello", "text/plain", "hello"),
            ("<a/>", "application/xml", "<a/>"),
            ("<svg/>", "image/svg+xml", "<svg/>"),
            ("hello", nil, "5 bytes"),
            ("hello", "image/png", "5 bytes of image/png"),
            ("hello", "image/\r\npng", "5 bytes of image/\u{FFFD}\u{FFFD}png"),
            ("hello", "multipart/form-data; boundary=x", "5 bytes of multipart/form-data; boundary=x"),
            ("", "text/plain", "empty"),
            ("", nil, "empty"),
        ] as [(String, String?, String)]
    )
    func showsOtherTextAndNothingBinary(body: String, contentType: String?, shown: String) {
        #expect(text(body, contentType) == shown)
    }

    @Test func showsNoTextThatIsNotUTF8() {
        let shown = Redaction.standard.text(for: Data([0xFF, 0xFE, 0x41]), contentType: "text/plain", style: .init(limit: 10))
        #expect(shown == "3 bytes of text/plain")
    }

    @Test(arguments: [
        ("0123456789", 10, "0123456789"),
        ("0123456789", 4, "0123… (10 bytes)"),
        ("0123456789", 0, "… (10 bytes)"),
    ])
    func showsNoMoreThanItsLimit(body: String, limit: Int, shown: String) {
        #expect(text(body, "text/plain", limit: limit) == shown)
    }

    @Test func redactsBeforeItCuts() {
        let body = #"{"a":"\#(String(repeating: "x", count: 100))","password":"hunter2"}"#
        let shown = text(body, "application/json", limit: 130)
        #expect(shown.contains("<reda"))
        #expect(!shown.contains("hunter"))
    }

    @Test func showsNothingOfAStructuredBodyThatIsTooLongToParse() {
        let body = #"{"a":"\#(String(repeating: "x", count: 1 << 20))"}"#
        #expect(text(body, "application/json", limit: 10) == "\(body.utf8.count) bytes of application/json")
        let form = "a=\(String(repeating: "x", count: 1 << 20))"
        #expect(text(form, "application/x-www-form-urlencoded", limit: 10) == "\(form.utf8.count) bytes of a form")
    }
}
