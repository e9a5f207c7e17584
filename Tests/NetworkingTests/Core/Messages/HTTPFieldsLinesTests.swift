import FoundationForNetworking
import HTTPTypes
import Networking
import NetworkingCore
import NetworkingTesting
import Testing

@Suite(.timeLimit(.minutes(20)))
struct HTTPFieldsLinesTests {
    @Test(arguments: [
        ([], nil), (["a"], "a"), (["a", "a"], "a"), (["a, a"], "a"), (["a, a", "a"], "a"), (["a", "b"], nil),
        (["a, b"], "a, b"), (["a, b, a, b"], "a, b"), (["a, b, a"], "a, b, a"), ([""], ""), (["", ""], ""),
        // A date contains the separator.
        (
            ["Wed, 09 Jun 1999 10:18:14 GMT, Wed, 09 Jun 1999 10:18:14 GMT"], "Wed, 09 Jun 1999 10:18:14 GMT"
        ),
        (["Wed, 09 Jun 1999 10:18:14 GMT", "Wed, 09 Jun 1999 10:18:14 GMT"], "Wed, 09 Jun 1999 10:18:14 GMT"),
        // A comma within quotes, or without a space, separates nothing.
        (["\", \""], "\", \""), (["\"a\", \"a\""], "\"a\""), (["/a,/a"], "/a,/a"),
    ])
    func equalLinesOfASingletonCountOnce(values: [String], expected: String?) {
        var fields: HTTPFields = [.accept: "other"]
        fields[values: .location] = values
        #expect(fields[singleton: .location] == expected)
    }

    @Test func readersIgnoreRepetitions() async throws {
        var fields = HTTPFields()
        for (name, value) in [
            (HTTPField.Name.contentType, "text/plain; charset=iso-8859-1"), (.retryAfter, "7"),
            (.contentRange, "bytes 0-2/3"), (.date, "Wed, 09 Jun 1999 10:18:14 GMT"),
            (.lastModified, "Wed, 09 Jun 1999 10:18:00 GMT"),
        ] {
            fields[values: name] = [value, value]
        }
        let response = HTTPResponseData(
            request: HTTPRequestData(),
            status: .partialContent,
            headerFields: fields,
            data: Data([0x5A, 0x6F, 0xEB])
        )
        #expect(response.text == "Zoë")
        #expect(response.http.retryAfter(now: .distantPast) == .seconds(7))
        #expect(response.http.contentRange?.range == 0..<3)
        #expect(response.http.strongLastModified == "Wed, 09 Jun 1999 10:18:00 GMT")

        var different = response.http
        different.headerFields[values: .retryAfter] = ["7", "8"]
        #expect(different.retryAfter(now: .distantPast) == nil)
    }

    @Test(arguments: [
        (["/there", "/there"], "/there"), (["/there, /there"], "/there"), (["/there", "/elsewhere"], nil),
    ])
    func redirectNeedsOneLocation(locations: [String], path: String?) async throws {
        let transport = MockTransport { request in
            guard request.path == "/" else { return .ok() }
            var fields = HTTPFields()
            fields[values: .location] = locations
            return MockResponse(status: .found, headerFields: fields)
        }
        let response = try await transport.server(authority: "example.com").data(HTTPRequestData())
        #expect(transport.requests.last?.path == path ?? "/")
        #expect(response.status == (path == nil ? .found : .ok))
    }

    @Test func cookiesBecomeOneField() {
        var fields: HTTPFields = [.cookie: "a=1", .accept: "b", .cookie: "c=2; d=3"]
        var secret = HTTPField(name: .cookie, value: "e=4")
        secret.indexingStrategy = .disallow
        fields.append(secret)
        fields.joinCookies()
        #expect(fields[values: .cookie] == ["a=1; c=2; d=3; e=4"])
        #expect(fields[fields: .cookie].map(\.indexingStrategy) == [.disallow])
        #expect(fields[.accept] == "b")
        let joined = fields
        fields.joinCookies()
        #expect(fields == joined)
    }

    @Test func headerFieldsSetOneCookieField() {
        var fields = HeaderFields()
        fields[.cookie] = "a=1; b=2"
        #expect(fields[values: .cookie] == ["a=1; b=2"])
        fields[.cookie] = nil
        #expect(fields.isEmpty)
    }

    @Test func cURLCommandHasOneCookieField() {
        let fields: HeaderFields = [.cookie: "a=1", .cookie: "b=2"]
        let request = HTTPRequestData(authority: "example.com", headerFields: fields)
        #expect(request.curl(redaction: nil).contains("'Cookie: a=1; b=2'"))
    }

    @Test(arguments: ["a=\u{1}", "a\u{7F}=1", "a=1; b=\u{1F}", "a=1\r\nb", "a=\0"])
    func receivedCookieWithAControlCharacterIsIgnored(value: String) {
        var fields = HTTPFields()
        fields.appendReceived(.setCookie, value)
        #expect(fields.isEmpty)
        fields.appendReceived(.accept, value)
        fields.appendReceived(.setCookie, "a=\t1")
        #expect(fields.count == 2)
    }
}
