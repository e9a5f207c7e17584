import Foundation
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// Files, errors and descriptions contain no secret, and redacted requests still match.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct CassetteSecretsTests {
    private static let secret = "s3cr3t"

    @Test func writesNoSecretButReturnsTheWholeResponse() async throws {
        let responses = [
            MockResponse.ok(
                Data(#"{"access_token":"s3cr3t-1","list":[{"password":"s3cr3t-2"}],"name":"Emily"}"#.utf8),
                headerFields: [
                    .contentType: "application/json", .setCookie: "sid=s3cr3t-3; Path=/",
                    .location: "https://a.example/?token=s3cr3t-4", .contentLength: "78",
                ]
            ),
            .ok(Data("token=s3cr3t-5&a=1".utf8), headerFields: [.contentType: "application/x-www-form-urlencoded"]),
            .ok(
                Data("id: 1\ndata: {\"token\": \"s3cr3t-6\",\ndata: \"a\": 1}\n\ndata: plain\n\n".utf8),
                headerFields: [.contentType: "text/event-stream"]
            ),
            .ok(Data(#"{"secret":"s3cr3t-7"}"#.utf8), headerFields: [.contentType: "text/plain"]),
            .ok(Data("It is s3cr3t-marked here".utf8), headerFields: [.contentType: "text/plain"]),
        ]
        let requests = (0..<responses.count)
            .map { index in
                var request = HTTPRequestData(
                    method: .post,
                    path: "s3cr3t-marked/\(index)?api_key=s3cr3t-8&page=1"
                )
                request.markSecret("s3cr3t-marked")
                request.headerFields[.authorization] = "Bearer s3cr3t-10"
                request.headerFields[.cookie] = "a=s3cr3t-11"
                request.headerFields[HTTPField.Name("X-Api-Key")!] = "s3cr3t-12"
                var field = HTTPField(name: HTTPField.Name("X-Plain")!, value: "s3cr3t-13")
                field.indexingStrategy = .disallow
                request.headerFields.append(field)
                request.body =
                    [
                        .json(["password": "s3cr3t-14", "a": "b"]), .form(["client_secret": "s3cr3t-15"]),
                        .multipart([.text("s3cr3t-16", name: "token"), .text("c", name: "d")]),
                        .data(Data(#"{"pin": "s3cr3t-17"}"#.utf8)), .data(Data("s3cr3t-marked".utf8)),
                    ][index]
                return request
            }
        let options = Cassette.Options.with { $0.matching += [.headerFields(.authorization)] }
        try await withCassetteFolder { folder in
            try await folder.record(from: MockTransport(responses), options) { network in
                for (index, request) in requests.enumerated() {
                    let response = try await network.data(request)
                    #expect(response.data.firstRange(of: Data(Self.secret.utf8)) != nil, "\(index)")
                }
            }

            let lines = folder.text.split(separator: "\n").filter { $0.contains(Self.secret) }
            #expect(lines.isEmpty, "\(lines)")

            // Each run of a test has other secrets.
            try await folder.replay(options) { network in
                for (index, request) in requests.enumerated() {
                    var request = request
                    request.query.api_key = "another"
                    request.headerFields[.authorization] = "Bearer another"
                    let response = try await network.data(request)
                    switch index {
                    case 0:
                        let text = #"{"access_token":"<redacted>","list":[{"password":"<redacted>"}],"name":"Emily"}"#
                        #expect(response.data == Data(text.utf8))
                        #expect(response.headerFields[.contentLength] == "\(text.utf8.count)")
                    case 2:
                        let text = "id: 1\ndata: {\"token\":\"<redacted>\",\"a\":1}\n\ndata: plain\n\n"
                        #expect(String(decoding: response.data, as: UTF8.self) == text)
                    default: break
                    }
                }
            }
        }
    }

    /// The stream of a language model ends with the text `[DONE]`, which is not JSON, and is still recorded redacted.
    @Test func recordsAStreamThatEndsWithPlainText() async throws {
        try await withCassetteFolder { folder in
            let sent = "data: {\"token\":\"s3cr3t\",\"i\":1}\r\n\r\ndata: a\u{2028}b\r\n\r\ndata: [DONE]\r\n\r\n"
            let response = MockResponse.ok(Data(sent.utf8), headerFields: [.contentType: "text/event-stream"])
            try await folder.record(from: MockTransport([response])) { try await $0.get("a", expecting: sent) }
            #expect(!folder.text.contains(Self.secret))
            try await folder.replay {
                try await $0.get("a", expecting: sent.replacing(Self.secret, with: "<redacted>"))
            }
        }
    }

    /// A body that is not on the cassette cannot be compared.
    @Test func cannotMatchARedactedBody() async throws {
        try await withCassetteFolder { folder in
            func request(_ token: String) -> HTTPRequestData {
                .init(method: .post, path: "a", body: .multipart([.text(token, name: "token")]))
            }
            let options = Cassette.Options.with { $0.matching += [.body] }
            let reason = await CassetteFolder.reason {
                try await folder.record(from: MockTransport { _ in .ok() }, options) { network in
                    _ = try await network.data(request("s3cr3t"))
                    try await network.get("b")
                }
            }
            #expect(
                reason == """
                    POST https://api.example/a was not recorded: the body of its request may contain secrets and is not kept, so \
                    the matcher body could not distinguish it from others. Say what may be shown with the option redaction, or match \
                    without the body.
                    """
            )
            #expect(folder.text.contains("/b\""))

            // Without a body on the cassette, no request matches by its body.
            try FileManager.default.removeItem(at: folder.cassette)
            try await folder.record(from: MockTransport { _ in .ok() }) { _ = try await $0.data(request("s3cr3t")) }
            let miss = await CassetteFolder.reason {
                try await folder.replay(options) { _ = try await $0.data(request("another")) }
            }
            #expect(miss?.contains("the body: recorded not shown: it may contain secrets") == true)
            try await folder.replay { _ = try await $0.data(request("another")) }
        }
    }

    @Test func replaysARedirectToARedactedLocation() async throws {
        try await withCassetteFolder { folder in
            let transport = MockTransport([.redirect(to: "/next?token=s3cr3t"), .text("there")])
            try await folder.record(from: transport) { try await $0.get("a", expecting: "there") }
            #expect(transport.requests.last?.query.token == "s3cr3t")

            try await folder.replay { try await $0.get("a", expecting: "there") }
            #expect(!folder.text.contains(Self.secret))
        }
    }

    @Test func errorsAndDescriptionsContainNoSecret() async throws {
        try await withCassetteFolder { folder in
            func request(_ path: String) -> HTTPRequestData {
                var request = HTTPRequestData(method: .post, path: path, body: .json(["password": "s3cr3t"]))
                request.headerFields[.authorization] = "Bearer s3cr3t"
                request.markSecret("s3cr3t")
                return request
            }
            let options = Cassette.Options.with { $0.matching += [.body, .headerFields(.authorization)] }
            try await folder.record(from: MockTransport { _ in .ok() }, options) { network in
                _ = try await network.data(request("a?token=s3cr3t"))
            }
            let cassette = try Cassette(at: folder.cassette, mode: .none, options: options)
            let network = MockTransport().cassette(cassette).server(authority: "api.example")
            var texts = ["\(cassette)", "\(cassette.interactions)", String(reflecting: cassette.unused)]
            var dumped = ""
            dump(cassette, to: &dumped)
            dump(cassette.interactions, to: &dumped)
            texts.append(dumped)
            for path in ["s3cr3t?token=s3cr3t", "a?token=s3cr3t&other=s3cr3t"] {
                texts.append(await CassetteFolder.reason { _ = try await network.data(request(path)) } ?? "none")
            }
            texts.append(await CassetteFolder.reason { try cassette.finish() } ?? "none")
            for text in texts {
                #expect(!text.contains(Self.secret), "\(text)")
            }
        }
    }

    /// The error is reported during recording and not only during replay.
    @Test func refusesToRecordABodyThatMayContainSecrets() async throws {
        try await withCassetteFolder { folder in
            let response = MockResponse.ok(Data("{\"a\": ".utf8), headerFields: [.contentType: "application/json"])
            let reason = await CassetteFolder.reason {
                try await folder.record(from: MockTransport([response, .ok()])) { network in
                    try await network.get("broken", expecting: "{\"a\": ")
                    try await network.get("whole")
                }
            }
            #expect(
                reason == """
                    GET https://api.example/broken was not recorded: its body may contain secrets that cannot be removed. Say what \
                    may be shown with the option redaction, or change the body or its Content-Type in afterCapture.
                    """
            )
            try await folder.replay { try await $0.get("whole") }
        }
    }
}
