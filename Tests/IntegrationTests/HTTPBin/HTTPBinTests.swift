#if URLSession && (os(Linux) || os(macOS))
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

extension Loopback {
    /// The routes of httpbin, an independent server, over the URLSession transport.
    @Suite(
        .requires(.httpbin),
        .httpBin,
        .timeLimit(.minutes(20))
    )
    struct HTTPBinTests {
        private let url: URL
        private let network: any NetworkingComponent

        init() throws {
            url = try #require(PythonServer.url)
            network = URLSessionTransport(configuration: .ephemeral).timeout(.seconds(40)).server(baseURL: url)
        }

        /// The description of a request that httpbin returns.
        private struct Echo: Decodable {
            var url: String
            var args: [String: String]
            var headers: [String: String]
            var method: String?
            var data: String?
            var form: [String: String]?
            var json: [String: String]?
        }

        private struct Cookies: Decodable {
            var cookies: [String: String]
        }

        private struct Login: Decodable {
            var authenticated: Bool
            var user: String?
            var token: String?
        }

        // MARK: Requests

        @Test(arguments: ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE"])
        func sendsTheMethod(method: String) async throws {
            let request = HTTPRequestData(method: try #require(HTTPRequest.Method(method)), path: "anything")
            let echo = try await network.request(request, as: Echo.self)
            #expect(echo.method == method)
            #expect(echo.url == "\(url)/anything")
            #expect(echo.data == "")
        }

        @Test(arguments: [HTTPRequest.Method.post, .put, .patch, .delete])
        func sendsAJSONBody(method: HTTPRequest.Method) async throws {
            let path = method.rawValue.lowercased()
            let request = HTTPRequestData(method: method, path: path, body: .json(["name": "Emily"]))
            let echo = try await network.request(request, as: Echo.self)
            #expect(echo.data == "{\"name\":\"Emily\"}")
            #expect(echo.json == ["name": "Emily"])
            #expect(echo.headers["Content-Type"] == "application/json")
            #expect(echo.headers["Content-Length"] == "16")
        }

        @Test func sendsAForm() async throws {
            let body = RequestBody.form(["user": "kminchelle", "motto": "a+b & c=ü"])
            let request = HTTPRequestData(method: .post, path: "post", body: body)
            let echo = try await network.request(request, as: Echo.self)
            #expect(echo.form == ["user": "kminchelle", "motto": "a+b & c=ü"])
            #expect(echo.data == "")
        }

        @Test func sendsBytes() async throws {
            let bytes = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            let request = HTTPRequestData(method: .put, path: "anything", body: .data(bytes))
            let echo = try await network.request(request, as: Echo.self)
            #expect(echo.data == "data:application/octet-stream;base64,\(bytes.base64EncodedString())")
        }

        @Test func sendsTheQuery() async throws {
            struct Repeated: Decodable {
                var args: [String: [String]]
            }
            var request = HTTPRequestData(path: "get?a=1%202")
            request.query.greeting = "Hello & World+ü"
            let echo = try await network.request(request, as: Echo.self)
            #expect(echo.args == ["a": "1 2", "greeting": "Hello & World+ü"])
            let repeated = try await network.request(HTTPRequestData(path: "get?a=1&a=2"), as: Repeated.self)
            #expect(repeated.args == ["a": ["1", "2"]])
        }

        @Test func sendsThePath() async throws {
            let echo = try await network.request(HTTPRequestData(path: "anything/caf%C3%A9/a%20b;v=1"), as: Echo.self)
            #expect(echo.url == "\(url)/anything/café/a%20b;v=1")
        }

        @Test func sendsHeaderFields() async throws {
            var request = HTTPRequestData(path: "headers")
            request.headerFields[.acceptLanguage] = "de"
            request.headerFields[values: .cacheControl] = ["no-cache", "no-store"]
            request.headerFields[try #require(HTTPField.Name("X-Trace"))] = "1"
            let headers = try await network.request(request, as: [String: [String: String]].self)["headers"]
            #expect(headers?["Accept-Language"] == "de")
            #expect(headers?["Cache-Control"] == "no-cache, no-store")
            #expect(headers?["X-Trace"] == "1")
            #expect(headers?["Host"] == "127.0.0.1:\(url.port ?? 0)")
        }

        @Test func sendsTheUserAgent() async throws {
            let named = network.server(userAgent: "Shop/2.1")
            let result = try await named.request(HTTPRequestData(path: "user-agent"), as: [String: String].self)
            #expect(result == ["user-agent": "Shop/2.1"])
        }

        // MARK: Statuses

        private static let statuses = [
            200, 201, 202, 203, 204, 205, 206, 208, 226, 299, 300, 304, 400, 401, 402, 403, 404, 405, 406, 408, 409,
            410,
            412, 413, 414, 415, 416, 417, 418, 421, 422, 425, 428, 429, 451, 499, 500, 501, 502, 503, 504, 507, 511,
            599,
        ]

        @Test(arguments: statuses, ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
        func returnsEveryStatus(code: Int, method: String) async throws {
            let request = HTTPRequestData(method: try #require(HTTPRequest.Method(method)), path: "status/\(code)")
            let response = try await network.data(request)
            #expect(response.status.code == code)
            #expect(response.redirects.isEmpty)
            if method == "HEAD" {
                #expect(response.data.isEmpty)
            }
        }

        @Test(arguments: [301, 302, 303, 305, 307])
        func returnsARedirectIfThePolicyForbidsToFollowIt(code: Int) async throws {
            var request = HTTPRequestData(path: "status/\(code)")
            request.redirects = .never
            let response = try await network.data(request)
            #expect(response.status.code == code)
            #expect(response.headerFields[.location] == "/redirect/1")
        }

        @Test func returnsTheBodyOfAnErrorResponse() async throws {
            let teapot = try await network.data(HTTPRequestData(path: "status/418"))
            #expect(String(decoding: teapot.data, as: UTF8.self).contains("teapot"))
            let refusal = try await network.data(HTTPRequestData(path: "image", headerFields: [.accept: "text/plain"]))
            #expect(refusal.status == .notAcceptable)
            #expect(refusal.headerFields[.contentType] == "application/json")
            #expect(String(decoding: refusal.data, as: UTF8.self).contains("image/webp"))
        }

        @Test func decodingRequestThrowsForAnErrorStatus() async throws {
            let error = await #expect(throws: NetworkingError.self) {
                try await network.request(HTTPRequestData(path: "status/503"), as: Echo.self)
            }
            #expect(error?.kind == .status)
            #expect(error?.response?.status == .serviceUnavailable)
        }

        @Test func returnsTheAllowedMethods() async throws {
            let response = try await network.data(HTTPRequestData(method: .options, path: "get"))
            #expect(response.status == .ok)
            let allowed = (response.headerFields[.allow] ?? "").components(separatedBy: ", ")
            #expect(Set(allowed) == ["GET", "HEAD", "OPTIONS"])
            let refused = try await network.data(HTTPRequestData(method: .post, path: "get"))
            #expect(refused.status == .methodNotAllowed)
        }

        @Test func headResponseHasALengthAndNoBody() async throws {
            let response = try await network.data(HTTPRequestData(method: .head, path: "json"))
            #expect(response.status == .ok)
            #expect(response.headerFields[.contentLength] == "421")
            #expect(response.data.isEmpty)
        }

        // MARK: Header fields

        @Test func returnsHeaderFields() async throws {
            let path = "response-headers?X-One=1&X-Text=a%20b%2Cc&X-Two=1&X-Two=2&X-Empty="
            let response = try await network.data(HTTPRequestData(path: path))
            func field(_ name: String) throws -> String? {
                response.headerFields[try #require(HTTPField.Name(name))]
            }
            #expect(try field("X-One") == "1")
            #expect(try field("X-Text") == "a b,c")
            #expect(try field("X-Two")?.filter { $0 != " " } == "1,2")
            #expect(try field("x-empty") == "")
            #expect(response.headerFields[.contentType] == "application/json")
            #expect(response.headerFields[.contentLength] == "\(response.data.count)")
        }

        // MARK: Bodies

        @Test(arguments: [("gzip", "gzipped"), ("deflate", "deflated"), ("brotli", "brotli")])
        func decodesTheBody(coding: (path: String, mark: String)) async throws {
            var request = HTTPRequestData(path: coding.path)
            // On Linux, only codings that the app requests are accepted.
            request.headerFields[.acceptEncoding] = "gzip, deflate, br"
            let response = try await network.data(request)
            #expect(response.status == .ok)
            #expect(response.headerFields[.contentEncoding] == nil)
            #expect(response.headerFields[.contentLength] == nil)
            let body = try #require(try JSONSerialization.jsonObject(with: response.data) as? [String: Any])
            #expect(body[coding.mark] as? Bool == true)
            #expect(body["method"] as? String == "GET")
        }

        @Test(arguments: ["gzip", "deflate", "brotli"])
        func sinkReceivesADecodedBody(path: String) async throws {
            let sink = CollectingSink()
            var request = HTTPRequestData(path: path)
            request.headerFields[.acceptEncoding] = "gzip, deflate, br"
            request.sink = sink
            let response = try await network.data(request)
            #expect(response.body == .delivered(byteCount: Int64(sink.data.count)))
            #expect(sink.data.first == UInt8(ascii: "{"))
            #expect(sink.finished == 1)
        }

        @Test func returnsUTF8Text() async throws {
            let response = try await network.data(HTTPRequestData(path: "encoding/utf8"))
            #expect(response.headerFields[.contentType] == "text/html; charset=utf-8")
            let text = try #require(String(data: response.data, encoding: .utf8))
            #expect(text.contains("∮ E⋅da = Q,  n → ∞, ∑ f(i) = ∏ g(i)"))
        }

        @Test(arguments: [
            ("html", "text/html; charset=utf-8", "Herman Melville"),
            ("robots.txt", "text/plain", "Disallow: /deny"),
            ("deny", "text/plain", "YOU SHOULDN'T BE HERE"),
            ("xml", "application/xml", "<slideshow"),
            ("json", "application/json", "Sample Slide Show"),
            ("forms/post", "text/html; charset=utf-8", "<form"),
            ("base64/SFRUUEJJTiBpcyBhd2Vzb21l", "text/html; charset=utf-8", "HTTPBIN is awesome"),
            ("links/3/1", "text/html; charset=utf-8", "/links/3/2"),
            ("ip", "application/json", "127.0.0.1"),
        ])
        func returnsADocument(at route: (path: String, type: String, text: String)) async throws {
            let response = try await network.data(HTTPRequestData(path: route.path))
            #expect(response.status == .ok)
            #expect(response.headerFields[.contentType] == route.type)
            #expect(response.headerFields[.contentLength] == "\(response.data.count)")
            #expect(String(decoding: response.data, as: UTF8.self).contains(route.text))
        }

        @Test(
            arguments: [
                ("image/png", [0x89, 0x50, 0x4E, 0x47]),
                ("image/jpeg", [0xFF, 0xD8, 0xFF]),
                ("image/webp", [0x52, 0x49, 0x46, 0x46]),
                ("image/svg+xml", [0x3C]),
            ] as [(String, [UInt8])]
        )
        func returnsAnImageOfTheAcceptedType(type: (name: String, signature: [UInt8])) async throws {
            let response = try await network.data(HTTPRequestData(path: "image", headerFields: [.accept: type.name]))
            #expect(response.headerFields[.contentType] == type.name)
            #expect(response.data.starts(with: type.signature))
            #expect(response.data.count > 4000)
        }

        @Test func returnsANewIdentifierForEachRequest() async throws {
            let request = HTTPRequestData(path: "uuid")
            let first = try await network.request(request, as: [String: UUID].self)
            let second = try await network.request(request, as: [String: UUID].self)
            #expect(first != second)
        }

        /// The only test that requests random bytes, because the server has a single seeded generator.
        @Test func returnsTheSameBytesWithALengthAndInChunks() async throws {
            let sized = try await network.data(HTTPRequestData(path: "bytes/50000?seed=7"))
            #expect(sized.headerFields[.contentLength] == "50000")
            #expect(sized.data.count == 50_000)
            let chunked = try await network.data(HTTPRequestData(path: "stream-bytes/50000?seed=7&chunk_size=999"))
            #expect(chunked.headerFields[.contentLength] == nil)
            #expect(chunked.data == sized.data)
            let sink = CollectingSink()
            var request = HTTPRequestData(path: "stream-bytes/50000?seed=7&chunk_size=100")
            request.sink = sink
            try await network.data(request)
            #expect(sink.data == sized.data)
        }

        @Test func returnsAStreamOfDocuments() async throws {
            struct Line: Decodable {
                var id: Int
            }
            let response = try await network.data(HTTPRequestData(path: "stream/20"))
            let lines = response.data.split(separator: UInt8(ascii: "\n"))
            let ids = try lines.map { try JSONDecoder().decode(Line.self, from: $0).id }
            #expect(ids == Array(0..<20))
        }

        // MARK: Redirects

        @Test(arguments: ["redirect", "relative-redirect", "absolute-redirect"], [1, 2, 5, 20])
        func followsRedirects(kind: String, count: Int) async throws {
            let (echo, response) = try await network.value(
                HTTPRequestData(path: "\(raw: kind)/\(count)"),
                as: Echo.self
            )
            #expect(echo.url == "\(url)/get")
            #expect(response.url == url.appending(path: "get"))
            #expect(response.redirects.count == count)
            #expect(response.redirects.allSatisfy { $0.response.status == .found })
            #expect(response.redirects.first?.request.url == url.appending(path: "\(kind)/\(count)"))
        }

        @Test(arguments: ["redirect", "relative-redirect", "absolute-redirect"])
        func failsAfterTheMaximumNumberOfRedirects(kind: String) async throws {
            var request = HTTPRequestData(path: "\(raw: kind)/3")
            request.redirects = .follow(upTo: 2)
            let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
            #expect(error?.kind == .tooManyRedirects)
            #expect(error?.response?.status == .found)
            request.redirects = .follow(upTo: 3)
            let response = try await network.data(request)
            #expect(response.status == .ok)
        }

        @Test(
            arguments: [301, 302, 303, 307, 308],
            [HTTPRequest.Method.get, .post, .put, .patch, .delete]
        )
        func followsARedirectWithTheCorrectMethod(code: Int, method: HTTPRequest.Method) async throws {
            var request = HTTPRequestData(
                method: method,
                path: "redirect-to?url=/anything/there?a=1&status_code=\(code)"
            )
            if method != .get {
                request.body = .json(["name": "Emily"])
            }
            let (echo, response) = try await network.value(request, as: Echo.self)
            let becomesGet = code == 303 || method == .get || method == .post && code < 303
            #expect(echo.method == (becomesGet ? "GET" : method.rawValue))
            #expect(echo.json == (becomesGet ? nil : ["name": "Emily"]))
            #expect(echo.headers["Content-Type"] == (becomesGet ? nil : "application/json"))
            #expect(echo.args == ["a": "1"])
            #expect(response.redirects.map(\.response.status.code) == [code])
        }

        @Test func doesNotSendCredentialsToAnotherOrigin() async throws {
            let elsewhere = "http://localhost:\(url.port ?? 0)/anything"
            for (target, isSameOrigin) in [(elsewhere, false), ("/anything", true)] {
                var request = HTTPRequestData(path: "redirect-to?url=\(raw: target)")
                request.headerFields[.authorization] = "Bearer token-1"
                request.headerFields[.accept] = "application/json"
                let echo = try await network.request(request, as: Echo.self)
                #expect(echo.headers["Authorization"] == (isSameOrigin ? "Bearer token-1" : nil))
                #expect(echo.headers["Accept"] == "application/json")
            }
        }

        // MARK: Cookies

        @Test(arguments: ["cookies/set/session/1", "cookies/set?session=1"])
        func storesACookieFromARedirect(path: String) async throws {
            let (first, response) = try await network.value(HTTPRequestData(path: path), as: Cookies.self)
            #expect(first.cookies == ["session": "1"])
            #expect(response.redirects.map { $0.response.headerFields[.setCookie] } == ["session=1; Path=/"])
            let second = try await network.request(HTTPRequestData(path: "cookies"), as: Cookies.self)
            #expect(second.cookies == ["session": "1"])
        }

        @Test func storesSeveralCookies() async throws {
            let request = HTTPRequestData(path: "cookies/set?a=1&b=2&c=3")
            #expect(try await network.request(request, as: Cookies.self).cookies == ["a": "1", "b": "2", "c": "3"])
            let later = try await network.request(HTTPRequestData(path: "cookies"), as: Cookies.self)
            #expect(later.cookies == ["a": "1", "b": "2", "c": "3"])
        }

        /// httpbin deletes with `Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=0`.
        @Test(arguments: ["a=", "a=&c="])
        func removesExpiredCookies(query: String) async throws {
            try await network.data(HTTPRequestData(path: "cookies/set?a=1&b=2"))
            let request = HTTPRequestData(path: "cookies/delete?\(raw: query)")
            let cookies = try await network.request(request, as: Cookies.self).cookies
            #expect(cookies == ["b": "2"])
        }

        @Test func sendsTheCookiesOfARequest() async throws {
            let request = HTTPRequestData(path: "cookies", headerFields: [.cookie: "own=1; other=2"])
            #expect(try await network.request(request, as: Cookies.self).cookies == ["own": "1", "other": "2"])
            let later = try await network.request(HTTPRequestData(path: "cookies"), as: Cookies.self)
            #expect(later.cookies == [:])
        }

        // MARK: Validators and ranges

        @Test func sendsPreconditions() async throws {
            let plain = try await network.data(HTTPRequestData(path: "etag/x"))
            #expect(plain.status == .ok)
            #expect(plain.headerFields[.eTag] == "x")
            for (name, value, status) in [
                (HTTPField.Name.ifNoneMatch, "\"x\"", HTTPResponse.Status.notModified),
                (.ifNoneMatch, "\"y\", \"x\"", .notModified),
                (.ifNoneMatch, "*", .notModified),
                (.ifNoneMatch, "\"y\"", .ok),
                (.ifMatch, "\"x\"", .ok),
                (.ifMatch, "\"y\"", .preconditionFailed),
            ] {
                let response = try await network.data(
                    HTTPRequestData(path: "etag/x", headerFields: [.init(name): value])
                )
                #expect(response.status == status, "\(name): \(value)")
                #expect(response.data.isEmpty == (status != .ok), "\(name): \(value)")
            }
        }

        @Test func validatesACachedCopy() async throws {
            let first = try await network.data(HTTPRequestData(path: "cache"))
            #expect(first.status == .ok)
            let date = try #require(first.headerFields[.lastModified])
            let tag = try #require(first.headerFields[.eTag])
            for fields in [[.ifModifiedSince: date], [.ifNoneMatch: tag]] as [HTTPFields] {
                let request = HTTPRequestData(path: "cache", headerFields: HeaderFields(fields))
                let second = try await network.data(request)
                #expect(second.status == .notModified)
                #expect(second.data.isEmpty)
            }
        }

        /// The session of the transport has no cache, so each request reaches the server.
        @Test func doesNotUseTheCacheOfTheSession() async throws {
            var dates: [String?] = []
            for trace in ["1", "2"] {
                var request = HTTPRequestData(path: "cache/60")
                request.headerFields[try #require(HTTPField.Name("X-Trace"))] = trace
                let (echo, response) = try await network.value(request, as: Echo.self)
                #expect(response.headerFields[.cacheControl] == "public, max-age=60")
                dates.append(echo.headers["X-Trace"])
            }
            #expect(dates == ["1", "2"])
        }

        @Test(arguments: [
            ("bytes=100-199", 206, "bytes 100-199/1024", 100..<200),
            ("bytes=1000-", 206, "bytes 1000-1023/1024", 1000..<1024),
            ("bytes=-10", 206, "bytes 1014-1023/1024", 1014..<1024),
            ("bytes=0-1023", 200, "bytes 0-1023/1024", 0..<1024),
            ("bytes=2000-3000", 416, "bytes */1024", 0..<0),
        ])
        func returnsARange(_ range: String, status: Int, contentRange: String, bytes: Range<Int>) async throws {
            let request = HTTPRequestData(path: "range/1024", headerFields: [.range: range])
            let response = try await network.data(request)
            #expect(response.status.code == status)
            #expect(response.headerFields[.contentRange] == contentRange)
            #expect(response.headerFields[.acceptRanges] == "bytes")
            #expect(response.headerFields[.eTag] == "range1024")
            #expect(response.data == Data(bytes.map { UInt8(ascii: "a") + UInt8($0 % 26) }))
        }

        // MARK: Authentication

        @Test(
            arguments: [
                ("basic-auth/user/secret-1", 401, "Basic"), ("hidden-basic-auth/user/secret-1", 404, nil),
            ] as [(String, Int, String?)]
        )
        func authenticatesWithAPassword(path: String, refusal: Int, challenge: String?) async throws {
            let wrong = Data("user:wrong".utf8).base64EncodedString()
            for headerFields in [[:], [.authorization: "Basic \(wrong)"]] as [HTTPFields] {
                let request = HTTPRequestData(path: path, headerFields: HeaderFields(headerFields))
                let response = try await network.data(request)
                #expect(response.status.code == refusal)
                #expect(response.headerFields[.wwwAuthenticate]?.prefix(5).description == challenge)
            }
            let right = Data("user:secret-1".utf8).base64EncodedString()
            let request = HTTPRequestData(path: path, headerFields: [.authorization: "Basic \(right)"])
            let login = try await network.request(request, as: Login.self)
            #expect(login.authenticated)
            #expect(login.user == "user")
        }

        @Test func authenticatesWithAToken() async throws {
            let error = await #expect(throws: NetworkingError.self) {
                try await network.request(HTTPRequestData(path: "bearer"), as: Login.self)
            }
            #expect(error?.kind == .unauthorized)
            #expect(error?.response?.headerFields[.wwwAuthenticate] == "Bearer")
            let known = network.server(headerField: .authorization, "Bearer token-1")
            let login = try await known.request(HTTPRequestData(path: "bearer"), as: Login.self)
            #expect(login.token == "token-1")
        }

        @Test(arguments: [true, false])
        func authenticatedModifierSendsCredentials(preemptive: Bool) async throws {
            let basic = BasicCredentials(user: "user", password: "secret-1")
            let password = network.authenticated(with: basic, at: [url.authority], preemptive: preemptive)
            let login = try await password.request(HTTPRequestData(path: "basic-auth/user/secret-1"), as: Login.self)
            #expect(login.authenticated)
            let wrong = network.authenticated(
                with: BasicCredentials(user: "user", password: "wrong"),
                at: [url.authority]
            )
            let response = try await wrong.data(HTTPRequestData(path: "basic-auth/user/secret-1"))
            #expect(response.status == .unauthorized)
            #expect(response.challenges.map(\.scheme) == ["Basic"])
            let token = BearerCredentials(token: "token-1")
            let bearer = network.authenticated(with: token, at: [url.authority], preemptive: preemptive)
            #expect(try await bearer.request(HTTPRequestData(path: "bearer"), as: Login.self).token == "token-1")
        }

        @Test(arguments: ["auth", "auth-int"], ["MD5", "SHA-256", "SHA-512"])
        func returnsADigestChallenge(quality: String, algorithm: String) async throws {
            let request = HTTPRequestData(path: "digest-auth/\(quality)/user/secret-1/\(algorithm)")
            for _ in 1...2 {
                let response = try await network.data(request)
                #expect(response.status == .unauthorized)
                let challenge = try #require(response.headerFields[.wwwAuthenticate])
                #expect(challenge.hasPrefix("Digest realm="))
                #expect(challenge.contains("qop=\"\(quality)\""))
                #expect(challenge.contains("algorithm=\(algorithm)"))
            }
        }

        // MARK: Time

        @Test func waitsForADelayedResponse() async throws {
            let echo = try await network.request(HTTPRequestData(path: "delay/0.2?a=1"), as: Echo.self)
            #expect(echo.args == ["a": "1"])
        }

        // Another test may keep the machine busy for seconds, so the server's delays last a minute.

        @Test(arguments: [("drip?delay=60", 20), ("drip?duration=60&numbytes=600", 300)])
        func slowResponseFailsWithATimeout(path: String, milliseconds: Int) async throws {
            var request = HTTPRequestData(path: path)
            request.timeout = .milliseconds(milliseconds)
            let start = ContinuousClock.now
            let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
            #expect(error?.kind == .timeout)
            #expect(ContinuousClock.now - start < .seconds(30))
        }

        @Test(arguments: [200, 206, 404])
        func returnsASlowBody(code: Int) async throws {
            let received = Mutex<[Int64]>([])
            let request = HTTPRequestData(path: "drip?duration=0.3&numbytes=6&code=\(code)")
            let response = try await network.data(request) { progress in
                received.withLock { $0.append(progress.received.count) }
            }
            #expect(response.status.code == code)
            #expect(response.data == Data("******".utf8))
            let counts = received.withLock { $0 }
            #expect(counts == counts.sorted())
            #expect(counts.last == 6)
        }

        @Test func sinkReceivesASlowBody() async throws {
            let sink = CollectingSink()
            var request = HTTPRequestData(path: "drip?duration=0.3&numbytes=6")
            request.sink = sink
            let response = try await network.data(request)
            #expect(response.body == .delivered(byteCount: 6))
            #expect(sink.data == Data("******".utf8))
            #expect(sink.finished == 1)
        }

        @Test func cancelledCallerReturnsAtOnceDuringASlowBody() async throws {
            let (firstByte, arrival) = AsyncStream.makeStream(of: Void.self)
            let start = ContinuousClock.now
            let call = Task { [network] in
                try await network.data(HTTPRequestData(path: "drip?duration=60&numbytes=600")) { progress in
                    if progress.received.count > 0 {
                        arrival.finish()
                    }
                }
            }
            for await _ in firstByte {}
            call.cancel()
            let result = await call.result
            #expect(throws: CancellationError.self) { try result.get() }
            #expect(ContinuousClock.now - start < .seconds(30))
            let after = try await network.data(HTTPRequestData(path: "get"))
            #expect(after.status == .ok)
        }

        // MARK: Concurrent requests

        @Test func concurrentRequestsAllComplete() async throws {
            try await withThrowingTaskGroup(of: (Int, String?).self) { [network] group in
                for number in 0..<100 {
                    group.addTask {
                        let request = HTTPRequestData(path: "anything?number=\(number)")
                        return (number, try await network.request(request, as: Echo.self).args["number"])
                    }
                }
                for try await (number, result) in group {
                    #expect(result == "\(number)")
                }
            }
        }
    }
}

extension URL {
    fileprivate var authority: String {
        "\(host ?? ""):\(port ?? 80)"
    }
}
#endif
