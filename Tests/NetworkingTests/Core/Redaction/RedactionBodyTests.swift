import Foundation
// The text of bodies in logs is internal.
import Networking
import Testing

@Suite
struct RedactionBodyTests {
    private func text(_ body: String, _ contentType: String?, limit: Int = 4_096) -> String {
        Redaction.standard.text(for: Data(body.utf8), contentType: contentType, style: .init(limit: limit))
    }

    @Test(arguments: [
        (#"{"user":"emily","password":"hunter2"}"#, #"{"user":"emily","password":"<redacted>"}"#),
        (#"{"Password":"hunter2"}"#, #"{"Password":"<redacted>"}"#),
        (#"{"a":{"b":[{"access_token":"hunter2","c":1}]}}"#, #"{"a":{"b":[{"access_token":"<redacted>","c":1}]}}"#),
        (#"{"token":{"a":["hunter2"]}}"#, #"{"token":"<redacted>"}"#),
        (#"{"secret":["hunter2"],"pin":1234,"x":null}"#, #"{"secret":"<redacted>","pin":"<redacted>","x":null}"#),
        (#"{"\u0070assword":"hunter2"}"#, #"{"\u0070assword":"<redacted>"}"#),
        (
            #"{"clientSecret":"hunter2","accessToken":"hunter2"}"#,
            #"{"clientSecret":"<redacted>","accessToken":"<redacted>"}"#
        ),
        (#"[true,false,1,-1.5,"a",{},[]]"#, #"[true,false,1,-1.5,"a",{},[]]"#),
        (#""just text""#, #""just text""#),
        (#"{"x":"a\"b\\c\nd\te\u001b"}"#, #"{"x":"a\"b\\c\nd\te\u001b"}"#),
        ("null", "null"),
    ])
    func redactsFieldsOfJSONAtAnyDepth(body: String, shown: String) {
        #expect(text(body, "application/json") == shown)
        #expect(text(body, "application/problem+JSON; charset=utf-8") == shown)
    }

    @Test(arguments: [
        #"{"password":"hunter2""#, "hunter2", "", "\u{0}hunter2", #"{"a":1}{"password":"hunter2"}"#,
        String(repeating: "[", count: 100_000) + #""hunter2""#, #"{"password":"hunter2","x":01}"#,
    ])
    func showsNothingOfMalformedJSON(body: String) {
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
    func redactsFieldsOfForms(body: String, shown: String) {
        #expect(text(body, "application/x-www-form-urlencoded") == shown)
        #expect(text(body, "Application/X-WWW-Form-Urlencoded; charset=utf-8") == shown)
    }

    /// Without a maximum, reading a text with many delimiters would take quadratic time.
    @Test(arguments: [(1_024, true), (1_025, false)])
    func nameInATextHasAMaximumLength(length: Int, isRedacted: Bool) {
        let name = String(repeating: "n", count: length - "_token".utf8.count) + "_token"
        #expect(text("\(name)=hunter2", "text/plain") == "\(name)=\(isRedacted ? "<redacted>" : "hunter2")")
    }

    /// An authorization code occurs in successful responses and in requests.
    @Test(arguments: [200, 201, 302, 400, 404, 422, 500, 503])
    func showsTheCodeOfAnErrorOnly(status: Int) {
        let body = #"{"code":"E42","message":"no","details":[{"Code":7}],"access_token":"x","promo_code":"y"}"#
        let style = Redaction.BodyStyle(limit: 4_096)
        func text(_ redaction: Redaction, _ body: String, _ type: String = "application/json") -> String {
            redaction.forBody(ofStatus: status).text(for: Data(body.utf8), contentType: type, style: style)
        }
        let redacted =
            #"{"code":"<redacted>","message":"no","details":[{"Code":"<redacted>"}],"access_token":"<redacted>","promo_code":"y"}"#
        let isError = status >= 400
        let shown = body.replacing(#""access_token":"x""#, with: #""access_token":"<redacted>""#)
        #expect(text(.standard, body) == (isError ? shown : redacted))
        #expect(text(.standard, "code=7&token=x", "application/x-www-form-urlencoded").contains("code=7") == isError)
        // If the app redacts the field, it is redacted in every body.
        #expect(text(.standard.addingBodyFields("Code"), body) == redacted)
        #expect(!text(.standard.addingBodyFields("*code"), body).contains("E42"))
        #expect(text(.standard.showingBodyFields("code"), body) == shown)
    }

    /// Swift combines the equals sign and the mark into one character, so a search for the equals sign fails.
    @Test func redactsAFormFieldWithAValueThatStartsWithACombiningMark() {
        let type = "application/x-www-form-urlencoded"
        #expect(text("password=\u{301}hunter2", type) == "password=<redacted>")
        #expect(text("a=1&\u{301}=1&token=hunter2", type) == "a=1&\u{301}=1&token=<redacted>")
    }

    @Test func formCannotForgeALine() {
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
        let shown = Redaction.standard.text(
            for: Data([0xFF, 0xFE, 0x41]),
            contentType: "text/plain",
            style: .init(limit: 10)
        )
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

    @Test func redactsBeforeItTruncates() {
        let body = #"{"a":"\#(String(repeating: "x", count: 100))","password":"hunter2"}"#
        let shown = text(body, "application/json", limit: 130)
        #expect(shown.contains("<reda"))
        #expect(!shown.contains("hunter"))
    }

    @Test func showsNothingOfAStructuredBodyBeyondTheParsingLimit() {
        let body = #"{"a":"\#(String(repeating: "x", count: 1 << 20))"}"#
        #expect(text(body, "application/json", limit: 10) == "\(body.utf8.count) bytes of application/json")
        let form = "a=\(String(repeating: "x", count: 1 << 20))"
        #expect(
            text(form, "application/x-www-form-urlencoded", limit: 10)
                == "\(form.utf8.count) bytes of application/x-www-form-urlencoded"
        )
    }

    // MARK: Other types

    private static let textTypes = ["text/plain", "text/html", "application/javascript", "application/xml"]

    @Test(arguments: [
        #"{"user":"emily","password":"hunter2"#, #"{"password":"hunter2"} trailing"#, #"[{"password":"hunter2"},"#,
        #"{"password":"hunter2","x":01}"#, "\u{FEFF} \n{\"password\":\"hunter2\"", #"{password:"hunter2"}"#,
        #"{"password":"hunter2"}{"password":"hunter2"}"#, "{'password':'hunter2'}",
        "{" + String(repeating: " ", count: 1 << 20) + #""password":"hunter2"}"#,
    ])
    func showsNothingOfJSONOfAnotherTypeThatIsNotParsedToItsEnd(body: String) {
        for type in Self.textTypes {
            #expect(text(body, type) == "\(body.utf8.count) bytes of \(type)")
        }
        for type in Self.textTypes + ["application/octet-stream", "application/vnd.example"]
        where body.utf8.count < 1 << 20 {
            #expect(Redaction.standard.body(Data(body.utf8), contentType: type) == nil)
        }
    }

    @Test func storesNothingOfJSONInAnUnknownCharset() {
        let body = Data([0xFE, 0xFF] + "{\"password\":\"hunter2\"}".utf16.flatMap { [UInt8(0), UInt8($0)] })
        #expect(Redaction.standard.body(body, contentType: "text/plain; charset=utf-32") != body)
        #expect(Redaction.standard.body(body.dropFirst(2), contentType: "application/octet-stream") == nil)
        #expect(Redaction.standard.body(Data(#"{"password":"é"}"#.utf8.dropLast(3)), contentType: nil) == nil)
    }

    @Test(arguments: [
        (#")]}',"# + "\n" + #"{"password":"hunter2"}"#, #")]}',\n{"password":<redacted>"#),
        (#"callback({"a":1,"password" : "hunter2"});"#, #"callback({"a":1,"password" : <redacted>"#),
        (#"at 12:00 {\"token\":\"hunter2\"}"#, #"at 12:00 {\"token\":<redacted>"#),
        (#"x {'password': 'hunter2'}"#, #"x {'password': <redacted>"#),
        (#"x {"pass\u0077ord": ["hunter2"]}"#, #"x {"pass\u0077ord": <redacted>"#),
        ("user=emily&password=hunter2", "user=emily&password=<redacted>"),
        ("user=emily\r\npassword=hunter2 hunter2\r\nx=1", #"user=emily\npassword=<redacted>\nx=1"#),
        ("pass%77ord = \"hunter2\" x", "pass%77ord = \"<redacted>\" x"),
        ("see https://a.example/?key=hunter2&x=1", "see https://a.example/?key=<redacted>&x=1"),
        ("Authorization: Bearer hunter2\nAccept: a", #"Authorization: <redacted>\nAccept: a"#),
        ("user: emily\n  password: hunter2\n", #"user: emily\n  password: <redacted>\n"#),
        ("password: |\n  hunter2\n", "password: <redacted>"),
        ("- password: hunter2\n- a: b\n", #"- password: <redacted>\n- a: b\n"#),
        (#"password="a\"hunter2" x"#, #"password="<redacted>" x"#),
        (#"password=\"hunter2\" x"#, #"password=\"<redacted>" x"#),
        (#"password='a\'hunter2' x=1"#, "password='<redacted>' x=1"),
        ("the code = 7 and the key: value of a monkey", "the code = <redacted>"),
        ("max_tokens=5, monkey=7, secretary: x", "max_tokens=5, monkey=7, secretary: x"),
        ("no names: a < b, c = d, e : f", "no names: a < b, c = d, e : f"),
    ])
    func redactsNamedValuesInAnyText(body: String, shown: String) {
        #expect(text(body, "text/plain") == shown)
    }

    @Test(arguments: [
        ("<a><password>hunter2</password><b>x</b></a>", "<a><password><redacted></password><b>x</b></a>"),
        ("<x:Password type='y'>hunter2</x:Password>", "<x:Password type='<redacted>'><redacted></x:Password>"),
        ("<token><token>hunter2</token>hunter2</token>!", "<token><redacted></token>!"),
        ("<token><![CDATA[</token>hunter2]]></token>!", "<token><redacted></token>!"),
        ("<token><!--</token>-->hunter2</token >!", "<token><redacted></token >!"),
        ("<token>hunter2", "<token><redacted>"),
        ("<token>hunter2</tokens>hunter2", "<token><redacted>"),
        (#"<user name="emily" password="hunter2"/>"#, #"<user name="emily" password="<redacted>"/>"#),
        (#"<token value="hunter2"/><a/>"#, #"<token value="<redacted>"/><a/>"#),
        (#"<input name="password" value="hunter2"><p>x</p>"#, #"<input name="<redacted>" value="<redacted>"><p>x</p>"#),
        ("<input name='pin' value=hunter2><p>x", "<input name='<redacted>' value=<redacted>><p>x"),
        ("<entry key='api_key'>hunter2</entry>", "<entry key='<redacted>'><redacted></entry>"),
        ("<INPUT NAME='pin' VALUE='hunter2'>x<b>y</b>", "<INPUT NAME='<redacted>' VALUE='<redacted>'>x<b>y</b>"),
        ("<KEY>password</KEY><string>hunter2</string>", "<KEY>password</KEY><string><redacted></string>"),
        (
            "<dict><key>password</key><string>hunter2</string><key>a</key><string>b</string></dict>",
            "<dict><key>password</key><string><redacted></string><key>a</key><string>b</string></dict>"
        ),
        ("<name> pin </name>\n<value>hunter2</value>", #"<name> pin </name>\n<value><redacted></value>"#),
        ("<a href='?token=hunter2'>x</a>", "<a href='?token=<redacted>"),
        ("<a><b c='d'>e</b></a>", "<a><b c='d'>e</b></a>"),
    ])
    func redactsElementsAndAttributesOfXML(body: String, shown: String) {
        #expect(text(body, "application/xml") == shown)
        for limit in 0..<body.utf8.count {
            #expect(!text(body, "text/xml", limit: limit).contains("hunter2"))
        }
    }

    @Test(arguments: [
        (#"{"a":"{\"password\":\"hunter2\",\"b\":1}"}"#, #"{"a":"{\"password\":\"<redacted>\",\"b\":1}"}"#),
        (#"["[{\"token\": 1}]"]"#, #"["[{\"token\":\"<redacted>\"}]"]"#),
        (#"{"a":"{\u0022pin\u0022:1}"}"#, #"{"a":"{\"pin\":\"<redacted>\"}"}"#),
        (#"{"a":"{\"b\":\"{\\\"pin\\\":1}\"}"}"#, #"{"a":"{\"b\":\"{\\\"pin\\\":\\\"<redacted>\\\"}\"}"}"#),
        (#"{"a":"{\"pin\":\"hunter2"}"#, #"{"a":"{\"pin\":<redacted>"}"#),
        (#"{"a":"user=x&password=hunter2"}"#, #"{"a":"user=x&password=<redacted>"}"#),
        (#"{"a":"<pin>hunter2</pin>"}"#, #"{"a":"<pin><redacted></pin>"}"#),
        (#"{"next":"https:\/\/a.example\/?token=hunter2"}"#, #"{"next":"https://a.example/?token=<redacted>"}"#),
        (#"{"a":"x: y = z\\","b":"{c}"}"#, #"{"a":"x: y = z\\","b":"{c}"}"#),
    ])
    func redactsDocumentsInStringsOfJSON(body: String, shown: String) {
        #expect(text(body, "application/json") == shown)
        #expect(text(body, "text/plain") == shown)
    }

    /// Each level adds a few bytes only, so a small document could have many.
    @Test func documentsInStringsAreReadToALimitedDepth() throws {
        var body = #"{"password":"hunter2"}"#
        for _ in 0..<12 {
            body = "[\(String(decoding: try JSONEncoder().encode(body), as: UTF8.self))]"
        }
        let shown = text(body, "application/json", limit: 1 << 20)
        #expect(!shown.contains("hunter2"))
        #expect(shown.contains("<redacted>"))
    }

    @Test(arguments: [
        #"payload={"password":"hunter2"}"#, "payload=%7B%22password%22%3A%22hunter2%22%7D&x=1", "a=<pin>hunter2</pin>",
    ])
    func redactsDocumentsInForms(body: String) {
        let shown = text(body, "application/x-www-form-urlencoded")
        #expect(!shown.contains("hunter2"))
        #expect(shown.contains("=<redacted>"))
    }

    /// A hostile body must not take quadratic time; 1 MiB of each of these takes minutes if it does.
    @Test(
        .timeLimit(.minutes(20)),
        arguments: [
            "<", "<a", "<a ", "<a/x=y", "<a '", #"<a "'"#, #"="'"#, #"":"#, "a:", "<name>", "<!--", #"\"#, "=",
            "key=\"", "<a =",
        ]
    )
    func hostileTextTakesLinearTime(pattern: String) {
        let body = String(repeating: pattern, count: (1 << 17) / pattern.utf8.count)
        #expect(!text(body, "text/xml", limit: 1 << 20).isEmpty)
        #expect(Redaction.standard.body(Data(body.utf8), contentType: "text/plain") != nil)
    }

    // MARK: Lines and events

    @Test(arguments: [
        (#"{"token":"hunter2"}"# + "\n[1, 2]\r\n\n", #"{"token":"<redacted>"} [1,2]"#),
        ("\u{1E}{\"a\":1}\n\u{1E}{\"token\":\"hunter2", #"{"a":1} 17 bytes"#),
    ])
    func showsEachValidLineOfJSON(body: String, shown: String) {
        for type in ["application/x-ndjson", "application/jsonl; charset=UTF-8", "application/json-seq"] {
            #expect(text(body, type) == shown)
        }
    }

    @Test(arguments: [
        ("event: a\ndata: {\"token\": \"hunter2\"}\nid: 1\n\n", #"event: a data: {"token":"<redacted>"} id: 1"#),
        ("data: {\"token\":\r\ndata: \"hunter2\"}\r\n\r\n", #"data: {"token":"<redacted>"}"#),
        ("data:[DONE]\n\n", "data: [DONE]"),
        ("data: hello\ndata: world\n\n: ping\n", #"data: hello\nworld : ping"#),
        ("data: {\"token\": \"hunter2", "data: 18 bytes"),
        ("data: {\"token\":\nid: 1\ndata: \"hunter2\"}\n\n", #"data: {"token":"<redacted>"} id: 1"#),
        ("data: so\ndata: {\"token\": \"hunter2\"}\n\n", "data: 23 bytes"),
        ("{\"token\": \"hunter2\"}\r\rdata: a\u{2028}\r\r", #"{"token":"<redacted>"} data: a"# + "\u{FFFD}"),
    ])
    func showsEventsWithTheirData(body: String, shown: String) {
        #expect(text(body, "text/event-stream") == shown)
    }

    // MARK: Parts

    private func multipart(_ parts: [(head: String, body: String)], boundary: String = "b") -> String {
        parts.map { "--\(boundary)\r\n\($0.head)\r\n\r\n\($0.body)\r\n" }.joined() + "--\(boundary)--\r\n"
    }

    @Test func showsPartsByNameAndSizeWithoutSecrets() {
        let disposition = "Content-Disposition: form-data; name="
        let body = multipart([
            ("\(disposition)title", "Holiday"),
            ("\(disposition)\"password\"", "hunter2"),
            (
                "\(disposition)\"photo\"; filename=\"a \\\"b\\\".jpg\"\r\nContent-Type: image/jpeg",
                "hunter2\r\n--bhunter2"
            ),
            ("content-disposition: form-data; name=meta\r\ncontent-type: application/json", #"{"a":1,"pin":2}"#),
            ("X: y", ""),
            ("\(disposition)nested\r\nContent-Type: multipart/mixed; boundary=c", "--c--"),
        ])
        let shown = text(body, "multipart/form-data; boundary=\"b\"")
        #expect(
            shown == """
                title: Holiday; password: <redacted> (7 bytes); photo "a "b".jpg": 19 bytes of image/jpeg; \
                meta: {"a":1,"pin":"<redacted>"}; a part: 0 bytes; nested: 5 bytes of multipart/mixed; boundary=c
                """
        )
    }

    @Test(arguments: [
        "--b", "--b\r\n", "--b\r\nContent-Disposition: form-data; name=token\r\n\r\nhunter2", "hunter2", "--b--hunter2",
        "\r\n--bhunter2",
        "--b\nhunter2\n--b--",
    ])
    func showsNothingOfPartsWithoutAnEnd(body: String) {
        #expect(!text(body, "multipart/form-data; boundary=b").contains("hunter2"))
    }

    @Test func showsThePartsOfAnUnreadBody() {
        let body = RequestBody.multipart([
            .text("Holiday", name: "title"), .text("hunter2", name: "password"),
            .data(Data(count: 9), name: "photo", fileName: "a.jpg"),
        ])
        let shown = Redaction.standard.text(for: body, contentType: nil, style: .init(limit: 100))
        #expect(shown == #"title: Holiday; password: <redacted> (7 bytes); photo "a.jpg": 9 bytes of image/jpeg"#)
    }

    // MARK: Charsets

    @Test(
        arguments: [
            ([0x66, 0xFC, 0x72], "text/plain; charset=ISO-8859-1", "für"),
            ([0x66, 0xFC, 0x72], "text/plain; charset=utf-8", "3 bytes of text/plain; charset=utf-8"),
            ([0x66, 0xFC, 0x72], "text/plain", "3 bytes of text/plain"),
            ([0x93, 0x61, 0x9D], "text/plain; charset=\"windows-1252\"", "\u{201C}a\u{FFFD}"),
            ([0x41, 0x42], "text/plain; charset=utf-16", "\u{4142}"),
            ([0x41, 0x42], "text/plain; charset=utf-32", "2 bytes of text/plain; charset=utf-32"),
            ([0x5C, 0x41], "text/plain; charset=shift_jis", "2 bytes of text/plain; charset=shift_jis"),
            ([0x31], "application/json; charset=utf-16", "1 bytes of application/json; charset=utf-16"),
            ([0xEF, 0xBB, 0xBF, 0x61], "text/plain", "a"),
            ([0x61, 0x00], "text/plain", "2 bytes of text/plain"),
        ] as [([UInt8], String, String)]
    )
    func decodesKnownCharsetsOnly(bytes: [UInt8], contentType: String, shown: String) {
        let text = Redaction.standard.text(for: Data(bytes), contentType: contentType, style: .init(limit: 100))
        #expect(text == shown)
    }

    @Test func truncatesBetweenCharacters() {
        for limit in 0...12 {
            let shown = text("aü👋aü👋", "text/plain", limit: limit)
            #expect(shown.hasSuffix("… (14 bytes)"))
            #expect(!shown.unicodeScalars.contains("\u{FFFD}"))
            #expect("aü👋aü👋".hasPrefix(shown.dropLast("… (14 bytes)".count)))
        }
    }

    @Test func readsOnlyTheShownStartOfALongText() {
        let data = Data("start".utf8) + Data(count: 8 << 20) + Data([0xFF])
        let shown = Redaction.standard.text(for: data, contentType: "text/plain", style: .init(limit: 5))
        #expect(shown == "start… (\(data.count) bytes)")
    }

    // MARK: Layouts

    @Test func linesOfTextAreKeptIfRequested() {
        let data = Data("a\r\nb\n\tc\u{1B}".utf8)
        let shown = Redaction.standard.text(
            for: data,
            contentType: "text/plain",
            style: .init(limit: 99, isPretty: true)
        )
        #expect(shown == "a\n    b\n        c\u{FFFD}")
        #expect(text("a\r\nb\n\tc\u{1B}", "text/plain") == #"a\nb\n\tc"# + "\u{FFFD}")
    }

    // MARK: Commands

    @Test(
        arguments: [
            ("application/x-ndjson", "{\"a\": 1}\n{\"token\": 1}\n", "{\"a\": 1}\n{\"token\":\"<redacted>\"}\n"),
            ("application/x-ndjson", "{\"a\": 1}\n{\"token", nil),
            ("application/json", "{ \"a\": 1 }", "{ \"a\": 1 }"),
            ("application/json; charset=utf-16", "{}", nil),
            (
                "multipart/form-data; boundary=b",
                "--b\r\nContent-Disposition: form-data; name=token\r\n\r\nx\r\n--b--", nil
            ),
            (
                "multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--b--",
                "--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--b--"
            ),
            ("multipart/form-data", "token", nil),
            (
                "multipart/form-data; boundary=b",
                "--b\r\nContent-Disposition: form-data; name=a\r\nContent-Type: application/json\r\n\r\n{\"token\":1}\r\n--b--",
                nil
            ),
            ("application/octet-stream", #"{"token":"x","a":1}"#, #"{"token":"<redacted>","a":1}"#),
            ("application/octet-stream", #"{"a": 1}"#, #"{"a": 1}"#),
            ("text/event-stream", "data: {\"token\":1}\n\n", "data: {\"token\":\"<redacted>\"}\n\n"),
            ("text/event-stream", "\u{FEFF}data:{ \"a\": 1 }\r\n\r\ndata", "\u{FEFF}data:{ \"a\": 1 }\r\n\r\ndata"),
            // Language models respond with tokens, and with a last event that is no JSON.
            (
                "text/event-stream; charset=utf-8", "data: {\"token\":1}\n\ndata: [DONE]\n\n",
                "data: {\"token\":\"<redacted>\"}\n\ndata: [DONE]\n\n"
            ),
            (
                "text/event-stream", "id: 1\r\ndata: {\"token\":\r\nid: 2\r\ndata: 1}\r\n\r\n: ping\r",
                "id: 1\r\nid: 2\r\ndata: {\"token\":\"<redacted>\"}\r\n\r\n: ping\r"
            ),
            // Only CR and LF end a line. Other line separators are part of its text.
            (
                "text/event-stream",
                "data: a\u{2028}\u{85}b\u{0B}c\n\ndata: {\"a\":\"x\u{2028}\u{2029}\",\"token\":1}\n\n",
                "data: a\u{2028}\u{85}b\u{0B}c\n\ndata: {\"a\":\"x\\u2028\\u2029\",\"token\":\"<redacted>\"}\n\n"
            ),
            ("text/event-stream", "data: {\"access_token\":\"s3cr3t-ab", nil),
            ("text/event-stream", "data: {\"token\":\"s3cr3t\"} trailing\n\n", nil),
            ("text/event-stream", "data: so\ndata: [{\"token\":\"s3cr3t\"}]\n\n", nil),
            ("text/event-stream", "{\"token\":\"s3cr3t\"}\n\n", nil),
            ("text/event-stream", "{\"token\":\"s3cr3t\n\n", nil),
            ("text/event-stream; charset=utf-16", "data: a\n\n", nil),
            ("text/event-stream", "data: user=emily&password=s3cr3t\n\n", nil),
            ("text/plain", "user=emily&password=hunter2&x=1", "user=emily&password=<redacted>&x=1"),
            ("text/plain", "a = b", "a = b"),
            ("image/png", "\u{89}PNG token", "\u{89}PNG token"),
            (
                "application/xml", "<a><pin>hunter2</pin><b pin='hunter2'/></a>",
                "<a><pin>&lt;redacted&gt;</pin><b pin='&lt;redacted&gt;'/></a>"
            ),
            ("text/plain", #"x({"password":"hunter2"})"#, #"x({"password":<redacted>"#),
        ] as [(String, String, String?)]
    )
    func bodyToStoreIsRedactedOrOmitted(contentType: String, body: String, sent: String?) {
        let data = Redaction.standard.body(Data(body.utf8), contentType: contentType)
        #expect(data == sent.map { Data($0.utf8) })
    }
}
