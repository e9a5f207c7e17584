import Foundation
import Networking
import NetworkingTesting
import Testing

@Suite
struct RequestMatcherTests {
    private func get(_ path: String, fields: HeaderFields = [:]) -> HTTPRequestData {
        HTTPRequestData(authority: "api.example.com", path: path, headerFields: fields)
    }

    private func post(_ body: RequestBody?) -> HTTPRequestData {
        HTTPRequestData(method: .post, authority: "api.example.com", path: "/users", body: body)
    }

    // MARK: Line

    @Test func malformedJSONMatchesNothingAndReportsThePosition() {
        let matcher = RequestMatcher.json(text: #"{"id": 1, }"#)
        let request = HTTPRequestData(method: .post, authority: "api.example.com", body: .json(["id": 1]))
        #expect(!matcher.matches(request))
        #expect(
            matcher.mismatches(in: request)
                == ["The stub's expected body is not valid JSON, from byte 11 on: correct its text."]
        )
    }

    @Test(
        arguments: [
            ("/users", "/users", true), ("users", "/users?page=2", true), ("/users", "/users/", false),
            ("/users/", "/users", false), ("/", "/", true), ("/users/:id", "/users/42", true),
            ("/users/:id", "/users/", false), ("/users/:id", "/users/42/posts", false),
            ("/users/:id/posts", "/users/42/posts", true), ("/users/*", "/users/42", true),
            ("/users/*", "/users/42/posts", true), ("/users/*", "/users", false), ("/users/*", "/users/", true),
            ("/*/posts", "/42/posts", true), ("/*/posts", "/42/comments", false), ("/*", "/", true),
            ("*", "/any/thing", true),
            ("/caf\u{E9}", "/caf%C3%A9", true), ("/%7Euser", "/~user", true), ("/a%2Fb", "/a/b", false),
            ("/a%2Fb", "/a%2fb", true), ("/%3Aid", "/:id", true), ("/%3Aid", "/42", false), ("/%2A", "/42", false),
            ("/users?page=2", "/users?q=a&page=2", true), ("/users?page=2", "/users?page=3", false),
            ("/users:batch", "/users:batch", true), ("/Users", "/users", false),
        ] as [(String, String, Bool)]
    )
    func pathsAreCompared(pattern: String, path: String, matches: Bool) {
        #expect(RequestMatcher.path(pattern).matches(get(path)) == matches)
        #expect(RequestMatcher.path(pattern).mismatches(in: get(path)).isEmpty == matches)
    }

    @Test(
        arguments: [
            ("https://api.example.com/users", "https://api.example.com/users", true),
            ("https://api.example.com/users", "https://API.example.com:443/users?page=1", true),
            ("https://api.example.com/users", "http://api.example.com/users", false),
            ("https://api.example.com/users", "https://api.example.com:8443/users", false),
            ("http://api.example.com:80/users", "http://api.example.com/users", true),
            ("https://*.example.com/*", "https://api.example.com/users/42", true),
            ("https://*.example.com/*", "https://example.com/users", false),
            ("https://api.example.com", "https://api.example.com/", true),
            ("https://api.example.com?q=1", "https://api.example.com/?q=1", true),
            ("https://api.example.com/:a/*", "https://api.example.com/a/b/c", true),
        ] as [(String, String, Bool)]
    )
    func urlsAreCompared(pattern: String, url: String, matches: Bool) throws {
        let request = HTTPRequestData(url: try #require(URL(string: url)))

        #expect(RequestMatcher.url(pattern).matches(request) == matches)
        #expect(RequestMatcher.url(pattern).mismatches(in: request).isEmpty == matches)
    }

    /// The default port is that of the request's scheme, as for the authorities that receive credentials.
    @Test(
        arguments: [
            ("a.example:443", "https://a.example/", true), ("a.example:443", "http://a.example/", false),
            ("a.example:80", "http://a.example/", true), ("a.example:80", "https://a.example/", false),
            ("a.example", "https://a.example:443/", true), ("a.example", "http://a.example:443/", false),
        ]
    )
    func portsOfAuthoritiesAreComparedUnderTheSchemeOfTheRequest(name: String, url: String, matches: Bool) throws {
        let request = HTTPRequestData(url: try #require(URL(string: url)))

        #expect(RequestMatcher.authority(name).matches(request) == matches)
    }

    @Test func hostsAndAuthoritiesAreCompared() {
        let request = HTTPRequestData(scheme: "http", authority: "Api.Example.com:80", path: "/")

        #expect(RequestMatcher.host("api.example.com").matches(request))
        #expect(RequestMatcher.host("*.example.com").matches(request))
        #expect(RequestMatcher.authority("api.example.com").matches(request))
        #expect(RequestMatcher.authority("api.example.com:80").matches(request))
        #expect(
            RequestMatcher.host("b.example").mismatches(in: request) == ["The host is api.example.com, not b.example."]
        )
        #expect(
            RequestMatcher.authority("b.example:1").mismatches(in: request)
                == ["The authority is api.example.com, not b.example:1."]
        )
    }

    @Test func methodAndPathMismatchesAreBothReported() {
        #expect(
            RequestMatcher.request(.post, "/users/:id").mismatches(in: get("/user/42"))
                == ["The method is GET, not POST.", "The path is /user/42, not /users/:id."]
        )
    }

    @Test func requestMismatchNamesTheDifference() {
        let expected = HTTPRequestData(
            method: .post,
            authority: "api.example.com",
            path: "/users?page=1",
            headerFields: [.accept: "text/css", .authorization: "Bearer expected"],
            body: .json(["name": "Emily", "password": "geheim"])
        )
        let matcher = RequestMatcher.equal(to: expected)
        #expect(matcher.mismatches(in: expected) == [])

        let other = HTTPRequestData(
            method: .put,
            authority: "api.example.com",
            path: "/users?page=2",
            headerFields: [.authorization: "Bearer secret", .range: "bytes=0-"],
            body: .json(["name": "Eve", "password": "secret"])
        )
        #expect(
            matcher.mismatches(in: other) == [
                "The method is PUT, not POST.",
                "The URL is https://api.example.com/users?page=2, not https://api.example.com/users?page=1.",
                "There is no header field Accept.",
                "The header field Authorization has another value, which is not shown.",
                "The field Range is not expected.",
                #"The body is {"name":"Eve","password":"<redacted>"}, not {"name":"Emily","password":"<redacted>"}."#,
            ]
        )
    }

    // MARK: Fields

    @Test func queryItemsAreCompared() {
        let request = get("/search?q=hello%20world&tag=a&tag=b&empty&token=geheim")

        #expect(RequestMatcher.query("q").matches(request))
        #expect(RequestMatcher.query("q", "hello world").matches(request))
        #expect(RequestMatcher.query("tag", "b").matches(request))
        #expect(RequestMatcher.query("empty", "").matches(request))
        #expect(RequestMatcher.query("page").mismatches(in: request) == ["There is no query item page."])
        #expect(
            RequestMatcher.query("tag", "c").mismatches(in: request) == [
                #"The query item tag is "a" and "b", not "c"."#
            ]
        )
        #expect(
            RequestMatcher.query("token", "secret").mismatches(in: request)
                == ["The query item token has another value, which is not shown."]
        )
        #expect("\(RequestMatcher.query("token", "secret"))" == "query token=<redacted>")
    }

    @Test func headerFieldsAreCompared() {
        let request = get(
            "/",
            fields: [.accept: "text/css", .acceptLanguage: "de", .acceptLanguage: "en", .cookie: "a=b"]
        )

        #expect(RequestMatcher.headerField(.accept).matches(request))
        #expect(RequestMatcher.headerField(.accept, "text/css").matches(request))
        #expect(RequestMatcher.headerField(.acceptLanguage, "en").matches(request))
        #expect(RequestMatcher.headerField(.acceptLanguage, "de, en").matches(request))
        #expect(
            RequestMatcher.headerField(.accept, "text/html").mismatches(in: request)
                == [#"The header field Accept is "text/css", not "text/html"."#]
        )
        #expect(RequestMatcher.headerField(.range).mismatches(in: request) == ["There is no header field Range."])
        #expect(
            RequestMatcher.headerField(.cookie, "c=d").mismatches(in: request)
                == ["The header field Cookie has another value, which is not shown."]
        )
        #expect("\(RequestMatcher.headerField(.authorization, "Bearer secret"))" == "Authorization: <redacted>")
    }

    @Test func formsAreCompared() {
        let request = post(.form(["user": "emily b", "password": "geheim"]))

        #expect(RequestMatcher.formField("user", "emily b").matches(request))
        #expect(RequestMatcher.form(["password": "geheim", "user": "emily b"]).matches(request))
        #expect(
            RequestMatcher.form(["user": "eve", "password": "other", "remember": "1"]).mismatches(in: request) == [
                "The form field password has another value, which is not shown.",
                "There is no form field remember.",
                #"The form field user is "emily b", not "eve"."#,
            ]
        )
        #expect(
            RequestMatcher.form(["user": "emily b"]).mismatches(in: request)
                == ["The form field password is not expected."]
        )
        #expect(!RequestMatcher.formField("user").matches(post(nil)))
        #expect(
            RequestMatcher.formField("password", "other").mismatches(in: request)
                == ["The form field password has another value, which is not shown."]
        )
    }

    // MARK: Bodies

    @Test func bodiesAreCompared() {
        let request = post(.data(Data("hello world".utf8), contentType: "text/plain"))

        #expect(RequestMatcher.body(Data("hello world".utf8)).matches(request))
        #expect(RequestMatcher.body(text: "hello world").matches(request))
        #expect(RequestMatcher.body(containing: "lo wo").matches(request))
        #expect(
            RequestMatcher.body(Data("hello".utf8)).mismatches(in: request) == ["The body has 11 bytes, not 5."]
        )
        #expect(
            RequestMatcher.body(text: "hello you").mismatches(in: request)
                == ["The body is hello world, not hello you."]
        )
        #expect(
            RequestMatcher.body(containing: "moon").mismatches(in: request)
                == ["The body is hello world, which does not contain moon."]
        )
    }

    @Test(
        arguments: [
            (#"{"a":1,"b":[true,null]}"#, #"{ "b": [true, null], "a": 1.0 }"#, true, true),
            (#"{"a":1}"#, #"{"a":1,"b":2}"#, false, true),
            (#"{"a":{"b":1}}"#, #"{"a":{"b":1,"c":2}}"#, false, true),
            (#"{"a":1}"#, #"{"a":2}"#, false, false),
            (#"[1,2]"#, #"[1,2,3]"#, false, false),
            (#"[{"a":1}]"#, #"[{"a":1,"b":2}]"#, false, true),
            (#""caf\u00e9""#, "\"caf\u{E9}\"", true, true),
            (#""\ud83d\ude00\n""#, "\"\u{1F600}\\n\"", true, true),
            ("1e2", "100", true, true), ("-0", "0", true, true), ("0.10", "0.1", true, true),
            ("12345678901234567890", "12345678901234567891", false, false),
            ("1", "1e99999999999999999999", false, false), ("1e-99999999999999999999", "1", false, false),
            ("1e+99999999999999999999", "1e-99999999999999999999", false, false),
            ("0", "0e99999999999999999999", true, true), ("1e+2", "1E2", true, true), ("1e-2", "0.01", true, true),
            ("\"caf\u{E9}\"", "\"cafe\u{301}\"", false, false),
            ("{\"\u{E9}\":1}", "{\"e\u{301}\":1}", false, false),
            ("{\"e\u{301}\":1,\"\u{E9}\":2}", "{\"\u{E9}\":2,\"e\u{301}\":1}", true, true),
            ("1", "\"1\"", false, false), ("null", "false", false, false),
            (#"{"a":1}"#, "a=1", false, false), (#"{"a":1}"#, "", false, false),
            (#"{"a":1}"#, #"{"a":1}}"#, false, false),
            (#"{"a":1}"#, #"{"a":01}"#, false, false), (#"[]"#, "[1,]", false, false),
            (#""""#, "\"\\x\"", false, false),
        ] as [(String, String, Bool, Bool)]
    )
    func jsonIsComparedByItsValue(expected: String, body: String, isEqual: Bool, isIncluded: Bool) {
        let request = post(.data(Data(body.utf8), contentType: "application/json"))

        #expect(RequestMatcher.json(text: expected).matches(request) == isEqual)
        #expect(RequestMatcher.json(text: expected).mismatches(in: request).isEmpty == isEqual)
        #expect(RequestMatcher.json(includingText: expected).matches(request) == isIncluded)
        #expect(RequestMatcher.json(includingText: expected).mismatches(in: request).isEmpty == isIncluded)
    }

    @Test func valuesAreComparedAsJSON() {
        #expect(RequestMatcher.json(["name": "Emily"]).matches(post(.json(["name": "Emily"]))))
        #expect(RequestMatcher.json(including: ["name": "Emily"]).matches(post(.json(["name": "Emily", "id": "1"]))))
    }

    @Test func differenceInJSONHasItsPath() {
        let request = post(
            .data(
                Data(
                    #"""
                    {"user": {"name": "Eve", "tags": [1, {"x y": 2}], "extra": null, "password": "geheim"}, "list": [1]}
                    """#
                    .utf8
                ),
                contentType: "application/json"
            )
        )
        let expected = #"""
            {"user": {"name": "Emily", "tags": [1, {"x y": 3}], "password": "secret", "age": 42}, "list": [1, 2]}
            """#

        #expect(
            RequestMatcher.json(text: expected).mismatches(in: request) == [
                "$.list has 1 element, not 2.",
                "$.user.age is missing; it should be 42.",
                #"$.user.name is "Eve", not "Emily"."#,
                "$.user.password has another value, which is not shown.",
                #"$.user.tags[1]["x y"] is 2, not 3."#,
            ]
        )
        #expect(
            RequestMatcher.json(text: #"{"user": {}, "list": [1]}"#).mismatches(in: request).first
                == "$.user.extra is not expected."
        )
        let decomposed = post(.data(Data("\"cafe\u{301}\"".utf8), contentType: "application/json"))
        #expect(
            RequestMatcher.json("caf\u{E9}").mismatches(in: decomposed)
                == ["$ is \"caf\u{E9}\", and differs in a part that is not shown."]
        )
        #expect(RequestMatcher.json(text: "1").mismatches(in: post(nil)) == ["There is no body."])
        #expect(RequestMatcher.json(text: "1").mismatches(in: post(.form(["a": "b"]))) == ["The body is not JSON."])
        #expect(!"\(RequestMatcher.json(text: expected))".contains("secret"))
    }

    @Test func deeplyNestedBodiesDoNotMatch() {
        let body = String(repeating: "[", count: 100_000)
        #expect(!RequestMatcher.json(text: "[]").matches(post(.data(Data(body.utf8)))))
    }

    @Test func textIsFoundInALargeBody() {
        let request = post(.data(Data(repeating: 97, count: 10_000_000) + Data("needle".utf8)))

        #expect(RequestMatcher.body(containing: "needle").matches(request))
        #expect(!RequestMatcher.body(containing: "needles").matches(request))
        #expect(RequestMatcher.body(containing: "").matches(request))
    }

    @Test func largeBodiesAreComparedQuickly() {
        let rows = (0..<20_000).map { #"{"id":\#($0),"name":"row \#($0)","tags":["a","b"]}"# }.joined(separator: ",")
        let request = post(.data(Data("[\(rows)]".utf8), contentType: "application/json"))
        let matchers = (0..<100).map { RequestMatcher.json(text: "[\($0)]") } + [.json(text: "[\(rows)]")]

        // One megabyte, which all matchers together parse once.
        #expect(RequestMatcher.anyOf(matchers).matches(request))
    }

    // MARK: Combining

    @Test func matchersAreCombined() {
        let request = get("/users?page=2")
        let users = RequestMatcher.path("/users")
        let posts = RequestMatcher.path("/posts")

        #expect((users && .query("page")).matches(request))
        #expect(!(users && .query("tag")).matches(request))
        #expect((posts || users).matches(request))
        #expect(!(posts || .query("tag")).matches(request))
        #expect((!posts).matches(request))
        #expect(RequestMatcher.any.matches(request))
        #expect(RequestMatcher.all([]).matches(request))
        #expect(!RequestMatcher.anyOf([]).matches(request))
        #expect((users && !(posts || .method(.post))).matches(request))

        #expect((!users).mismatches(in: request) == ["It must not be /users."])
        #expect(
            (posts && .query("page", "3")).mismatches(in: request)
                == ["The path is /users, not /posts.", #"The query item page is "2", not "3"."#]
        )
        #expect(
            (posts || .path("/user")).mismatches(in: request)
                == ["The path is /users, not /user. The other alternatives are no closer."]
        )
        #expect(
            RequestMatcher.where("a login") { $0.path == "/login" }.mismatches(in: request) == ["It is not a login."]
        )
        #expect("\((posts || users) && !.query("page"))" == "(/posts or /users) and not (query page)")
    }

    @Test func descriptionsContainNoMarkedSecret() {
        let request = get("/users/geheim42").with { $0.markSecret("geheim42") }

        let sentences = RequestMatcher.path("/posts/:id").mismatches(in: request)

        #expect(sentences == ["The path is /users/<redacted>, not /posts/:id."])
    }
}
