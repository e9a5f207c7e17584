#if TestServer
import FoundationForNetworking
import HTTPTypes
import NetworkingTestServer
import NetworkingCore

extension TransportCheck {
    /// Methods, targets, header fields and statuses, in both directions.
    static let messages: [TransportCheck] =
        [
            TransportCheck("methods", needsSockets: false) { bench in
                bench.server.route("/") { _ in .ok }
                for name in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"] {
                    // Each name is a valid token, so the method is not nil.
                    let method = HTTPRequest.Method(name)!
                    try await bench.fetch(HTTPRequestData(method: method))
                    try expect(bench.server.requests.last?.method, is: method, in: "the method that arrives")
                }
                // Its body is not optional, as that of other safe methods is.
                try await bench.fetch(HTTPRequestData(method: .query, body: .data(.pattern(100), contentType: "a/b")))
                try expect(bench.server.requests.last?.method, is: .query, in: "the method that arrives")
                try expect(bench.server.requests.last?.body, is: .pattern(100), in: "the body of a QUERY that arrives")
                try expect(bench.server.arrived(.contentType), is: ["a/b"], in: "the Content-Type of a QUERY")
            },
            TransportCheck("URL parameters") { bench in
                bench.server.route("/*") { _ in .ok }
                for target in [
                    "/a//b/", "/users/?", "/?a&b=&b=2&&", "/caf%C3%A9?q=a+b%20c", "/a%2Fb;v=1", "/~user!$'()*",
                    "/x?redirect=https://y/",
                ] {
                    try await bench.fetch(HTTPRequestData(path: target))
                    let arrived = bench.server.requests.last.map { $0.path + ($0.query.map { "?\($0)" } ?? "") }
                    try expect(arrived, is: target, in: "the target that arrives")
                }
            },
            TransportCheck("Host") { bench in
                bench.server.route("/") { _ in .ok }
                try await bench.fetch()
                try expect(
                    bench.server.arrived(.hostField),
                    is: [bench.server.authority],
                    in: "the Host fields that arrive"
                )
            },
            TransportCheck("statuses", needsSockets: false) { bench in
                for code in [
                    200, 201, 202, 203, 205, 206, 226, 299, 300, 400, 402, 403, 404, 410, 418, 429, 500, 503, 599,
                ] {
                    bench.server.enqueue(.text("\(code)", status: HTTPResponse.Status(code: code)))
                    let response = try await bench.fetch()
                    try expect(response.status.code, is: code, in: "the status")
                    // A 205 response has no body (RFC 9110, section 15.3.6), so a client need not read one.
                    if code != 205 {
                        try expect(response.text, is: "\(code)", in: "the body of \(code)")
                    }
                }
            },
            TransportCheck("ETag", needsSockets: false) { bench in
                for tag in ["\"33a64df5\"", "W/\"33a64df5\"", "\"\"", "\"a,b\""] {
                    bench.server.enqueue(TestResponse(headerFields: [.eTag: tag]))
                    let response = try await bench.fetch(HTTPRequestData(headerFields: [.ifNoneMatch: tag]))
                    try expect(response.headerFields[.eTag], is: tag, in: "the received ETag")
                    try expect(bench.server.arrived(.ifNoneMatch), is: [tag], in: "the If-None-Match that arrives")
                }
            },
            TransportCheck("HEAD with length", needsSockets: false) { bench in
                bench.server.route(.head, "/") { _ in
                    TestResponse(headerFields: [.contentLength: "1000"], body: .data(.pattern(1_000)))
                }
                bench.server.route(.get, "/") { _ in .text("next") }
                let head = try await bench.fetch(HTTPRequestData(method: .head))
                try expect(head.headerFields[.contentLength], is: "1000", in: "the Content-Length of the HEAD response")
                try expect(head.data.count, is: 0, in: "the body of a HEAD")
                try expect(try await bench.fetch().text, is: "next", in: "the next response")
            },
        ] + fields

    private static let fields: [TransportCheck] = [
        TransportCheck("multi-value headers to the server", needsSockets: false) { bench in
            bench.server.route("/") { _ in .ok }
            let request = HTTPRequestData.with {
                $0.headerFields.append(name: .xA, value: "one")
                $0.headerFields.append(name: .accept, value: "text/plain")
                $0.headerFields.append(name: .xA, value: "two, three")
            }
            try await bench.fetch(request)
            // A single field with a list is equivalent (RFC 9110, section 5.3).
            let arrived = bench.server.arrived(.xA).joined(separator: ", ")
            try expect(arrived, is: "one, two, three", in: "the X-A fields that arrive")
            try expect(bench.server.arrived(.accept), is: ["text/plain"], in: "the Accept fields that arrive")
        },
        TransportCheck("multi-value headers from the server", needsSockets: false) { bench in
            var response = TestResponse.ok
            response.headerFields.append(HTTPField(name: .xA, value: "one"))
            response.headerFields.append(HTTPField(name: .vary, value: "Accept"))
            response.headerFields.append(HTTPField(name: .xA, value: "two, three"))
            bench.server.enqueue(response)
            let fields = try await bench.fetch().headerFields
            try expect(fields[.xA], is: "one, two, three", in: "the received X-A fields")
            try expect(fields[.vary], is: "Accept", in: "the received Vary field")
        },
        TransportCheck("one Cookie line", needsSockets: false) { bench in
            bench.server.route("/") { _ in .ok }
            let request = HTTPRequestData.with {
                $0.headerFields.append(name: .cookie, value: "a=1")
                $0.headerFields.append(name: .accept, value: "text/plain")
                $0.headerFields.append(name: .cookie, value: "b=2; c=\"3\"")
            }
            try await bench.fetch(request)
            try expect(bench.server.arrived(.cookie), is: ["a=1; b=2; c=\"3\""], in: "the Cookie fields that arrive")
        },
        TransportCheck("equal lines of a field that is no list", needsSockets: false) { bench in
            var response = TestResponse(status: .serviceUnavailable, body: .data(Data([0x5A, 0x6F, 0xEB])))
            for (name, value) in [
                (HTTPField.Name.contentType, "text/plain; charset=iso-8859-1"), (.retryAfter, "7"),
                (.date, "Wed, 09 Jun 1999 10:18:14 GMT"),
            ] {
                response.headerFields.append(HTTPField(name: name, value: value))
                response.headerFields.append(HTTPField(name: name, value: value))
            }
            bench.server.enqueue(response)
            let received = try await bench.fetch()
            let type = received.headerFields[singleton: .contentType]
            try expect(BodyType(type).text(of: received.data), is: "Zoë", in: "the text")
            try expect(received.http.retryAfter(now: .now), is: .seconds(7), in: "the time to wait")
        },
        TransportCheck("header values in ISO 8859-1") { bench in
            for value in ["Fran\u{E7}ois", "\u{E9}", "a\u{80}\u{FF}"] {
                let bytes = Data(value.unicodeScalars.map { UInt8($0.value) })
                bench.server.enqueue(
                    .raw("HTTP/1.1 200 OK\r\nX-A: ", .bytes(bytes), "\r\nContent-Length: 2\r\n\r\nok")
                )
                try expect(try await bench.fetch().headerFields[.xA], is: value, in: "the received X-A field")
            }
        },
        TransportCheck("cookie with a control character") { bench in
            for character in ["\u{1}", "\u{B}", "\u{1F}", "\u{7F}"] {
                bench.server.enqueue(
                    .raw(
                        "HTTP/1.1 200 OK\r\nSet-Cookie: a=\(character)1; Max-Age=0\r\nSet-Cookie: b=2; Max-Age=0\r\n",
                        "Set-Cookie: c\(character)=3; Max-Age=0\r\nContent-Length: 2\r\n\r\nok"
                    )
                )
                do {
                    let cookies = try await bench.fetch().headerFields[values: .setCookie]
                    // The whole cookie is ignored (RFC 6265bis, section 5.6).
                    try expect(cookies, is: ["b=2; Max-Age=0"], in: "the received Set-Cookie fields")
                } catch let error as NetworkingError where error.kind == .invalidResponse {
                }
            }
        },
        TransportCheck("repeated headers in any spelling") { bench in
            bench.server.enqueue(
                .raw("HTTP/1.1 200 OK\r\nX-A: one\r\nx-a: two\r\nX-a: three\r\ncontent-LENGTH: 2\r\n\r\nok")
            )
            let response = try await bench.fetch()
            try expect(response.headerFields[.xA], is: "one, two, three", in: "the received X-A fields")
            try expect(response.text, is: "ok", in: "the body")
        },
        TransportCheck("empty header value") { bench in
            bench.server.route("/") { _ in TestResponse(headerFields: [.xA: ""]) }
            let response = try await bench.fetch(HTTPRequestData(headerFields: ["X-A": ""]))
            try expect(response.headerFields[.xA], is: "", in: "the received X-A field")
            try expect(bench.server.arrived(.xA), is: [""], in: "the X-A fields that arrive")
        },
        TransportCheck("header values in UTF-8") { bench in
            bench.server.route("/") { _ in TestResponse(headerFields: [.xA: "Grüße, 世界"]) }
            let response = try await bench.fetch(HTTPRequestData(headerFields: ["X-A": "Grüße, 世界"]))
            try expect(response.headerFields[.xA], is: "Grüße, 世界", in: "the received X-A field")
            try expect(bench.server.arrived(.xA), is: ["Grüße, 世界"], in: "the X-A fields that arrive")
        },
        TransportCheck("header of 8 KiB", needsSockets: false) { bench in
            let value = String(repeating: "long ", count: 1_600) + "."
            bench.server.route("/") { _ in TestResponse(headerFields: [.xA: value]) }
            let response = try await bench.fetch(HTTPRequestData(headerFields: ["X-A": value]))
            try expect(response.headerFields[.xA], is: value, in: "the received X-A field")
            try expect(bench.server.arrived(.xA), is: [value], in: "the X-A fields that arrive")
        },
        TransportCheck("cookies", needsSockets: false) { bench in
            // All cookies have expired, because some clients keep cookies for the next check or even the next process.
            let cookies = [
                "a=1; Expires=Wed, 09 Jun 1999 10:18:14 GMT; Path=/", "b=2; Max-Age=0", "c=; Max-Age=0; Path=/",
                "d=4; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly",
                "e=5; Expires=Sun,  9 Dec 2012 13:42:05 GMT", "f=6; expires=Sun, Dec  9, 2012 13:42:05",
                "g=7; Expires=Sun, 13:42:05 GMT, 9 Dec 2012; Path=/", "h=8; Max-Age=0",
            ]
            bench.server.route("/") { _ in
                var response = TestResponse.ok
                for cookie in cookies {
                    response.headerFields.append(HTTPField(name: .setCookie, value: cookie))
                }
                return response
            }
            let sent = "own=1; other=\"2\""
            let response = try await bench.fetch(HTTPRequestData(headerFields: [.cookie: sent]))
            try expect(response.headerFields[values: .setCookie], is: cookies, in: "the received Set-Cookie fields")
            try expect(bench.server.arrived(.cookie), is: [sent], in: "the Cookie fields that arrive")
        },
        TransportCheck("401 with its body", needsSockets: false) { bench in
            for challenge in [
                "Basic realm=\"users\"", "Bearer", "Digest realm=\"x\", nonce=\"y\"", "Bearer, Basic realm=\"x\"",
                "Negotiate",
            ] {
                try await bench.bringsChallenge(challenge, in: .wwwAuthenticate, with: .unauthorized)
            }
            var twice = TestResponse(status: .unauthorized, body: .data(Data("twice".utf8)))
            twice.headerFields.append(HTTPField(name: .wwwAuthenticate, value: "Digest realm=\"x\""))
            twice.headerFields.append(HTTPField(name: .wwwAuthenticate, value: "Basic realm=\"x\""))
            bench.server.enqueue(twice, .text("no challenge", status: .unauthorized))
            let response = try await bench.fetch()
            let challenges = response.headerFields[.wwwAuthenticate]
            try expect(challenges, is: "Digest realm=\"x\", Basic realm=\"x\"", in: "the challenges")
            try expect(response.text, is: "twice", in: "the body")
            try expect(try await bench.fetch().text, is: "no challenge", in: "the body")
        },
        TransportCheck("407 with its body", needsSockets: false) { bench in
            try await bench.bringsChallenge(
                "Basic realm=\"x\"",
                in: .proxyAuthenticate,
                with: .proxyAuthenticationRequired
            )
        },
    ]
}

extension CheckBench {
    fileprivate func bringsChallenge(
        _ challenge: String,
        in name: HTTPField.Name,
        with status: HTTPResponse.Status
    ) async throws {
        for body in [TestResponse.Body.data(.pattern(10)), .chunks([TestResponse.Chunk(.pattern(10))])] {
            server.enqueue(TestResponse(status: status, headerFields: [name: challenge], body: body))
            let response = try await fetch()
            try expect(response.status, is: status, in: "the status")
            try expect(response.headerFields[name], is: challenge, in: "the challenge")
            try expect(response.data, is: .pattern(10))
        }
    }
}

extension TestServer {
    /// The values of a header field in the last request.
    func arrived(_ name: HTTPField.Name) -> [String] {
        requests.last?.headerFields[values: name] ?? []
    }
}
#endif
