import Foundation
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// Matching of requests, and the errors for requests without a match.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct CassetteMatcherTests {
    /// Returns the difference between a request and a recorded one as the error reports it, or `nil` if they match.
    private func difference(
        _ matching: [Cassette.Matcher],
        recorded: HTTPRequestData,
        now: HTTPRequestData
    ) async throws -> String? {
        try await withCassetteFolder { folder in
            let options = Cassette.Options.with { $0.matching = matching }
            try await folder.record(from: MockTransport([.ok()]), options) { _ = try await $0.data(recorded) }
            let reason = await CassetteFolder.reason { try await folder.replay(options) { _ = try await $0.data(now) } }
            guard let reason else { return nil }
            let lines = reason.split(separator: "\n").filter { $0.hasPrefix("  ") }
            return lines.map { $0.dropFirst(2) }.joined(separator: "; ")
        }
    }

    @Test func comparesQueryItemsByName() async throws {
        func query(_ recorded: String, _ now: String) async throws -> String? {
            try await difference(
                .standard,
                recorded: .init(path: "a?\(raw: recorded)"),
                now: .init(path: "a?\(raw: now)")
            )
        }
        #expect(try await query("a=1&b=2", "b=2&a=1") == nil)
        #expect(try await query("a=%41", "a=A") == nil)
        #expect(try await query("a=1&a=2", "a=2&a=1") == "the query item \"a\": recorded \"1, 2\", now \"2, 1\"")
        #expect(try await query("a=1", "a=1&a=1") == "the query item \"a\": recorded \"1\", now \"1, 1\"")
        #expect(try await query("a=1&b=2", "b=2") == "the query item \"a\": recorded \"1\", now missing")
        #expect(
            try await query("a", "b") == "the query item \"a\": recorded nothing, now missing; "
                + "the query item \"b\": not recorded, now nothing"
        )
    }

    @Test func comparesHostsCaseInsensitivelyWithDefaultPorts() async throws {
        let url = { (text: String) in HTTPRequestData(url: URL(string: text)!) }
        #expect(
            try await difference(.standard, recorded: url("https://A.example/"), now: url("https://a.example:443"))
                == nil
        )
        #expect(
            try await difference(.standard, recorded: url("https://a.example/"), now: url("https://[::1]:8/"))
                == "the host: recorded \"a.example\", now \"::1\"; the port: recorded \"443\", now \"8\""
        )
        #expect(
            try await difference([.path], recorded: url("https://a.example/A?b"), now: url("http://b.example/A")) == nil
        )
    }

    @Test func comparesFieldsByValue() async throws {
        let matching = [Cassette.Matcher].standard + [.headerFields(.accept, .acceptLanguage)]
        func request(_ fields: HeaderFields) -> HTTPRequestData { .init(path: "a", headerFields: fields) }
        #expect(
            try await difference(
                matching,
                recorded: request([.accept: "a", .range: "x"]),
                now: request([.accept: "a"])
            )
                == nil
        )
        #expect(
            try await difference(matching, recorded: request([.accept: "a"]), now: request([.acceptLanguage: "b"]))
                == "the field Accept: recorded \"a\", now nothing; the field Accept-Language: recorded nothing, now \"b\""
        )
    }

    @Test func comparesJSONByContent() async throws {
        func compare(_ matcher: Cassette.Matcher, _ recorded: String, _ now: String) async throws -> String? {
            func request(_ text: String) -> HTTPRequestData {
                .init(method: .post, path: "a", body: .data(Data(text.utf8), contentType: "application/json"))
            }
            return try await difference(.standard + [matcher], recorded: request(recorded), now: request(now))
        }
        #expect(try await compare(.jsonBody, #"{"a":1,"b":[1,2]}"#, #"{ "b": [1, 2], "a": 1 }"#) == nil)
        #expect(
            try await compare(.jsonBody, #"{"a":1,"b":[1,{"c":"x"}],"d":true}"#, #"{"a":1.5,"b":[1,{"c":"y"},null]}"#)
                == """
                the body: $.a is 1.5, not 1.; the body: $.b has 3 elements, not 2.; \
                the body: $.b[1].c is "y", not "x".; \
                the body: $.d is missing; it should be true.
                """
        )
        #expect(
            try await compare(.body, #"{"a":1}"#, #"{"a": 1}"#)
                == #"the body: recorded "{"a":1}", now "{"a": 1}""#
        )
        #expect(try await compare(.body, #"{"a":1}"#, #"{"a":2}"#) == "the body: $.a is 2, not 1.")
    }

    @Test func comparesBinaryBodies() async throws {
        func request(_ bytes: [UInt8]) -> HTTPRequestData { .init(method: .post, path: "a", body: .data(Data(bytes))) }
        let matching = [Cassette.Matcher].standard + [.jsonBody]
        #expect(try await difference(matching, recorded: request([255, 0]), now: request([255, 0])) == nil)
        #expect(
            try await difference(matching, recorded: request([255, 0]), now: request([255, 1]))
                == "the body: recorded 2 bytes, not text, now 2 bytes, not text"
        )
        #expect(
            try await difference(matching, recorded: request([65]), now: .init(method: .post, path: "a"))
                == "the body: recorded \"A\", now nothing"
        )
    }

    /// The limit on recorded bytes does not affect matching.
    @Test func comparesBodiesBeyondTheRecordingLimit() async throws {
        try await withCassetteFolder { folder in
            func options(_ limit: Int) -> Cassette.Options {
                .with { options in
                    options.matching += [.body]
                    options.maximumBodyBytes = limit
                }
            }
            func request(_ count: Int) -> HTTPRequestData {
                .init(method: .post, path: "a", body: .data(Data(count: count)))
            }
            try await folder.record(from: MockTransport([.ok()]), options(5)) { _ = try await $0.data(request(10)) }
            try await folder.replay(options(6)) { _ = try await $0.data(request(10)) }
            let reason = await CassetteFolder.reason {
                try await folder.replay(options(6)) { _ = try await $0.data(request(11)) }
            }
            #expect(
                reason?
                    .contains(
                        "the body: recorded not kept: 10 bytes, more than maximumBodyBytes, "
                            + "now not kept: 11 bytes, more than maximumBodyBytes"
                    ) == true
            )
        }
    }

    /// The boundary can equal another part of the media type.
    @Test(arguments: [
        ("multipart/form-data; boundary=form", "multipart/form-data; boundary=cassette-boundary"),
        ("multipart/mixed;Boundary=\"a b\"; x=a", "multipart/mixed;Boundary=\"cassette-boundary\"; x=a"),
        ("multipart/a; a=1; boundary=a; b=a", "multipart/a; a=1; boundary=cassette-boundary; b=a"),
        ("multipart/mixed; boundary=", "multipart/mixed; boundary="),
    ])
    func replacesOnlyTheMultipartBoundary(_ type: String, _ kept: String) async throws {
        try await withCassetteFolder { folder in
            let captured = Mutex("")
            let options = Cassette.Options.with { options in
                options.afterCapture = { interaction in
                    captured.withLock { $0 = interaction.request.headerFields[.contentType] ?? "" }
                }
            }
            try await folder.record(from: MockTransport([.ok()]), options) { network in
                _ = try await network.data(
                    HTTPRequestData(method: .post, path: "a", body: .data(Data("--a--".utf8), contentType: type))
                )
            }
            #expect(captured.withLock { $0 } == kept)
        }
    }

    @Test func customMatcherDecides() async throws {
        let first = Cassette.Matcher.custom("the first letter") { $0.url.last == $1.url.last }
        #expect(try await difference([first], recorded: .init(path: "ax"), now: .init(path: "bx")) == nil)
        #expect(
            try await difference([first], recorded: .init(path: "ax"), now: .init(path: "ay"))
                == "the first letter: they do not match"
        )
    }

    @Test func normalizesRequestsBeforeMatching() async throws {
        let options = Cassette.Options.with { options in
            options.normalize = { request in request.url = String(request.url.prefix { $0 != "?" }) }
        }
        try await withCassetteFolder { folder in
            try await folder.record(from: MockTransport([.text("x")]), options) { try await $0.get("a?now=1") }
            #expect(folder.text.contains("now=1"))
            try await folder.replay(options) { try await $0.get("a?now=2", expecting: "x") }
        }
    }

    @Test func reportsTheClosestInteraction() async throws {
        try await withCassetteFolder { folder in
            let paths = ["users/1", "users/2?page=1&size=10", "posts?page=1"]
            try await folder.record(from: MockTransport { _ in .ok() }) { network in
                for path in paths { try await network.get(path) }
            }
            let cassette = try Cassette(at: folder.cassette, mode: .none)
            let network = MockTransport().cassette(cassette).server(authority: "api.example")
            for (path, nearest) in [("users/2?page=2&size=10", 2), ("users/1?page=1", 1), ("posts", 3)] {
                let reason = await CassetteFolder.reason { try await network.get(path) }
                #expect(reason?.contains("The closest is interaction \(nearest),") == true, "\(reason ?? "")")
            }
        }
    }

    @Test func errorSaysThatTheCassetteIsEmpty() async throws {
        try await withCassetteFolder { folder in
            try folder.write(#"{"log": {"_cassette": {"format": 1}, "entries": []}}"#)
            let reason = await CassetteFolder.reason { try await folder.replay { try await $0.get("a") } }
            #expect(
                reason?.contains("(mode .none, 0 interactions) has no response for this request: it is empty.") == true
            )
        }
    }
}
