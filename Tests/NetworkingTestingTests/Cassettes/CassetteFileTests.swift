import Foundation
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// The cassette file, and errors for damaged or missing files.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct CassetteFileTests {
    // MARK: Format

    @Test func writesAReadableFile() async throws {
        try await withCassetteFolder { folder in
            let transport = MockTransport([
                MockResponse(
                    status: .created,
                    data: Data(#"{"id":42,"token":"abc"}"#.utf8),
                    headerFields: [.contentType: "application/json"]
                )
            ])
            try await folder.record(from: transport) { network in
                var request = HTTPRequestData(method: .post, path: "user?page=1", body: .json(["name": "Emily"]))
                request.headerFields[.authorization] = "Bearer secret"
                _ = try await network.data(request)
            }

            #expect(folder.text == Self.golden)
            let mode = try FileManager.default.attributesOfItem(atPath: folder.cassette.path)[.posixPermissions]
            #expect(mode as? Int == 0o600)
            #expect(folder.names == ["test.har"])
        }
    }

    static let golden = """
        {
          "log" : {
            "_cassette" : {
              "format" : 1
            },
            "creator" : {
              "name" : "swift-networking",
              "version" : "0.1.0"
            },
            "entries" : [
              {
                "cache" : {

                },
                "request" : {
                  "bodySize" : 16,
                  "cookies" : [

                  ],
                  "headers" : [
                    {
                      "name" : "Authorization",
                      "value" : "<redacted>"
                    },
                    {
                      "name" : "Content-Type",
                      "value" : "application/json"
                    }
                  ],
                  "headersSize" : -1,
                  "httpVersion" : "unknown",
                  "method" : "POST",
                  "postData" : {
                    "mimeType" : "application/json",
                    "text" : "{\\"name\\":\\"Emily\\"}"
                  },
                  "queryString" : [
                    {
                      "name" : "page",
                      "value" : "1"
                    }
                  ],
                  "url" : "https://api.example/user?page=1"
                },
                "response" : {
                  "bodySize" : 30,
                  "content" : {
                    "mimeType" : "application/json",
                    "size" : 30,
                    "text" : "{\\"id\\":42,\\"token\\":\\"<redacted>\\"}"
                  },
                  "cookies" : [

                  ],
                  "headers" : [
                    {
                      "name" : "Content-Type",
                      "value" : "application/json"
                    }
                  ],
                  "headersSize" : -1,
                  "httpVersion" : "unknown",
                  "redirectURL" : "",
                  "status" : 201,
                  "statusText" : "Created"
                },
                "startedDateTime" : "2023-11-14T22:13:20.000Z",
                "time" : 0,
                "timings" : {
                  "blocked" : -1,
                  "connect" : -1,
                  "dns" : -1,
                  "receive" : 0,
                  "send" : 0,
                  "ssl" : -1,
                  "wait" : 0
                }
              }
            ],
            "pages" : [

            ],
            "version" : "1.2"
          }
        }

        """

    @Test func sameResponsesGiveTheSameFile() async throws {
        try await withCassetteFolder { folder in
            func record(at seconds: Int64, _ mode: Cassette.Mode, third: String) async throws -> String {
                let clock = ManualClock()
                clock.advance(by: .seconds(seconds))
                let transport = MockTransport { request in
                    var response = HTTPFields()
                    response[.date] = "\(clock.date)"
                    return .ok(Data((request.path == "/c" ? third : "same").utf8), headerFields: response)
                }
                try await withCassette(at: folder.cassette, mode: mode) { cassette in
                    let network = transport.cassette(cassette).server(authority: "api.example")
                        .environment(\.clock, .manual(clock))
                    for path in ["a", "b", "c", "a"] { try await network.get(path) }
                }
                return folder.text
            }
            let first = try await record(at: 0, .once, third: "old")
            let again = try await record(at: 5_000, .all, third: "old")
            #expect(first == again)
            let changed = try await record(at: 9_000, .all, third: "new")

            let differences = changed.split(separator: "\n").difference(from: first.split(separator: "\n"))
            // Only the body, the Date field and the recording date change.
            #expect(differences.insertions.count == 3)
            #expect(changed.contains("\"text\" : \"new\""))
        }
    }

    @Test func replayDoesNotTouchTheFile() async throws {
        try await withCassetteFolder { folder in
            try await folder.record(from: MockTransport([.ok()])) { try await $0.get("a") }
            let edited = folder.text.replacing("\"pages\"", with: "\"_comment\" : \"by hand\", \"pages\"")
            try folder.write(edited)
            for mode in [Cassette.Mode.none, .once, .newEpisodes] {
                try await folder.replay(mode: mode) { try await $0.get("a") }
            }
            try await folder.replay(mode: .all) { _ in }
            #expect(folder.text == edited)
        }
    }

    @Test func failedScopeSavesNothing() async throws {
        struct Failure: Error {}
        try await withCassetteFolder { folder in
            await #expect(throws: Failure.self) {
                try await folder.record(from: MockTransport([.ok()])) { network in
                    try await network.get("a")
                    throw Failure()
                }
            }
            #expect(folder.names.isEmpty)
        }
    }

    @Test func createsTheFolder() async throws {
        try await withCassetteFolder { folder in
            let url = folder.url.appending(path: "one/two/test.har")
            try await withCassette(at: url, mode: .once) {
                _ = try await MockTransport([.ok()]).cassette($0).data(.lawful)
            }
            try await withCassette(at: url, mode: .none) { _ = try await MockTransport().cassette($0).data(.lawful) }
        }
    }

    // MARK: Concurrent recording

    @Test func refusesASecondRecorderOfTheSameFile() async throws {
        try await withCassetteFolder { folder in
            var first: Cassette? = try Cassette(at: folder.cassette, mode: .once)
            for mode in [Cassette.Mode.once, .newEpisodes, .all] {
                let reason = await CassetteFolder.reason { _ = try Cassette(at: folder.cassette, mode: mode) }
                #expect(
                    reason == """
                        The cassette \(folder.cassette.path) is being recorded elsewhere, in this process or another. Give each test its \
                        own cassette, call finish() at the end of a test, or run the tests one after the other.
                        """
                )
            }
            try first?.finish()
            #expect(folder.names.isEmpty)
            first = try Cassette(at: folder.cassette, mode: .all)
            #expect(folder.names == ["test.har.lock"])
            // The deinitializer releases the lock too.
            first = nil
            _ = try Cassette(at: folder.cassette, mode: .newEpisodes)
            #expect(folder.names.isEmpty)
        }
    }

    /// Both URLs name the same file, and writing it keeps the symbolic link.
    @Test func symbolicLinkSharesTheLockOfItsTarget() async throws {
        try await withCassetteFolder { folder in
            let link = folder.url.appending(path: "link.har")
            try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "test.har")
            let first = try Cassette(at: folder.cassette, mode: .once)
            let reason = await CassetteFolder.reason { _ = try Cassette(at: link, mode: .once) }
            #expect(reason?.contains("is being recorded elsewhere") == true)
            first.discard()

            try await withCassette(at: link, mode: .once) { cassette in
                _ = try await MockTransport([.ok()]).cassette(cassette).data(.lawful)
            }
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == "test.har")
            #expect(try Cassette(at: folder.cassette, mode: .none).interactions.count == 1)

            // A link to itself throws an error instead of hanging.
            let ring = folder.url.appending(path: "ring.har")
            try FileManager.default.createSymbolicLink(atPath: ring.path, withDestinationPath: "ring.har")
            #expect(throws: CassetteError.self) { try Cassette(at: ring, mode: .once) }
        }
    }

    @Test func readersDoNotConflict() async throws {
        try await withCassetteFolder { folder in
            try await folder.record(from: MockTransport([.ok()])) { try await $0.get("a") }
            let writer = try Cassette(at: folder.cassette, mode: .newEpisodes)
            let readers = try (0..<10).map { try Cassette(at: folder.cassette, mode: $0 % 2 == 0 ? .none : .once) }
            for reader in readers {
                _ = try await MockTransport().cassette(reader).server(authority: "api.example").data(.init(path: "a"))
                try reader.finish()
            }
            writer.discard()
        }
    }

    @Test func takesOverAnAbandonedLock() async throws {
        try await withCassetteFolder { folder in
            try Data().write(to: folder.url.appending(path: "test.har.lock"))
            try Cassette(at: folder.cassette, mode: .once).finish()
            #expect(folder.names.isEmpty)
        }
    }

    // MARK: Finishing

    @Test func requestsAfterFinishThrow() async throws {
        try await withCassetteFolder { folder in
            let cassette = try Cassette(at: folder.cassette, mode: .once)
            try cassette.finish()
            try cassette.finish()
            let reason = await CassetteFolder.reason {
                _ = try await MockTransport([.ok()]).cassette(cassette).data(.lawful)
            }
            #expect(
                reason?.hasSuffix("is finished. Send the request before finish(), or open the cassette again.") == true
            )
        }
    }

    /// The second call waits until the first has written the file.
    @Test func concurrentFinishWaitsForTheFile() async throws {
        try await withCassetteFolder { folder in
            let box = Mutex<Cassette?>(nil)
            let (second, finishSecond) = AsyncStream.makeStream(of: Result<Bool, any Error>.self)
            let path = folder.cassette.path
            let options = Cassette.Options.with { options in
                options.beforeSave = { _ in
                    guard let cassette = box.withLock({ $0.take() }) else { return }
                    let hasStarted = DispatchSemaphore(value: 0)
                    // A separate thread, because a task could need the pool thread that waits for it here.
                    Thread.detachNewThread {
                        hasStarted.signal()
                        finishSecond.yield(
                            Result {
                                try cassette.finish()
                                return FileManager.default.fileExists(atPath: path)
                            }
                        )
                        finishSecond.finish()
                    }
                    hasStarted.wait()
                    // A call to finish() that does not wait usually returns within this time.
                    for _ in 0..<200 { sched_yield() }
                }
            }
            let cassette = try Cassette(at: folder.cassette, mode: .once, options: options)
            _ = try await MockTransport([.ok()]).cassette(cassette).data(.lawful)
            box.withLock { $0 = cassette }
            try cassette.finish()
            #expect(try await second.first { _ in true }?.get() == true)
        }
    }

    @Test func finishReportsCallsInProgress() async throws {
        try await withCassetteFolder { folder in
            let cassette = try Cassette(at: folder.cassette, mode: .once)
            let recorder = RequestRecorder()
            let clock = ManualClock()
            let network = MockTransport([.ok()]).delayed(by: .seconds(1)).recorded(by: recorder).cassette(cassette)
                .environment(\.clock, .manual(clock))
            let call = Task { try await network.data(.lawful) }
            try await clock.waitForSleepers()
            let reason = await CassetteFolder.reason { try cassette.finish() }
            #expect(
                reason == """
                    1 call still in progress when the cassette \(folder.cassette.path) was finished, and not in it. Wait for \
                    all calls first:
                      GET https://laws.example/check
                    """
            )
            clock.advance(by: .seconds(1))
            #expect(try await call.value.status == .ok)
            #expect(folder.names.isEmpty)
        }
    }

    // MARK: Bad input

    struct Fault: Sendable, CustomTestStringConvertible {
        let text: String
        let mode: Cassette.Mode
        let reason: String
        var testDescription: String { "\(text.prefix(20)) \(mode)" }

        init(_ text: String, _ reason: String) {
            self.init(text, .once, reason)
        }

        init(_ text: String, _ mode: Cassette.Mode, _ reason: String) {
            (self.text, self.mode, self.reason) = (text, mode, reason)
        }
    }

    static let faults = [
        Fault("", "The cassette PATH is empty. Restore it from version control, or remove it and record it again."),
        Fault(
            "{\n  \"log\": [1 2]\n}",
            .all,
            "The cassette PATH is damaged: line 2, column 13 is not valid JSON. "
                + "Restore it from version control, or remove it and record it again."
        ),
        Fault(
            "[{}]",
            "PATH is not a cassette: an object 'log' with an array 'entries' is missing (HAR 1.2). Check the path."
        ),
        Fault(
            #"{"log": {"_cassette": {"format": 2}, "entries": []}}"#,
            "The cassette PATH has format 2, and this version of swift-networking reads format 1. "
                + "Update the package, or record the cassette again with mode .all."
        ),
        Fault(
            #"{"log": {"_cassette": {"format": 0}, "entries": []}}"#,
            .none,
            "The cassette PATH has format 0, which is no longer supported. Record it again with mode .all."
        ),
        Fault(
            #"{"log": {"creator": {"name": "WebInspector"}, "entries": []}}"#,
            .newEpisodes,
            "PATH is an HTTP archive of WebInspector and not a cassette, so it is not overwritten. Replay it with mode "
                + ".none, or use another file."
        ),
        Fault(
            #"{"log": {"_cassette": {"format": 1}, "entries": [{"request": {"method": "GET"}}]}}"#,
            .none,
            "The cassette PATH is damaged: entry 1 has no request.url. "
                + "Restore it from version control, or remove it and record it again."
        ),
        Fault(
            #"{"log": {"_cassette": {"format": 1}, "entries": [{}]}}"#,
            "The cassette PATH has 1 entry without a request. Remove them, or remove the file and record the cassette "
                + "again."
        ),
    ]

    @Test(arguments: faults) func damagedFileThrowsAndStaysUnchanged(_ fault: Fault) async throws {
        try await withCassetteFolder { folder in
            try folder.write(fault.text)
            let reason = await CassetteFolder.reason { _ = try Cassette(at: folder.cassette, mode: fault.mode) }
            #expect(reason == fault.reason.replacing("PATH", with: folder.cassette.path))
            #expect(folder.text == fault.text)
            #expect(folder.names == ["test.har"])
        }
    }

    @Test(arguments: [
        ("{\"log\": tru}", 1, 9), ("{\"log\": {\"entries\": [", 1, 22),
        ("{}\n\n x", 3, 2),
        ("<html>", 1, 1),
    ])
    func reportsThePositionOfDamage(_ text: String, _ line: Int, _ column: Int) async throws {
        try await withCassetteFolder { folder in
            try folder.write(text)
            let reason = await CassetteFolder.reason { _ = try Cassette(at: folder.cassette, mode: .once) }
            #expect(
                reason?.contains("is damaged: line \(line), column \(column) is not valid JSON.") == true,
                "\(reason ?? "")"
            )
        }
    }

    /// Every request gets a response or an error.
    @Test func invalidValuesDoNotTrap() async throws {
        let requests = [
            #"{"method": "GET", "url": "https://api.example/a"}"#, #"{"method": "GE T", "url": "?"}"#, #"{"url": 5}"#,
            #"{"method": "GET", "url": "https://[::1/%zz?&&==#", "headers": [{"name": "a b", "value": "\u0000"}, 5], "postData": 5}"#,
        ]
        let responses = [
            #"{"status": 99999, "statusText": "\r\n"}"#, #"{"status": -5}"#,
            #"{"status": "200", "content": {"text": 7, "size": -1}}"#,
            #"{"status": 200, "headers": [{"name": "Content-Length", "value": "-1"}, {"name": "", "value": "\u0000"}]}"#,
            "5", "{}",
        ]
        let entries = requests.flatMap { request in
            responses.map { response in
                #"{"startedDateTime": 5, "time": -1e300, "request": \#(request), "response": \#(response), "_cassette": {"principal": []}}"#
            }
        }
        try await withCassetteFolder { folder in
            for mark in ["", #""_cassette": {"format": 1}, "#] {
                try folder.write("{\"log\": {\(mark)\"entries\": [\(entries.joined(separator: ",\n"))]}}")
                let cassette = try Cassette(at: folder.cassette, mode: .none)
                let network = MockTransport().cassette(cassette).server(authority: "api.example")
                for _ in entries { _ = try? await network.get("a") }
                #expect(cassette.replayedCount == responses.count)
                #expect(throws: CassetteError.self) { try cassette.finish() }
            }
        }
    }

    @Test func throwsForUnusableFileURLs() async throws {
        try await withCassetteFolder { folder in
            let path = folder.cassette.path
            #expect(
                await CassetteFolder.reason { _ = try Cassette(at: folder.cassette, mode: .none) }
                    == "There is no cassette at \(path), and mode .none records nothing. "
                    + "Record it with mode .once where the server can be reached, and check the path."
            )
            #expect(
                await CassetteFolder.reason { _ = try Cassette(at: folder.url, mode: .once) }
                    == "The cassette could not be read. \(folder.url.path) is a directory. Name a file in it."
            )
            #expect(
                await CassetteFolder.reason { _ = try Cassette(at: URL(string: "https://a.example/b")!, mode: .once) }
                    == "A cassette needs a file URL (the scheme is https). Use URL(filePath:)."
            )
            let text = folder.url.appending(path: "text")
            try Data().write(to: text)
            let reason = await CassetteFolder.reason {
                _ = try Cassette(at: text.appending(path: "test.har"), mode: .once)
            }
            #expect(reason?.hasPrefix("The cassette could not be read.") == true)
        }
    }

    @Test func finishCanBeRetriedAfterAFailedWrite() async throws {
        try await withCassetteFolder { folder in
            let url = folder.url.appending(path: "inner/test.har")
            let cassette = try Cassette(at: url, mode: .once)
            _ = try await MockTransport([.ok()]).cassette(cassette).data(.lawful)
            try FileManager.default.removeItem(at: folder.url.appending(path: "inner"))

            let reason = await CassetteFolder.reason { try cassette.finish() }
            #expect(reason == "The cassette \(url.path) could not be written. Its folder does not exist.")

            try FileManager.default.createDirectory(
                at: folder.url.appending(path: "inner"),
                withIntermediateDirectories: true
            )
            try cassette.finish()
            #expect(try Cassette(at: url, mode: .none).interactions.count == 1)
        }
    }

    @Test func modeAllReplacesAFileOfAnotherFormatVersion() async throws {
        try await withCassetteFolder { folder in
            try folder.write(#"{"log": {"_cassette": {"format": 2}, "entries": []}}"#)
            try await folder.record(from: MockTransport([.ok()]), mode: .all) { try await $0.get("a") }
            try await folder.replay { try await $0.get("a") }
        }
    }

    @Test func cannotReplayAnEntryWithoutItsBody() async throws {
        try await withCassetteFolder { folder in
            try await folder.record(from: MockTransport([.text("body")])) { try await $0.get("a") }
            let file = folder.text
            for (text, expected) in [
                ("\"comment\" : \"too private\"", "too private"),
                ("\"_x\" : 1", "the archive has only its length, 4 bytes"),
                ("\"text\" : \"====\", \"encoding\" : \"base64\"", "its base64, of 4 characters, is damaged"),
            ] {
                try folder.write(file.replacing("\"text\" : \"body\"", with: text))
                let reason = await CassetteFolder.reason { try await folder.replay { try await $0.get("a") } }
                #expect(
                    reason == """
                        The cassette \(folder.cassette.path) (mode .none, 1 interaction) cannot replay interaction 1 because it has \
                        no body for it: \(expected). Record it again with mode .all.
                        """
                )
            }
        }
    }

    @Test func replaysAnArchiveOfABrowser() async throws {
        try await withCassetteFolder { folder in
            try folder.write(
                #"""
                {"log": {"version": "1.2", "creator": {"name": "Browser", "version": "1"}, "pages": [], "entries": [
                {"startedDateTime": "2024-01-01T00:00:00Z", "time": 12.5, "request": {"method": "GET", "httpVersion": "h2",
                "url": "https://api.example/a?token=secret", "headers": [{"name": ":path", "value": "/a"}]},
                "response": {"status": 200, "statusText": "", "headers": [{"name": "content-encoding", "value": "gzip"},
                {"name": "content-length", "value": "9"}, {"name": "x-name", "value": "1"}],
                "content": {"size": 5, "mimeType": "text/plain", "text": "aGVsbG8=", "encoding": "base64"}}},
                {"startedDateTime": "2024-01-01T00:00:00Z", "request": {"method": "GET", "url": "https://api.example/b"},
                "response": {"status": 0}}]}}
                """#
            )
            let reason = await CassetteFolder.reason {
                try await folder.replay { network in
                    let response = try await network.data(.init(path: "a?token=another"))
                    #expect(response.data == Data("hello".utf8))
                    #expect(response.headerFields[.contentEncoding] == nil)
                    #expect(response.headerFields[.contentLength] == "5")
                    try await network.get("b")
                }
            }
            #expect(
                reason?.hasSuffix("has no body for it: there was no response. Record it again with mode .all.") == true
            )
        }
    }

    /// An archive of a browser has text in Unicode, whatever the charset of the response was.
    @Test(arguments: [
        ("text/plain; charset=ISO-8859-1", "Zoë", "text/plain; charset=utf-8"),
        (#"text/plain;charset=\"windows-1252\""#, "€", "text/plain; charset=utf-8"),
        ("text/plain; charset=utf-16", "Zoe", "text/plain; charset=utf-8"),
        ("text/plain; charset=shift_jis; x=y", "ゾエ", "text/plain; x=y; charset=utf-8"),
        ("text/plain; charset=UTF-8", "Zoë", "text/plain; charset=UTF-8"),
        ("text/plain; charset=iso-8859-1", "Zoe", "text/plain; charset=iso-8859-1"),
        ("text/plain", "Zoë", "text/plain"),
    ])
    func textOfABrowserIsReplayedAsText(contentType: String, text: String, replayed: String) async throws {
        try await withCassetteFolder { folder in
            try folder.write(
                """
                {"log": {"version": "1.2", "creator": {"name": "Browser", "version": "1"}, "entries": [
                {"startedDateTime": "2024-01-01T00:00:00Z", "time": 1,
                "request": {"method": "GET", "url": "https://api.example/a"},
                "response": {"status": 200, "headers": [{"name": "Content-Type", "value": "\(contentType)"}],
                "content": {"mimeType": "\(contentType)", "text": "\(text)"}}}]}}
                """
            )
            try await folder.replay { network in
                let response = try await network.data(.init(path: "a"))
                #expect(response.text == text)
                #expect(response.headerFields[.contentType] == replayed)
            }
        }
    }

    /// The bytes of a recorded body stay the same, and a redacted one stays readable.
    @Test(arguments: [
        ("text/plain; charset=iso-8859-1", [0x5A, 0x6F, 0xEB] as [UInt8], "Zoë"),
        ("text/plain; charset=iso-8859-1", [0xC3, 0xAB], "Ã«"),
        ("text/plain; charset=utf-16", [0xFE, 0xFF, 0x00, 0xEB], "ë"),
        ("text/plain; charset=iso-8859-1", [0xEB] + Array(" token=hunter2".utf8), "ë token=<redacted>"),
    ])
    func recordedTextOfAnyCharsetIsReplayed(contentType: String, bytes: [UInt8], text: String) async throws {
        try await withCassetteFolder { folder in
            let transport = MockTransport { _ in .ok(Data(bytes), headerFields: [.contentType: contentType]) }
            try await folder.record(from: transport) { _ = try await $0.data(.init(path: "a")) }
            #expect(!folder.text.contains("hunter2"))
            try await folder.replay { network in
                let response = try await network.data(.init(path: "a"))
                #expect(response.text == text)
                if !text.contains("redacted") {
                    #expect(response.data == Data(bytes))
                    #expect(response.headerFields[.contentType] == contentType)
                }
            }
        }
    }

    /// Browsers join the values of repeated fields with line breaks.
    @Test func fieldsJoinedWithLineBreaksAreSeparateFields() async throws {
        try await withCassetteFolder { folder in
            try folder.write(
                #"""
                {"log": {"version": "1.2", "creator": {"name": "Browser", "version": "1"}, "entries": [
                {"startedDateTime": "2024-01-01T00:00:00Z", "time": 1,
                "request": {"method": "GET", "url": "https://api.example/a"},
                "response": {"status": 200, "headers": [{"name": "set-cookie", "value": "a=1; Path=/\nb=2\r\n c=3 "},
                {"name": "vary", "value": "a\nb"}, {"name": "x-empty", "value": ""}, {"name": "x-broken", "value": "c\n"}],
                "content": {"text": "x"}}}]}}
                """#
            )
            try await folder.replay { network in
                let response = try await network.data(.init(path: "a"))
                #expect(response.headerFields[values: .setCookie] == ["a=1; Path=/", "b=2", "c=3"])
                #expect(response.headerFields[values: .vary] == ["a", "b"])
                #expect(response.headerFields[values: .init("x-empty")!] == [""])
                #expect(response.headerFields[values: .init("x-broken")!] == ["c"])
            }
        }
    }
}
