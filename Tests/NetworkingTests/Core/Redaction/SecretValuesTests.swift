import Foundation
import HTTPTypes
import Logging
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCore

@Suite(.tags(.memory), .timeLimit(.minutes(20)))
struct SecretValuesTests {
    private func redacted(_ text: String, _ values: String...) -> String {
        var secrets = SecretValues()
        for value in values {
            secrets.insert(value)
        }
        return secrets.redacted(in: text)
    }

    @Test(arguments: [
        ("tok_123", "a tok_123 b tok_123", "a <redacted> b <redacted>"),
        ("tok_123", "tok_12 tok_1234", "tok_12 <redacted>4"),
        ("a b/c", "/x/a%20b%2Fc?y=a+b%2fc", "/x/<redacted>?y=<redacted>"),
        (
            "a b/c", "redirect=https%3A%2F%2Fe%2F%3Fx%3Da%2520b%252Fc&z",
            "redirect=https%3A%2F%2Fe%2F%3Fx%3D<redacted>&z"
        ),
        ("tok", "t%6Fk %74%6F%6b", "<redacted> <redacted>"),
        ("ü€", "\"\\u00fc\\u20AC\" %C3%BC%e2%82%ac", "\"<redacted>\" <redacted>"),
        ("👋x", #""\ud83d\udc4bx""#, #""<redacted>""#),
        ("a\"b\\c/d", #""a\"b\\c\/d""#, #""<redacted>""#),
        ("a\nb", #""a\nb""#, #""<redacted>""#),
        ("50%", "50%25 and 50%", "<redacted> and <redacted>"),
        ("%25", "%25", "<redacted>"),
        ("+", "a+b", "a<redacted>b"),
        ("aa", "aaa", "<redacted>a"),
        ("nothing", "%", "%"),
        ("%4", "%", "%"),
        ("x", "\\u12", "\\u12"),
        ("x", "\\ud83dx", "\\ud83d<redacted>"),
        ("x", "\\", "\\"),
        ("it's u", #"it\'s u"#, "<redacted>"),
        ("'u", #"\'u"#, "<redacted>"),
    ])
    func valueIsRedactedInEachEncoding(value: String, text: String, shown: String) {
        #expect(redacted(text, value) == shown)
    }

    @Test func longestValueIsRedactedFirst() {
        #expect(redacted("tokentail token", "token", "tokentail") == "<redacted> <redacted>")
        #expect(redacted("text", "") == "text")
    }

    /// A call has the secrets of all its requests.
    @Test(arguments: [["token", "tokentail"], ["tokentail", "token"]])
    func longestValueOfSeveralRequestsIsRedactedFirst(values: [String]) {
        var secrets = SecretValues()
        for value in values {
            var others = SecretValues()
            others.insert(value)
            secrets.formUnion(others)
        }
        #expect(secrets.redacted(in: "tokentail token") == "<redacted> <redacted>")
    }

    // MARK: Requests

    private let secret = "tok/1 2"

    private func marked(_ change: (inout HTTPRequestData) -> Void = { _ in }) -> HTTPRequestData {
        var request = HTTPRequestData(
            method: .post,
            authority: "laws.example",
            path: "reset/tok%2F1%202/now?q=tok%2f1+2&x=1"
        )
        request.headerFields[.accept] = "text/tok/1 2"
        request.markSecret(secret)
        change(&request)
        return request
    }

    @Test func requestPrintsNoMarkedSecret() {
        let request = marked { $0.body = .data(Data("x".utf8), contentType: "text/tok/1 2") }
        #expect("\(request)" == "POST https://laws.example/reset/<redacted>/now?q=<redacted>&x=1")
        let prints = everyPrint(of: request)
        #expect(!prints.contains("tok"), "\(prints)")
        #expect(prints.contains("Accept: text/<redacted>"))
    }

    @Test func responseAndErrorPrintNoMarkedSecret() {
        let request = marked()
        let response = HTTPResponseData(
            request: request,
            status: .init(code: 299, reasonPhrase: "No tok/1 2"),
            headerFields: [.server: "tok/1 2"]
        )
        let error = NetworkingError(.status, request: request, response: response, reason: "tok%2F1%202 is no token")
        #expect(error.reason == "<redacted> is no token")
        for prints in [everyPrint(of: response), everyPrint(of: error)] {
            #expect(!prints.contains("tok/") && !prints.contains("tok%"), "\(prints)")
        }
    }

    @Test(
        arguments: [
            .json(["url": "https://e/tok/1 2", "a": "b"]), .form(["url": "https://e/tok/1 2", "a": "b"]),
            .data(Data("hello tok/1 2".utf8), contentType: "text/plain"),
            .data(Data([0, 1] + Array("tok/1 2".utf8)), contentType: "application/octet-stream"),
            .file(URL(filePath: "/tmp/tok/1 2/x")),
        ] as [RequestBody]
    )
    func commandHasNoMarkedSecretByDefault(body: RequestBody) {
        let request = marked { $0.body = body }
        let command = request.curl()
        #expect(!command.contains("tok"), "\(command)")
        #expect(command.contains("<redacted>"))
        #expect(command.contains("/now?q=<redacted>&x=1"))
        #expect(request.curl(redaction: nil).contains("tok%2F1%202"))
    }

    @Test func logsHaveNoMarkedSecret() async throws {
        let log = LogRecorder()
        let secret = secret
        let transport = MockTransport([
            .redirect(to: "https://laws.example/next/tok%2F1%202"),
            MockResponse(
                status: .init(code: 200, reasonPhrase: "OK tok/1 2"),
                data: Data(#"{"echo":"tok\/1 2","list":["x tok/1 2"],"tok/1 2":1}"#.utf8),
                headerFields: [.contentType: "application/json", .server: "tok/1 2"]
            ),
        ])
        let failing = MockTransport { request in
            throw NetworkingError(.connection, request: request, reason: "No way to \(secret)")
        }
        let request = marked { $0.body = .form(["a": "tok/1 2"]) }

        try await transport.logged(using: log.logger(.trace), detail: .body()).data(request)
        await #expect(throws: NetworkingError.self) {
            try await failing.logged(using: log.logger(.trace), detail: .body()).data(request)
        }

        #expect(!log.text.contains("tok"), "\(log.text)")
        #expect(log.lines.last?.message.hasSuffix("No way to <redacted>") == true)
        #expect(log.text.contains(#"{"echo":"<redacted>","list":["x <redacted>"],"<redacted>":1}"#))
    }

    @Test func truncationLeavesNoPrefixOfASecret() {
        let redaction = Redaction.standard.redactingSecrets(of: marked())
        for limit in 0..<40 {
            let text = String(repeating: "tok/1 2 ", count: 4)
            let shown = redaction.text(for: Data(text.utf8), contentType: "text/plain", style: .init(limit: limit))
            #expect(!shown.contains("tok"))
        }
    }

    @Test func markIsKeptThroughAStack() async throws {
        let network = MockTransport([.redirect(to: "/next/tok%2F1%202"), .ok()]).server(scheme: "https")
        let response = try await network.data(marked())
        #expect("\(response.sentRequest)".contains("/next/<redacted>"))
    }

    @Test func equalityIgnoresMarks() {
        var request = HTTPRequestData.lawful
        let other = request
        request.markSecret("x")
        #expect(request == other)
    }
}
