import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingInspector

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct HTTPArchiveTests {
    private func archive(_ json: String) throws -> HTTPArchive {
        try HTTPArchive(Data(json.utf8))
    }

    /// A session with a retry, a binary body, a form and a failed call.
    private func session() async throws -> NetworkInspector {
        let inspector = NetworkInspector(title: "Shop")
        let transport = MockTransport([
            .status(.serviceUnavailable), .text("hello"), .ok(Data([0, 255]), headerFields: [.setCookie: "a=b"]),
            .failure(URLError(.timedOut)),
        ])
        let network = transport.retry(.immediate(maximumRetries: 1)).inspected(by: inspector)
            .environment(\.clock, .immediate())
        try await network.data(.lawful.with { $0.route = "/users/{id}" })
        try await network.data(
            .lawful.with {
                $0.method = .post
                $0.body = .form(["a": "b"])
            }
        )
        await #expect(throws: (any Error).self) { try await network.data(.lawful.with { $0.method = .post }) }
        return inspector
    }

    @Test func encodedArchiveDecodesToTheSameArchive() async throws {
        let archive = try await session().archive
        let copy = try HTTPArchive(archive.encoded())
        #expect(copy == archive)
        #expect(copy.entryCount == 4)
        #expect(copy.skippedEntryCount == 0)
    }

    @Test func readsArchivesOfOtherToolsAndSkipsInvalidEntries() throws {
        let archive = try archive(
            """
            {"log": {"version": 1.2, "creator": {"name": "Browser"}, "entries": [
                {"startedDateTime": "2026-11-22T08:00:00.000+02:00", "time": "12.5", "_priority": "High", "_initiator": {"token": "SECRET"},
                 "request": {"method": "GET", "url": "https://a.example/x?token=SECRET&b=1", "headers": [
                    {"name": ":path", "value": "/x?token=SECRET"}, {"name": "Authorization", "value": "SECRET"}, null, {"name": "odd name", "value": "SECRET"}
                 ], "cookies": [{"name": "id", "value": "SECRET"}], "queryString": [{"name": "token", "value": "SECRET"}]},
                 "response": {"status": "200", "headers": null, "content": {"size": 3, "mimeType": "application/json", "text": "{\\"password\\": \\"SECRET\\"}"}},
                 "timings": {"wait": null, "receive": -5}},
                {"request": {"url": "https://b.example/"}, "response": null, "_error": "net::ERR_ABORTED"},
                {"comment": "no request"}, 7, null
            ]}}
            """
        )
        #expect(archive.entryCount == 2)
        #expect(archive.skippedEntryCount == 3)
        let entry = try #require(archive.har.log.entries.first)
        #expect(entry.time == 12.5)
        #expect(entry.request.url == "https://a.example/x?token=%3Credacted%3E&b=1")
        #expect(entry.response.status == 200)
        #expect(entry.response.content.text == #"{"password":"<redacted>"}"#)
        #expect(archive.har.log.entries.last?.error?.reason == "net::ERR_ABORTED")
        let written = String(decoding: try archive.encoded(), as: UTF8.self)
        let report = String(decoding: try archive.report(), as: UTF8.self)
        #expect(!written.contains("SECRET"))
        #expect(!report.contains("SECRET"))
        #expect(archive.waterfall().contains("GET /x"))
    }

    /// Redaction covers encoded bodies and bodies that cannot be decoded.
    @Test func redactsSecretsInArchivesOfOtherTools() throws {
        let archive = try archive(
            """
            {"log": {"pages": [{"id": "page", "title": "https://app.example/cb?code=SECRET&access_token=SECRET"}], "entries": [
                {"pageref": "p?token=SECRET", "comment": "see https://a.example/?token=SECRET",
                 "request": {"method": "POST", "url": "https://a.example/", "postData": {"mimeType": "application/json", "_encoding": "BASE64",
                    "text": "{\\"password\\": \\"SECRET\\"}"}},
                 "response": {"status": 200, "_error": "net::ERR?token=SECRET",
                    "content": {"mimeType": "application/json", "encoding": "base64", "text": "{\\"access_token\\":\\"SECRET\\"}"}}},
                {"request": {"url": "https://a.example/", "postData": {"mimeType": "text/plain", "text": "{\\"password\\":\\"SECRET\\"}"}},
                 "response": {"content": {"mimeType": "text/event-stream", "encoding": "base64", "text": "/2RhdGE6IHsiYWNjZXNzX3Rva2VuIjoiU0VDUkVUIn0K"}},
                 "_call": {"id": 1, "state": "failure", "title": "x?token=SECRET", "url": "https://a.example/?token=SECRET",
                    "error": {"kind": "k", "reason": "r?token=SECRET"}, "spans": [{"id": 0, "name": "a?token=SECRET"}], "marks": [{"name": "b?token=SECRET"}]}}
            ]}}
            """
        )
        #expect(archive.entryCount == 2)
        let written = String(decoding: try archive.encoded(), as: UTF8.self)
        #expect(!written.contains("SECRET"), "\(written)")
        #expect(!written.contains("U0VDUkVU"), "\(written)")
        #expect(try !String(decoding: archive.report(), as: UTF8.self).contains("SECRET"))
    }

    /// No text of another tool is written as it is, whichever field it is in.
    @Test func redactsEveryTextOfAnArchive() throws {
        let archive = try archive(
            """
            {"log": {"version": "1?token=SECRET", "creator": {"name": "n?token=SECRET", "version": "v?token=SECRET"},
             "_cassette": {"format": 1},
             "pages": [{"id": "i?token=SECRET", "title": "t?token=SECRET", "startedDateTime": "d?token=SECRET"}],
             "entries": [
                {"pageref": "p?token=SECRET", "startedDateTime": "d?token=SECRET", "comment": "c?token=SECRET",
                 "serverIPAddress": "a?token=SECRET", "connection": "c?token=SECRET",
                 "_cassette": {"principalName": "n?token=SECRET"},
                 "request": {"method": "M?token=SECRET", "url": "https://a.example/", "httpVersion": "h?token=SECRET",
                    "cookies": [{"name": "a", "value": "b", "path": "/?token=SECRET", "domain": "d?token=SECRET", "expires": "e?token=SECRET"}],
                    "postData": {"mimeType": "m?token=SECRET", "comment": "c?token=SECRET", "_encoding": "e?token=SECRET",
                        "params": [{"name": "a", "contentType": "m?token=SECRET"}]}},
                 "response": {"status": 200, "httpVersion": "h?token=SECRET",
                    "cookies": [{"name": "a", "value": "b", "path": "/?token=SECRET"}],
                    "content": {"mimeType": "m?token=SECRET", "comment": "c?token=SECRET", "encoding": "e?token=SECRET"}},
                 "_error": {"kind": "k?token=SECRET", "reason": "r?token=SECRET"},
                 "_call": {"id": 1, "state": "failure", "url": "https://a.example/", "method": "M?token=SECRET",
                    "label": "l?token=SECRET", "startedDateTime": "d?token=SECRET", "cache": "c?token=SECRET",
                    "spans": [{"id": 0, "kind": "k?token=SECRET"}]}},
                {"request": {"url": "https://a.example/", "postData": {"mimeType": "m?token=SECRET", "text": "", "_encoding": "e?token=SECRET"}},
                 "response": {"content": {"mimeType": "m?token=SECRET", "comment": "c?token=SECRET", "text": "shown"}}}
            ]}}
            """
        )
        let entries = archive.har.log.entries
        #expect(entries.count == 2)
        #expect(entries.first?.request.postData?.comment == "c?token=<redacted>")
        #expect(entries.last?.response.content.text == "shown")
        #expect(entries.last?.response.content.comment == "c?token=<redacted>")
        let written = String(decoding: try archive.encoded(), as: UTF8.self)
        #expect(!written.contains("SECRET"), "\(written)")
        #expect(try !String(decoding: archive.report(), as: UTF8.self).contains("SECRET"))
        #expect(try HTTPArchive(archive.encoded()) == archive)
    }

    /// Text in an archive is Unicode, whatever charset the response declared.
    ///
    /// A second decoding gives the same text.
    @Test func readsTextAsUnicodeWhateverItsCharset() throws {
        let json =
            #"{"log": {"entries": [{"request": {"url": "https://a.example/"}, "response": {"content": {"mimeType": "application/json; charset=iso-8859-1", "text": "{\"name\":\"é\",\"password\":\"x\"}"}}}]}}"#
        let once = try archive(json)
        let twice = try HTTPArchive(once.encoded())
        for archive in [once, twice] {
            #expect(archive.har.log.entries[0].response.content.text == #"{"name":"é","password":"<redacted>"}"#)
        }
    }

    @Test func waterfallOfInvalidTimesDoesNotTrap() throws {
        let entry =
            #"{"startedDateTime": "2026-11-22T08:00:00Z", "time": TIME, "request": {"url": "https://a.example/"}}"#
        let entries = ["0.001", "-1e15", "1e300", "0"].map { entry.replacing("TIME", with: $0) }
        let archive = try archive(#"{"log": {"entries": [\#(entries.joined(separator: ","))]}}"#)
        #expect(archive.waterfall(width: 10).split(separator: "\n").count == 5)
    }

    @Test(arguments: [
        "", "{", "[]", "7", "null", "{}", #"{"log": []}"#, #"{"log": {"entries": 7}}"#,
        String(repeating: "[", count: 100_000),
    ])
    func throwsForInvalidArchives(json: String) {
        let error = #expect(throws: HTTPArchiveError.self) { try archive(json) }
        #expect(error?.reason.hasPrefix("This is not an HTTP archive") == true)
    }

    @Test func readsAnArchiveWithAByteOrderMark() throws {
        #expect(try HTTPArchive(Data([0xEF, 0xBB, 0xBF]) + Data(#"{"log":{"entries":[]}}"#.utf8)).entryCount == 0)
    }

    @Test func hugeNumbersDoNotTrap() throws {
        let archive = try archive(
            """
            {"log": {"entries": [{"startedDateTime": "9999-99-99", "time": 1e308, "request": {"method": "G T", "url": "::", "bodySize": 1e300},
            "response": {"status": 1e18, "content": {"size": -1e18}}, "timings": {"wait": 1e308, "send": 1e308, "receive": 1e308},
            "_call": {"id": 9e18, "state": "response", "attempts": 1e99, "time": -1, "spans": [{"id": 1, "start": -1e300, "time": 1e300}]}}]}}
            """
        )
        #expect(archive.entryCount == 1)
        #expect(try !archive.report().isEmpty)
        #expect(!archive.waterfall().isEmpty)
        #expect(try HTTPArchive(archive.encoded()).entryCount == 1)
    }

    // MARK: Text

    @Test func waterfallHasALineForEachCall() async throws {
        let lines = try await session().archive.waterfall(width: 10).split(separator: "\n")
        #expect(lines.count == 4)
        #expect(lines[0].hasPrefix("  3 calls in") || lines[0].hasPrefix("3 calls in"))
        #expect(lines[1].contains("GET /") && lines[1].hasSuffix("200, 2 attempts"))
        #expect(lines[3].hasSuffix("ms  failed"))
    }

    /// Requests for the pages of a list differ only in their query.
    @Test func waterfallShowsRedactedQueries() async throws {
        let inspector = NetworkInspector()
        let network = MockTransport { _ in .ok() }.inspected(by: inspector)
        for target in [
            "list?page=1", "list?page=2&token=SECRET&sort=name", "?page=3",
            "\(String(repeating: "long/", count: 30))?filter=\(String(repeating: "x", count: 100))&page=4",
            "plain#part",
        ] {
            try await network.data(HTTPRequestData(url: try #require(URL(string: "https://api.example.com/\(target)"))))
        }
        let names = inspector.archive.waterfall(width: 10).split(separator: "\n").dropFirst()
            .map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
        #expect(
            names == [
                "GET /list?page=1", "GET /list?page=2&token=<redacted>&sort=name", "GET /?page=3",
                "GET /long/long/long/long/long/long…xxxxxxxxxxxxxxxxxxxxxx&page=4", "GET /plain",
            ]
        )
    }

    /// The same holds after an archive was written and read again.
    @Test func showsTheCodeFieldOnlyInErrorBodies() async throws {
        let inspector = NetworkInspector()
        let body = Data(#"{"code":"E42"}"#.utf8)
        let transport = MockTransport([
            MockResponse(status: .ok, data: body, headerFields: [.contentType: "application/json"]),
            MockResponse(status: .conflict, data: body, headerFields: [.contentType: "application/json"]),
        ])
        for _ in 0..<2 {
            try await transport.inspected(by: inspector)
                .data(
                    .lawful.with {
                        $0.method = .post
                        $0.body = .data(body, contentType: "application/json")
                    }
                )
        }
        for archive in [inspector.archive, try HTTPArchive(try inspector.archive.encoded())] {
            let entries = archive.har.log.entries
            #expect(entries.map { $0.response.content.text?.contains("E42") } == [false, true])
            #expect(entries.map { $0.request.postData?.text?.contains("E42") } == [false, false])
        }
    }

    @Test func waterfallWithoutCallsSaysNoCalls() throws {
        #expect(NetworkInspector().archive.waterfall() == "no calls")
    }

    // MARK: Files

    @Test func writesFilesThatOnlyTheirOwnerCanRead() async throws {
        let inspector = try await session()
        try await withTemporaryDirectory { directory in
            for name in ["network.har", "network.html"] {
                let url = directory.appending(path: name)
                if name.hasSuffix("har") {
                    try inspector.archive.write(to: url)
                } else {
                    try inspector.writeReport(to: url)
                }
                let mode = try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
                #expect(mode == 0o600)
            }
            #expect(try HTTPArchive(contentsOf: directory.appending(path: "network.har")) == inspector.archive)
        }
    }

    @Test func throwsWhenAFileCannotBeWritten() async throws {
        try await withTemporaryDirectory { directory in
            let error = #expect(throws: HTTPArchiveError.self) {
                try NetworkInspector().writeReport(to: directory.appending(path: "no/such/directory.html"))
            }
            #expect(error?.reason == "There is no folder \(directory.path)/no/such. Create it first.")
            let folder = #expect(throws: HTTPArchiveError.self) { try NetworkInspector().writeReport(to: directory) }
            #expect(folder?.reason.contains("\(directory.path) is a directory") == true)
            let page = try #require(URL(string: "https://example.com/a.html"))
            #expect(throws: HTTPArchiveError.self) { try NetworkInspector().writeReport(to: page) }
            #expect(throws: HTTPArchiveError.self) { try NetworkInspector().archive.write(to: directory) }
            #expect(throws: HTTPArchiveError.self) {
                try HTTPArchive(contentsOf: directory.appending(path: "none.har"))
            }
        }
    }

    /// Following the link would let another process redirect the report to any file.
    @Test func replacesASymbolicLinkInsteadOfFollowingIt() async throws {
        try await withTemporaryDirectory { directory in
            let (target, link) = (directory.appending(path: "target"), directory.appending(path: "network.html"))
            try Data("mine".utf8).write(to: target)
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: target)
            try NetworkInspector().writeReport(to: link)
            #expect(try Data(contentsOf: target) == Data("mine".utf8))
        }
    }

    // MARK: The page

    @Test func reportEscapesMarkupInDataAndTitle() async throws {
        let inspector = NetworkInspector(title: #"</title><script>alert("{{data}}")</script>"#)
        let transport = MockTransport { _ in
            .ok(Data("</script><!--<script>alert(1)".utf8), headerFields: [.contentType: "text/html"])
        }
        try await transport.inspected(by: inspector).data(.lawful)
        let page = String(decoding: try inspector.archive.report(), as: UTF8.self)
        #expect(page.components(separatedBy: "</script>").count == 3)
        #expect(!page.contains("<script>alert"))
        #expect(page.contains("&lt;script&gt;alert(&quot;{{data}}&quot;)"))
        let marked = NetworkInspector(title: "<\u{301}/title \u{600}>\u{600}<meta \u{600}>")
        let markedPage = String(decoding: try marked.archive.report(), as: UTF8.self)
        #expect(!markedPage.utf8.contains("<meta \u{600}".utf8))
        #expect(markedPage.utf8.contains("&lt;\u{301}/title".utf8))
        #expect(page.contains(#"\u003c/script>\u003c!--\u003cscript>alert(1)"#))
    }

    @Test func curlCommandsContainOnlyRedactedValues() async throws {
        let inspector = NetworkInspector()
        let transport = MockTransport { _ in .ok() }
        let request = HTTPRequestData.lawful.with {
            $0.method = .put
            $0.headerFields[.authorization] = "Bearer SECRET"
            $0.body = .json(["a": "it's"])
        }
        try await transport.inspected(by: inspector).data(request)
        let entry = try #require(inspector.archive.har.withCommands.log.entries.first)
        let command = try #require(entry.curl)
        #expect(command.hasPrefix("curl --request 'PUT'"))
        #expect(command.contains("--header 'Authorization: <redacted>'"))
        #expect(command.contains(#"--data-raw '{"a":"it'\''s"}'"#))
        #expect(!command.contains("SECRET"))
        // A quote with a combining mark is another `Character`, but a shell still reads the quote.
        let quote = HAR.Request.with(body: "'\u{301};touch pwned;'\u{301}")
        #expect(quote.command?.utf8.contains("--data-raw ''\\''\u{301};touch pwned;'\\''\u{301}'".utf8) == true)
        let upload = try archive(
            #"{"log": {"entries": [{"request": {"method": "POST", "url": "https://a.example/", "postData": {"mimeType": "x/y", "comment": "gone"}}}]}}"#
        )
        #expect(upload.har.withCommands.log.entries.first?.curl?.hasPrefix("# The body is not here") == true)
        // A command stored in the file is ignored.
        let foreign = try archive(
            #"{"log": {"entries": [{"request": {"method": "GET", "url": "https://a.example/"}, "_curl": "rm -rf /"}]}}"#
        )
        #expect(foreign.har.withCommands.log.entries.first?.curl == "curl 'https://a.example/'")
    }
}

extension HAR.Request {
    fileprivate static func with(body: String) -> HAR.Request {
        var request = HAR.Request(method: "POST", url: "https://a.example/")
        request.postData = HAR.PostData(Data(body.utf8), mimeType: "text/plain", .standard)
        return request
    }
}

extension String.UTF8View {
    fileprivate func contains(_ other: String.UTF8View) -> Bool {
        firstRange(of: other) != nil
    }
}
