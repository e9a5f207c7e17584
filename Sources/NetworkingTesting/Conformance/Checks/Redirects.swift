#if TestServer
import FoundationForNetworking
import HTTPTypes
import NetworkingTestServer
import NetworkingCore

extension TransportCheck {
    /// The library's redirect rules, as applied over the transport.
    static let redirects: [TransportCheck] = [
        TransportCheck("basic redirects", needsSockets: false) { bench in
            bench.server.route("/new") { request in .text("\(request.method) \(request.body.count)") }
            for (code, expected) in [
                (301, "GET 0"), (302, "GET 0"), (303, "GET 0"), (307, "POST 4"), (308, "POST 4"),
            ] {
                bench.server.enqueue(.redirect(to: "/new", status: HTTPResponse.Status(code: code)))
                let request = HTTPRequestData(method: .post, path: "/old", body: .data(Data("body".utf8)))
                let response = try await bench.fetch(request)
                try expect(response.text, is: expected, in: "the request that arrives after a \(code)")
                try expect(response.redirects.map(\.response.status.code), is: [code], in: "the redirects")
                try expect(response.url?.path(), is: "/new", in: "the path of the response")
            }
        },
        TransportCheck("infinite redirects", needsSockets: false) { bench in
            bench.server.route("/") { _ in .redirect(to: "/") }
            bench.server.route("/:number") { request in
                .redirect(to: "/\((Int(request.parameters["number"] ?? "") ?? 0) + 1)")
            }
            try await bench.fail(with: .tooManyRedirects)
            try await bench.fail(with: .tooManyRedirects, sending: HTTPRequestData(path: "/1"))
        },
        TransportCheck("redirects that are not followed", needsSockets: false) { bench in
            bench.server.route("/old") { _ in
                TestResponse(status: .found, headerFields: [.location: "/new"], body: .data(Data("moved".utf8)))
            }
            let response = try await bench.fetch(.with(.get, "/old") { $0.redirects = .never })
            try expect(response.status, is: .found, in: "the status")
            try expect(response.headerFields[.location], is: "/new", in: "the location")
            try expect(response.text, is: "moved", in: "the body")
            try expect(bench.server.requests.count, is: 1, in: "the number of requests")
        },
        TransportCheck("credentials stay at their origin", needsSockets: false) { bench in
            let elsewhere = "http://localhost:\(bench.server.port)/elsewhere"
            let back = "\(bench.server.url)/back"
            bench.server.route("/start") { _ in .redirect(to: elsewhere) }
            bench.server.route("/elsewhere") { _ in .redirect(to: back) }
            bench.server.route("/back") { _ in .ok }
            let fields: HeaderFields = [.authorization: "Bearer token-1", .cookie: "session=1"]
            try await bench.fetch(HTTPRequestData(path: "/start", headerFields: fields))
            // A session that stores cookies may send its own.
            let arrived = bench.server.requests.map { request in
                request.headerFields[.authorization] != nil
                    || request.headerFields[.cookie]?.contains("session=1") == true
            }
            try expect(arrived, is: [true, false, false], in: "the requests with the caller's credentials")
        },
        TransportCheck("bodies resent after redirects", needsSockets: false) { bench in
            bench.server.route("/new") { _ in TestResponse(body: .echo) }
            for body in [
                RequestBody.data(.pattern(200_000)),
                .stream(length: 200_000) {
                    AsyncStream { source in
                        source.yield(Data.pattern(200_000))
                        source.finish()
                    }
                },
            ] {
                bench.server.enqueue(.redirect(to: "/new", status: .temporaryRedirect))
                let response = try await bench.fetch(HTTPRequestData(method: .put, path: "/old", body: body))
                try expect(response.data, is: .pattern(200_000), in: "the body that arrives after a 307")
            }
        },
    ]
}
#endif
