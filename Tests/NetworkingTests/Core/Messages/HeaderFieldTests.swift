import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@Suite
struct HeaderFieldTests {
    @Test func literalsAcceptStandardNamesAndText() {
        let id = "7"
        let fields: HeaderFields = [.accept: "text/html", "X-Id": id, .init(HTTPField.Name.range): "bytes=0-1"]
        #expect(fields.dictionary == ["Accept": "text/html", "X-Id": "7", "Range": "bytes=0-1"])
        let none: HeaderFields = [:]
        #expect(none.isEmpty)
    }

    @Test func factoriesWriteCommonFields() {
        let fields: HeaderFields = [
            .accept(.json, .html, .any), .acceptLanguage(["de-CH", "de", "en"]), .contentType(.json),
            .userAgent("Shop/2.1"), .authorization(bearer: "abc"), .field("X-Id", "7"),
        ]
        #expect(
            fields.dictionary == [
                "Accept": "application/json, text/html;q=0.9, */*;q=0.8",
                "Accept-Language": "de-CH, de;q=0.9, en;q=0.8", "Content-Type": "application/json",
                "User-Agent": "Shop/2.1", "Authorization": "Bearer abc", "X-Id": "7",
            ]
        )
        #expect(HeaderField.contentType("image/webp") == .contentType(MediaType(stringLiteral: "image/webp")))
        let many = HeaderField.acceptLanguage((1...12).map { "x-\($0)" })
        #expect(many.value.hasSuffix("x-12;q=0.1"))
        #expect(HeaderField.acceptLanguage([]).value.isEmpty)
    }

    @Test func factoriesOfOtherLibrariesWriteTheirFields() {
        let fields: HeaderFields = [
            .acceptCharset("utf-8", "iso-8859-1"), .acceptEncoding("br", "gzip"), .authorization("ApiKey abc"),
            .contentDisposition("attachment; filename=\"a.pdf\""), .contentEncoding("gzip", "br"),
        ]
        #expect(
            fields.dictionary == [
                "Accept-Charset": "utf-8, iso-8859-1;q=0.9", "Accept-Encoding": "br, gzip;q=0.9",
                "Authorization": "ApiKey abc", "Content-Disposition": "attachment; filename=\"a.pdf\"",
                "Content-Encoding": "gzip, br",
            ]
        )
    }

    @Test func fieldsThatAreAddedKeepTheirFaults() async throws {
        let transport = MockTransport { _ in .ok() }
        for faulty in [["X-Id": "a\r\nX-Evil: b"], ["not a name": "a"]] as [HeaderFields] {
            let first: HeaderFields = [.accept: "text/html"]
            var added = first
            added += faulty
            for headers in [added, first + faulty] {
                let request = HTTPRequestData(authority: "a.example", headerFields: headers)
                let error = await #expect(throws: NetworkingError.self) { try await transport.data(request) }
                #expect(error?.kind == .invalidRequest)
            }
        }
        #expect(transport.requests.isEmpty)
    }

    @Test func redactsCredentials() {
        let header = HeaderField.authorization(bearer: "secret-token")
        #expect(!"\(header)".contains("secret-token"))
        var dumped = ""
        dump(header, to: &dumped)
        #expect(!dumped.contains("secret-token"))
        #expect(header.name == .authorization)
    }

    @Test func setReplacesAndAppendAdds() {
        var fields: HeaderFields = ["X-Id": "1"]
        fields.append(HeaderField("X-Id", "2"))
        #expect(fields["x-id"] == "1, 2")
        fields.set(HeaderField("X-ID", "3"))
        #expect(fields["x-id"] == "3")
        fields["x-id"] = nil
        #expect(fields.isEmpty)
        #expect(fields["not a name"] == nil)
    }

    @Test func readsAndWritesDictionaries() {
        let dictionary = ["B": "2", "A": "1"]
        let fields = HeaderFields(dictionary)
        #expect(fields.map(\.name.rawName) == ["A", "B"])
        #expect(fields.dictionary == dictionary)
        var repeated = HeaderFields()
        repeated.append(name: .setCookie, value: "a=1")
        repeated.append(name: .setCookie, value: "b=2")
        #expect(repeated.dictionary == ["Set-Cookie": "a=1, b=2"])
    }

    @Test func invalidNameFailsTheSend() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.server(authority: "a.example")
        var later = HTTPRequestData.get("a")
        later.headerFields["X Id"] = "1"
        var set = HTTPRequestData.get("a")
        set.headerFields.set(HeaderField("X Id", "1"))
        for request in [
            HTTPRequestData.get("a", headers: ["X Id": "1"]), .get("a", headers: [.field("X Id", "1")]),
            .get("a", headers: HeaderFields(["X Id": "1"])), later, set,
        ] {
            let error = try #require(await #expect(throws: NetworkingError.self) { try await network.data(request) })
            #expect(error.reason.contains("\"X Id\""))
        }
        let value = HTTPRequestData.get("a", headers: [.authorization(bearer: "abc\n")])
        let error = try #require(await #expect(throws: NetworkingError.self) { try await network.data(value) })
        #expect(error.reason.contains("Authorization"))
        #expect(transport.requests.isEmpty)
    }

    @Test func serverSetsSeveralFields() async throws {
        let transport = MockTransport { _ in .ok() }
        let network =
            transport
            .server(headerFields: [.accept: "application/json", .authorization: "Bearer abc", "X-Client": "app"])
            .server(authority: "a.example")
        try await network.data(.get("a", headers: [.accept: "text/html"]))
        try await network.data(HTTPRequestData(authority: "b.example", path: "a"))
        let fields = transport.requests.map(\.headerFields.dictionary)
        #expect(fields.first == ["Accept": "text/html", "Authorization": "Bearer abc", "X-Client": "app"])
        #expect(fields.last == ["Accept": "application/json", "X-Client": "app"])
        let overriding = transport.server(headerFields: [.accept: "*/*"], overriding: true)
            .server(authority: "a.example")
        try await overriding.data(.get("a", headers: [.accept: "text/html"]))
        #expect(transport.requests.last?.headerFields[.accept] == "*/*")
        let invalid = transport.server(headerFields: ["X Id": "1", .accept: "a\nb"]).server(authority: "a.example")
        await #expect(throws: NetworkingError.self) { try await invalid.data(.get("a")) }
        #expect(transport.requests.count == 3)
    }

    @Test func factoriesWriteConditionsAndRanges() throws {
        let date = Date(timeIntervalSince1970: 784_111_777.9)
        let page = try #require(URL(string: "https://emily:secret@shop.example/list?page=2#top"))
        let fields: HeaderFields = [
            .ifMatch("\"1\""), .ifNoneMatch("W/\"2\""), .ifModifiedSince(date),
            .cacheControl("no-cache", "max-stale=60"),
            .origin("https://shop.example"), .referer(page), .range(bytes: 0...1023),
        ]
        #expect(
            fields.dictionary == [
                "If-Match": "\"1\"", "If-None-Match": "W/\"2\"", "If-Modified-Since": "Sun, 06 Nov 1994 08:49:37 GMT",
                "Cache-Control": "no-cache, max-stale=60", "Origin": "https://shop.example",
                "Referer": "https://shop.example/list?page=2", "Range": "bytes=0-1023",
            ]
        )
        #expect(HeaderField.range(bytes: 500...).value == "bytes=500-")
        #expect(HeaderField.range(lastBytes: 500).value == "bytes=-500")
    }

    @Test(arguments: [
        (1.0, "application/json"), (0.5, "application/json;q=0.5"), (0.25, "application/json;q=0.25"),
        (0.1234, "application/json;q=0.123"), (0, "application/json;q=0.0"), (-1, "application/json;q=0.0"),
        (7, "application/json"), (0.9999, "application/json"), (0.001, "application/json;q=0.001"),
        (.nan, "application/json;q=0.0"),
    ])
    func qualityHasUpToThreeDecimals(quality: Double, expected: String) {
        #expect(HeaderField.accept([.json: quality]).value == expected)
        #expect(HeaderField.accept([.html: 1, .json: quality]).value == "text/html, \(expected)")
    }

    @Test func basicCredentialsAreEncodedAndRedacted() {
        let header = HeaderField.authorization(basic: "emily", password: "pass wörd")
        #expect(header.value == "Basic \(Data("emily:pass wörd".utf8).base64EncodedString())")
        #expect(!"\(header)".contains(header.value.dropFirst(6)))
        var fields = HeaderFields()
        fields.set(header)
        #expect(fields.httpFields.first?.isCredential == true)
    }
}
