#if os(Linux) || os(macOS)
import Foundation
import HTTPTypes
import Networking
import NetworkingInspector

/// Sessions with texts that try to run scripts in the report.
enum HostileSession {
    /// Each text sets a flag and opens a dialog if it runs.
    static let texts = [
        "<script>window.hacked=1;alert(1)</script>", "\"><img src=x onerror=\"window.hacked=1;alert(2)\">",
        "</script><script>window.hacked=1;alert(3)</script>", "<!--<script>",
        "--><svg onload=window.hacked=1;alert(4)>",
        "</title></textarea></style><iframe srcdoc=\"<script>parent.hacked=1</script>\"></iframe>",
        "javascript:window.hacked=1;alert(5)", "{{script}}{{data}}{{nonce}}", "${window.hacked=1}`'-alert(6)-'",
        "&lt;script&gt;window.hacked=1&lt;/script&gt;", "\\u003cscript>window.hacked=1</script>",
        "]]><b onclick=alert(7)>",
        "\u{202E}gnp.exe\u{202C} \u{2066}\u{2029}\u{2028}", "a\u{0}b\u{1}\u{1B}[2J\u{7F}\u{85}",
        String(repeating: "x", count: 20_000),
    ]

    /// An archive of requests, responses and errors with these texts, as sent through a stack.
    static func sent() async throws -> HTTPArchive {
        let inspector = NetworkInspector(title: texts.joined())
        for text in texts {
            let encoded = text.utf8.map { "%" + String(Int($0) + 0x100, radix: 16).dropFirst() }.joined()
            let transport = MockTransport { request in
                guard request.path != "/failing" else {
                    throw NetworkingError(.connection, request: request, reason: text)
                }
                var fields: HTTPFields = [
                    .contentType: text, .server: text, .location: text, .setCookie: "a=\(text); Path=\(text)",
                ]
                if let name = HTTPField.Name("X-'`${}&") { fields[name] = text }
                return MockResponse(
                    status: .init(code: 299, reasonPhrase: text),
                    data: Data(text.utf8),
                    headerFields: fields
                )
            }
            let network = transport.inspected(by: inspector)
            for path in ["/\(text)?q=\(text)", "/\(encoded)?\(encoded)=\(encoded)#\(encoded)", "/failing"] {
                var request = HTTPRequestData(method: .post, scheme: "https", authority: "hostile.example", path: path)
                request.headerFields = [.accept: text, .cookie: "a=\(text)", .referer: text, .userAgent: text]
                request.body = .data(Data("\(text)\n{\"\(text)\":1}".utf8), contentType: text)
                if path == "/failing" {
                    request.body = .multipart([
                        .text(text, name: text), .data(Data(text.utf8), name: text, fileName: text),
                    ])
                }
                request.route = text
                _ = try? await network.data(request)
            }
        }
        return inspector.archive
    }

    /// An archive in which each text is the value of every field that may be a text, including this library's own
    /// fields.
    static func imported() throws -> HTTPArchive {
        let entries = texts.enumerated()
            .flatMap { number, text in
                [
                    entry(text, date: "2026-05-14T09:41:0\(number % 10).000Z", call: number + 1),
                    entry(text, date: text, call: nil),
                ]
            }
        let log: [String: Any] = [
            "version": "1.2", "creator": ["name": texts[0], "version": texts[1]],
            "pages": [
                [
                    "id": texts[2], "title": texts.joined(), "startedDateTime": texts[3],
                    "pageTimings": [:] as [String: Any],
                ]
            ],
            "entries": entries,
        ]
        return try HTTPArchive(try JSONSerialization.data(withJSONObject: ["log": log]))
    }

    private static func entry(_ text: String, date: String, call: Int?) -> [String: Any] {
        let pair = ["name": text, "value": text]
        let cookie: [String: Any] = ["name": text, "value": text, "path": text, "domain": text, "expires": text]
        let body: [String: Any] = [
            "mimeType": text, "text": text, "comment": text, "encoding": text, "size": 1,
            "params": [["name": text, "value": text, "fileName": text, "contentType": text]],
        ]
        let response: [String: Any] = [
            "status": 200, "statusText": text, "httpVersion": text, "cookies": [cookie], "headers": [pair],
            "content": body,
            "redirectURL": text, "headersSize": -1, "bodySize": -1,
        ]
        let failure = ["kind": text, "reason": text]
        var entry: [String: Any] = [
            "pageref": text, "startedDateTime": date, "time": 30, "serverIPAddress": text, "connection": text,
            "comment": text,
            "cache": [:] as [String: Any], "timings": ["send": 1, "wait": 28, "receive": 1], "response": response,
            "_error": failure,
            "request": [
                "method": text, "url": text, "httpVersion": text, "cookies": [cookie], "headers": [pair],
                "queryString": [pair],
                "postData": body, "headersSize": -1, "bodySize": -1,
            ] as [String: Any],
        ]
        guard let call else { return entry }
        let span: [String: Any] = ["id": 0, "kind": text, "name": text, "start": 0, "time": 30, "own": 30]
        let inner: [String: Any] = [
            "id": 1, "parent": 0, "kind": "wait", "name": text, "start": 5, "time": 10, "own": 10,
        ]
        entry["_exchange"] = ["number": 1]
        entry["_curl"] = text
        entry["_call"] = [
            "id": call, "label": text, "title": text, "method": text, "url": text, "startedDateTime": date, "time": 30,
            "state": "failure", "status": 200, "error": failure, "cache": text, "cacheReason": text, "attempts": 1,
            "spans": [span, inner], "marks": [["name": text, "at": 3]], "response": response,
        ]
        return entry
    }
}
#endif
