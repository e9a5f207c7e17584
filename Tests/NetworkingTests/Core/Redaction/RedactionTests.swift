import Foundation
import HTTPTypes
// The text of a redaction is internal. The tests of descriptions and logs cover their output.
import Networking
import TestSupport
import Testing

@testable import NetworkingCore

@Suite
struct RedactionTests {
    private let redaction = Redaction.standard

    // MARK: Header fields

    @Test(arguments: [
        ("X-Original-URL", "https://a.example/reset?token=hunter2&x=1", "https://a.example/reset?token=<redacted>&x=1"),
        ("X-Forwarded-Uri", "/reset?token=hunter2", "/reset?token=<redacted>"),
        ("Origin", "https://emily:hunter2@a.example", "https://<redacted>@a.example"),
        ("SourceMap", "//emily:hunter2@a.example/x", "//<redacted>@a.example/x"),
        ("HX-Redirect", "/home#access_token=hunter2", "/home#access_token=<redacted>"),
        ("X-Report", "seen at https://a.example/?api_key=hunter2", "seen at https://a.example/?api_key=<redacted>"),
        ("X-Event", #"{"user":"emily","password":"hunter2"}"#, #"{"user":"emily","password":"<redacted>"}"#),
        ("Cache-Control", "max-age=60, must-revalidate", "max-age=60, must-revalidate"),
        ("Content-Type", "multipart/form-data; boundary=x", "multipart/form-data; boundary=x"),
        ("Via", "1.1 a//b", "1.1 a//b"),
    ])
    func redactsSecretsOfURLsAndJSONInAnyHeaderField(name: String, value: String, shown: String) throws {
        let field = HTTPField(name: try #require(HTTPField.Name(name)), value: value)
        #expect(redaction.value(of: field) == shown)
    }

    @Test(arguments: [
        "Authorization", "authorization", "AUTHORIZATION", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Api-Key",
        "Api-Key", "X-Auth-Token", "X-CSRF-Token", "X-XSRF-Token", "X-Amz-Security-Token", "X-Goog-Api-Key",
        "Authentication-Info", "Proxy-Authentication-Info", "DPoP",
    ])
    func redactsAHeaderField(name: String) throws {
        let field = HTTPField(name: try #require(HTTPField.Name(name)), value: "hunter2")
        #expect(redaction.redacts(field))
        #expect(redaction.lines(for: HTTPFields([field])) == ["\(name): <redacted>"])
    }

    @Test func showsOtherHeaderFieldsInOrder() {
        let fields: HTTPFields = [.accept: "a", .cookie: "hunter2", .contentType: "b", .accept: "c"]
        #expect(
            redaction.lines(for: fields) == ["Accept: a", "Cookie: <redacted>", "Content-Type: b", "Accept: c"]
        )
    }

    @Test func redactsANeverIndexedField() {
        var field = HTTPField(name: .accept, value: "hunter2")
        #expect(!redaction.redacts(field))
        field.indexingStrategy = .disallow
        #expect(redaction.redacts(field))
        #expect(redaction.lines(for: HTTPFields([field])) == ["Accept: <redacted>"])
    }

    @Test func redactsAddedNames() throws {
        let name = try #require(HTTPField.Name("X-Session"))
        let added = redaction.addingHeaderFields("x-SESSION", "Accept").addingQueryItems("Ticket")
            .addingBodyFields("Iban")
        #expect(added.redacts(HTTPField(name: name, value: "hunter2")))
        #expect(added.redacts(HTTPField(name: .accept, value: "hunter2")))
        #expect(added.redacts(HTTPField(name: .authorization, value: "hunter2")))
        #expect(!redaction.redacts(HTTPField(name: name, value: "hunter2")))
        #expect(added.target("/a?ticket=hunter2&iban=x") == "/a?ticket=<redacted>&iban=x")
        #expect(added.redactsBodyField("IBAN"))
        #expect(!added.redactsBodyField("ticket"))
        #expect(added != redaction)
        #expect(
            added
                == redaction.addingHeaderFields("x-session", "accept").addingQueryItems("ticket")
                .addingBodyFields("iban")
        )
    }

    @Test(arguments: [
        ("https://u:hunter2@example.com/a?x=1", "https://<redacted>@example.com/a?x=1"),
        ("https://example.com/a?code=hunter2&x=1", "https://example.com/a?code=<redacted>&x=1"),
        ("/a?state=1&token=hunter2#part", "/a?state=1&token=<redacted>#part"),
        ("app:/cb#access_token=hunter2&expires_in=1", "app:/cb#access_token=<redacted>&expires_in=1"),
        ("//u:hunter2@example.com", "//<redacted>@example.com"),
        ("https://example.com?mail=a@b&sig=hunter2", "https://example.com?mail=a@b&sig=<redacted>"),
        ("/a@b//c@d", "/a@b//<redacted>@d"),
        ("https://app.example/#/callback?code=hunter2", "https://app.example/#/callback?code=<redacted>"),
        ("https://a.example/#x;code=hunter2&y=1", "https://a.example/#x;code=<redacted>&y=1"),
        ("/login?next=https://u:hunter2@a.example/b", "/login?next=https://<redacted>@a.example/b"),
        ("/a?b#", "/a?b#"),
        ("?#", "?#"),
        ("", ""),
    ])
    func redactsTheSecretsOfURLsInFields(value: String, shown: String) {
        let fields: HTTPFields = [.location: value, .referer: value, .contentLocation: value]
        #expect(
            redaction.lines(for: fields) == ["Location: \(shown)", "Referer: \(shown)", "Content-Location: \(shown)"]
        )
    }

    @Test(arguments: [
        (
            #"<https://api.example.com/items?key=hunter2&page=2>; rel="next""#,
            #"<https://api.example.com/items?key=<redacted>&page=2>; rel="next""#
        ),
        (
            #"<https://api.example.com/items?appid=hunter2&page=2>; rel="next""#,
            #"<https://api.example.com/items?appid=<redacted>&page=2>; rel="next""#
        ),
        ("<https://a.example/b#code=hunter2", "<https://a.example/b#code=<redacted>"),
        (
            #"<https://a.example>; rel="prev", <https://u:hunter2@b.example/c>; rel="next""#,
            #"<https://a.example>; rel="prev", <https://<redacted>@b.example/c>; rel="next""#
        ),
        ("5; url=https://u:hunter2@a.example/?key=hunter2", "5; url=https://<redacted>@a.example/?key=<redacted>"),
        (#"<https://a.example/b?page=2>; rel="next""#, #"<https://a.example/b?page=2>; rel="next""#),
        ("5", "5"),
    ])
    func redactsTheSecretsOfURLsWithParameters(value: String, shown: String) throws {
        let redaction = redaction.redacting(queryItems: ["appid"], values: SecretValues())
        for text in ["Link", "Refresh"] {
            let name = try #require(HTTPField.Name(text))
            #expect(redaction.value(of: HTTPField(name: name, value: value)) == shown)
        }
    }

    // MARK: URLs

    @Test(arguments: [
        ("/a", "/a"),
        ("/a?", "/a?"),
        ("/a?x=1&x=2&&y", "/a?x=1&x=2&&y"),
        ("/a?token=hunter2", "/a?token=<redacted>"),
        ("/a?TOKEN=hunter2", "/a?TOKEN=<redacted>"),
        ("/a?%74oken=hunter2", "/a?%74oken=<redacted>"),
        ("/a?token=", "/a?token=<redacted>"),
        ("/a?token", "/a?token"),
        ("/a?token=hunter2=hunter2", "/a?token=<redacted>"),
        ("/a?token=hunter2?hunter2", "/a?token=<redacted>"),
        ("/a?token=hunter2&token=hunter2", "/a?token=<redacted>&token=<redacted>"),
        ("/a?x=token&y=a+b%20c", "/a?x=token&y=a+b%20c"),
        ("/a?max_tokens=1", "/a?max_tokens=1"),
        ("/a?next=/b?access_token=hunter2&c=1", "/a?next=/b?access_token=<redacted>&c=1"),
        ("/a?b=1;token=hunter2;hunter2&c=1", "/a?b=1;token=<redacted>&c=1"),
        ("/a?b=1;c=?d=;e", "/a?b=1;c=?d=;e"),
        ("/a?b;code=hunter2&c=1", "/a?b;code=<redacted>&c=1"),
        ("/a?b; code=hunter2", "/a?b; code=<redacted>"),
        ("/a??code=hunter2", "/a??code=<redacted>"),
        ("/a?b?c?code=hunter2?d=1", "/a?b?c?code=<redacted>"),
        ("/a?secret;b=hunter2", "/a?secret;b=<redacted>"),
        ("/a?b=1=code=2", "/a?b=1=code=2"),
        ("/a?mytoken=1&user[password]=2", "/a?mytoken=<redacted>&user[password]=<redacted>"),
        ("/a?X-Amz-Signature=hunter2&X-Amz-Date=1", "/a?X-Amz-Signature=<redacted>&X-Amz-Date=1"),
        (
            "/a?access_token=h&refresh_token=h&id_token=h&client_secret=h&api_key=h&key=h&sig=h&code=h&password=h",
            "/a?access_token=<redacted>&refresh_token=<redacted>&id_token=<redacted>&client_secret=<redacted>"
                + "&api_key=<redacted>&key=<redacted>&sig=<redacted>&code=<redacted>&password=<redacted>"
        ),
    ])
    func redactsQueryItemsAndKeepsTheRestToTheByte(target: String, shown: String) {
        #expect(redaction.target(target) == shown)
    }

    @Test(arguments: [
        ("example.com", "example.com"),
        ("u:hunter2@example.com:80", "<redacted>@example.com:80"),
        ("hunter2@example.com", "<redacted>@example.com"),
        ("u:hunter2@hunter2@[::1]", "<redacted>@[::1]"),
        ("@example.com", "<redacted>@example.com"),
    ])
    func redactsUserinfo(authority: String, shown: String) {
        #expect(redaction.authority(authority) == shown)
    }

    @Test func secretAfterAnyMarkIsRedactedInRandomText() {
        var random = SeededRandom.announced()
        let pieces = ["a", "?", ";", "#", "&", "=", "%3D", "%", " ", "é", "\u{301}", "//", "@", "\"", "<", "[x]", "\n"]
        for _ in 0..<5_000 {
            func text() -> String {
                (0..<Int.random(in: 0...12, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
                    .joined()
            }
            let mark = ["?", ";", "#", "&"].randomElement(using: &random) ?? "?"
            let text = "/a?\(text())\(mark)token=hunter2\(text())"
            #expect(!redaction.reference(text).contains("hunter2"), "\(text)")
            let link = HTTPField(name: HTTPField.Name("Link")!, value: text)
            #expect(!redaction.value(of: link).contains("hunter2"), "\(text)")
        }
    }

    /// Each mark may start a name.
    @Test(arguments: ["?", ";", "#", "?a", "?a=", ";token"])
    func longQueriesAreReadInLinearTime(part: String) {
        let targets = [2_000, 32_000].map { "/?a=\(String(repeating: part, count: $0))=1" }
        #expect(isLinear(targets[0], targets[1]) { _ = redaction.target($0) })
    }

    @Test func valueOfANameThatIsTooLongIsRedacted() {
        let name = String(repeating: "n", count: 2_000)
        #expect(redaction.target("/?\(name)=hunter2&x=1") == "/?\(name)=<redacted>&x=1")
    }

    // MARK: Lines

    @Test(arguments: [
        ("a\r\nINFO forged", "a\u{FFFD}\u{FFFD}INFO forged"),
        ("\u{1B}[31mred\u{7F}\0", "\u{FFFD}[31mred\u{FFFD}\u{FFFD}"),
        ("a\tb", "a\u{FFFD}b"),
        ("a\u{85}b\u{9B}31m\u{80}", "a\u{FFFD}b\u{FFFD}31m\u{FFFD}"),
        ("a\u{2028}b\u{2029}c", "a\u{FFFD}b\u{FFFD}c"),
        (
            "\u{202E}evil\u{202C} \u{2066}x\u{2069}\u{200F}\u{61C}",
            "\u{FFFD}evil\u{FFFD} \u{FFFD}x\u{FFFD}\u{FFFD}\u{FFFD}"
        ),
        ("to\u{200B}ken\u{FEFF}\u{2060}\u{180E}", "to\u{FFFD}ken\u{FFFD}\u{FFFD}\u{FFFD}"),
        ("ü👋 fine", "ü👋 fine"),
        ("👩‍🚀 می‌خواهم é €", "👩‍🚀 می‌خواهم é €"),
    ])
    func keepsTextToOneLine(text: String, line: String) {
        #expect(PrintableText.singleLine(text) == line)
    }

    @Test func fieldFromAServerCannotForgeALine() {
        let field = HTTPField(name: .server, lenientValue: "a\tb\u{1B}[2J".utf8)
        let line = redaction.lines(for: HTTPFields([field]))[0]
        #expect(!line.utf8.contains { $0 < 32 || $0 == 127 })
    }

    // MARK: Limits

    @Test func longValueIsTruncatedInLogsOnly() throws {
        let name = try #require(HTTPField.Name("X-Trace"))
        let fields: HTTPFields = [name: String(repeating: "ü", count: 50_000)]
        let line = try #require(redaction.boundedLines(for: fields).first)
        #expect(line == "X-Trace: \(String(repeating: "ü", count: 1_024))… (100000 bytes)")
        #expect(redaction.lines(for: fields) == ["X-Trace: \(String(repeating: "ü", count: 50_000))"])
    }

    @Test func excessFieldsAreCounted() {
        var fields = HTTPFields()
        for _ in 0..<1_000 {
            fields.append(HTTPField(name: .via, value: "a"))
        }
        let lines = redaction.boundedLines(for: fields)
        #expect(lines.count == 201)
        #expect(lines.last == "… (1000 fields)")
    }

    @Test func longURLIsTruncated() {
        let request = HTTPRequestData(
            authority: "a.example",
            path: "/\(String(repeating: "p", count: 10_000))?x=\(String(repeating: "q", count: 10_000))"
        )
        let line = redaction.line(for: request)
        #expect(line.utf8.count < 4_200)
        #expect(line.contains("p… (10022 bytes)?x=q"))
        #expect(line.hasSuffix("q… (10003 bytes)"))
    }

    // MARK: Masks

    @Test func maskReplacesOtherValues() {
        let masked = redaction.masking("<private>")
        #expect(masked.target("/a?x=1&token=2&y") == "/a?x=<private>&token=<redacted>&<private>")
        #expect(masked.target("/a?x;code=1&x?y=2;code=3") == "/a?x;code=<redacted>&x?y=<private>")
        #expect(
            masked.lines(for: [.accept: "a", .cookie: "b"]) == ["Accept: <private>", "Cookie: <redacted>"]
        )
        #expect(
            masked.text(for: Data("abc".utf8), contentType: "text/plain", style: .init(limit: 9))
                == "<private> (3 bytes)"
        )
    }
}
