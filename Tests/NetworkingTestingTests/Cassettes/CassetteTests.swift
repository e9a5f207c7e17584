import Foundation
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// Recording and replay in each mode.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct CassetteTests {
    // MARK: Round trips

    static let responses: [MockResponse] = [
        .ok(Data("héllo\r\nworld\u{FEFF}".utf8), headerFields: [.contentType: "text/plain; charset=utf-8"]),
        .ok(Data([0, 1, 2, 255, 254, 0]), headerFields: [.contentType: "application/octet-stream"]),
        .ok(Data((0...255).map { UInt8($0) }), headerFields: [.contentType: "image/png"]),
        .ok(Data(#"{"b": 1.50, "a": [ ], "c": "\u00e9\/"}"#.utf8), headerFields: [.contentType: "application/json"]),
        .ok(),
        .status(.noContent),
        .status(.notModified, headerFields: [.eTag: "\"1\""]),
        .status(.notFound),
        MockResponse(status: .internalServerError, data: Data("oops".utf8)),
        MockResponse(status: .init(code: 299, reasonPhrase: "Odd One")),
    ]

    @Test(arguments: responses.indices) func replaysResponsesUnchanged(_ index: Int) async throws {
        try await withCassetteFolder { folder in
            let request = HTTPRequestData(path: "thing")
            var recorded: HTTPResponseData?
            try await folder.record(from: MockTransport([Self.responses[index]])) { network in
                recorded = try await network.data(request)
            }

            try await folder.replay { network in
                let replayed = try await network.data(request)
                #expect(replayed.http == recorded?.http)
                #expect(replayed.body == recorded?.body)
                #expect(replayed.request.id == request.id)
                #expect(replayed.url?.absoluteString == "https://api.example/thing")
            }
        }
    }

    @Test func keepsRepeatedFieldsAndTheirOrder() async throws {
        let options = Cassette.Options.with { $0.redaction = .standard.showingHeaderFields("Set-Cookie", "*cookie") }
        let set = HTTPField.Name("Set-Cookie")!
        var fields: HTTPFields = [:]
        for field in [(set, "a=1; Path=/"), (.vary, "Accept"), (set, "b=2; HttpOnly"), (.vary, "Origin")] {
            fields.append(HTTPField(name: field.0, value: field.1))
        }
        let mock = MockResponse.ok(headerFields: fields)
        try await withCassetteFolder { folder in
            try await folder.record(from: MockTransport([mock]), options) { try await $0.get("a") }

            try await folder.replay(options) { network in
                let response = try await network.data(.init(path: "a"))
                #expect(response.headerFields.map { "\($0)" } == fields.map { "\($0)" })
                #expect(response.headerFields[values: set] == ["a=1; Path=/", "b=2; HttpOnly"])
            }
        }
    }

    @Test func recordsMethodsAndBodies() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "networking-\(UUID()).txt")
        try Data("from a file".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let bodies: [RequestBody?] = [
            nil, .json(["a": 1]), .data(Data([0, 255])), .form(["a": "b c"]), .file(file), .data(Data()),
            .multipart([.text("Holiday", name: "title"), .data(Data("x".utf8), name: "photo", fileName: "a.txt")]),
            .stream {
                AsyncStream<Data> {
                    $0.yield(Data("streamed".utf8))
                    $0.finish()
                }
            },
        ]
        let options = Cassette.Options.with { $0.matching += [.body] }
        try await withCassetteFolder { folder in
            let transport = MockTransport { request in .ok(request.body?.data ?? Data("none".utf8)) }
            try await folder.record(from: transport, options) { network in
                for body in bodies {
                    _ = try await network.data(HTTPRequestData(method: .post, path: "a", body: body))
                }
            }

            // Each multipart body has a new boundary.
            let parts = RequestBody.multipart([
                .text("Holiday", name: "title"), .data(Data("x".utf8), name: "photo", fileName: "a.txt"),
            ])
            try await folder.replay(options) { network in
                for body in bodies.dropLast(2) + [parts] + bodies.suffix(1) {
                    let response = try await network.data(HTTPRequestData(method: .post, path: "a", body: body))
                    #expect(response.status == .ok)
                }
            }
            #expect(folder.text.contains("cassette-boundary"))
        }
    }

    @Test func replaysAHeadResponseWithoutABody() async throws {
        try await withCassetteFolder { folder in
            let transport = MockTransport([.ok(Data(count: 12), headerFields: [.contentLength: "12"])])
            try await folder.record(from: transport) { _ = try await $0.data(.init(method: .head, path: "a")) }

            try await folder.replay { network in
                let response = try await network.data(.init(method: .head, path: "a"))
                #expect(response.body == .collected(Data()))
                #expect(response.headerFields[.contentLength] == "12")
            }
        }
    }

    @Test func recordsEachRedirectAsAnInteraction() async throws {
        try await withCassetteFolder { folder in
            let transport = MockTransport()
            transport.on(.get, "/old") { _ in .redirect(to: "https://other.example/new?a=1") }
            transport.on(.get, "/new") { _ in .text("there") }
            try await folder.record(from: transport) { network in
                try await network.get("old", expecting: "there")
            }

            try await folder.replay { network in
                let response = try await network.data(.init(path: "old"))
                #expect(response.data == Data("there".utf8))
                #expect(response.url?.absoluteString == "https://other.example/new?a=1")
                #expect(response.redirects.map(\.response.status) == [.found])
            }
            // A request that does not follow redirects gets the first interaction.
            let options = Cassette.Options.with { $0.allowsUnused = true }
            try await folder.replay(options) { network in
                var request = HTTPRequestData(path: "old")
                request.redirects = .never
                let response = try await network.data(request)
                #expect(response.status == .found)
            }
        }
    }

    // MARK: Modes

    @Test func onceRecordsFirstAndReplaysAfterwards() async throws {
        try await withCassetteFolder { folder in
            let transport = MockTransport([.text("first"), .text("second")])
            for _ in 0..<3 {
                try await folder.record(from: transport, mode: .once) { network in
                    try await network.get("a", expecting: "first")
                }
            }
            #expect(transport.requests.count == 1)

            let reason = await CassetteFolder.reason {
                try await folder.record(from: transport, mode: .once) { network in
                    try await network.get("a")
                    try await network.get("b")
                }
            }
            #expect(
                reason == """
                    The cassette \(folder.cassette.path) (mode .once, 1 interaction) has no response for this request. The closest is \
                    interaction 1, GET https://api.example/a, which was replayed before:
                      the path: recorded "/a", now "/b"
                    If the request is correct, record the missing interactions with mode .newEpisodes, record all of them again \
                    with .all, or let the request pass with the option passing.
                    """
            )
            #expect(transport.requests.count == 1)
        }
    }

    @Test func newEpisodesRecordsMissingInteractions() async throws {
        try await withCassetteFolder { folder in
            let transport = MockTransport { request in .text(request.path ?? "") }
            try await folder.record(from: transport, mode: .newEpisodes) { try await $0.get("a") }
            let first = folder.text
            try await folder.record(from: transport, mode: .newEpisodes) { network in
                try await network.get("b", expecting: "/b")
                try await network.get("a", expecting: "/a")
            }
            #expect(transport.requests.map(\.path) == ["/a", "/b"])
            // New interactions are appended; the recorded ones stay unchanged.
            #expect(folder.text.hasPrefix(first.prefix(first.utf8.count / 2)))

            try await folder.replay { network in
                try await network.get("a")
                try await network.get("b")
            }
        }
    }

    @Test func allReplacesTheRecording() async throws {
        try await withCassetteFolder { folder in
            try await folder.record(from: MockTransport([.text("one"), .text("gone")])) { network in
                try await network.get("a")
                try await network.get("b")
            }
            try await folder.record(from: MockTransport([.text("two")]), mode: .all) { network in
                try await network.get("a", expecting: "two")
            }

            try await folder.replay { try await $0.get("a", expecting: "two") }
            #expect(!folder.text.contains("/b"))
        }
    }

    @Test func noneNeverSends() async throws {
        try await withCassetteFolder { folder in
            try await folder.record(from: MockTransport([.ok()])) { try await $0.get("a") }
            let transport = MockTransport { _ in .ok() }
            let cassette = try Cassette(at: folder.cassette, mode: .none)
            let network = transport.cassette(cassette)

            let reason = await CassetteFolder.reason {
                _ = try await network.data(
                    HTTPRequestData(method: .post, url: URL(string: "http://api.example:81/a?x=1&y=")!)
                )
            }

            #expect(reason?.contains("the method: recorded \"GET\", now \"POST\"") == true)
            #expect(reason?.contains("the scheme: recorded \"https\", now \"http\"") == true)
            #expect(reason?.contains("the port: recorded \"443\", now \"81\"") == true)
            #expect(reason?.contains("the query item \"x\": not recorded, now \"1\"") == true)
            #expect(transport.requests.isEmpty)
            #expect(folder.names == ["test.har"])
        }
    }

    @Test func passingRequestsAreNeitherRecordedNorReplayed() async throws {
        let options = Cassette.Options.with { $0.passing = { $0.path == "/live" } }
        try await withCassetteFolder { folder in
            let transport = MockTransport { request in .text("\(request.path ?? "")") }
            for mode in [Cassette.Mode.once, .none] {
                try await folder.record(from: transport, mode: mode, options) { network in
                    try await network.get("a")
                    try await network.get("live")
                }
            }
            #expect(transport.requests.map(\.path) == ["/a", "/live", "/live"])
            #expect(!folder.text.contains("live"))
        }
    }

    // MARK: Order and repeats

    @Test func replaysEachInteractionOnceInOrder() async throws {
        try await withCassetteFolder { folder in
            try await folder.record(from: MockTransport([.text("1"), .text("2")])) { network in
                try await network.get("a")
                try await network.get("a")
            }
            var label = ""
            let reason = await CassetteFolder.reason {
                try await folder.replay { network in
                    try await network.get("a", expecting: "1")
                    let second = HTTPRequestData(path: "a")
                    label = "\(second.id)"
                    let response = try await network.data(second)
                    #expect(response.data == Data("2".utf8))
                    try await network.get("a")
                }
            }
            #expect(
                reason?
                    .hasSuffix(
                        "has no response left for this request. Interactions 1, 2 match, and were replayed before, the last to request "
                            + "\(label). Set allowsRepeats to replay it again, or record the missing interactions with "
                            + "mode .newEpisodes, record all of them again with .all, or let the request pass with the "
                            + "option passing."
                    ) == true
            )

            try await folder.replay(.with { $0.allowsRepeats = true }) { network in
                for text in ["1", "2", "2", "2"] {
                    try await network.get("a", expecting: text)
                }
            }
        }
    }

    @Test func playsInOrderRefusesAnEarlyRequest() async throws {
        try await withCassetteFolder { folder in
            try await folder.record(from: MockTransport([.text("1"), .text("2")])) { network in
                try await network.get("a")
                try await network.get("b")
            }
            try await folder.replay { network in
                try await network.get("b", expecting: "2")
                try await network.get("a", expecting: "1")
            }
            let reason = await CassetteFolder.reason {
                try await folder.replay(.with { $0.playsInOrder = true }) { try await $0.get("b") }
            }
            #expect(
                reason?
                    .hasSuffix(
                        "plays in order, and interaction 2 is not the next: that is 1, GET https://api.example/a. "
                            + "Send that first, or turn playsInOrder off."
                    ) == true
            )
        }
    }

    /// An early request does not record an existing interaction again.
    @Test func playsInOrderAlsoAppliesToNewEpisodes() async throws {
        try await withCassetteFolder { folder in
            try await folder.record(from: MockTransport([.text("1"), .text("2")])) { network in
                try await network.get("a")
                try await network.get("b")
            }
            let transport = MockTransport { _ in .text("new") }
            let options = Cassette.Options.with { $0.playsInOrder = true }
            let reason = await CassetteFolder.reason {
                try await folder.record(from: transport, mode: .newEpisodes, options) { try await $0.get("b") }
            }
            #expect(reason?.contains("plays in order, and interaction 2 is not the next") == true)
            #expect(transport.requests.isEmpty)
            try await folder.record(from: transport, mode: .newEpisodes, options) { network in
                try await network.get("a", expecting: "1")
                try await network.get("c", expecting: "new")
                try await network.get("b", expecting: "2")
            }
        }
    }

    @Test func unusedInteractionsThrowUnlessAllowed() async throws {
        try await withCassetteFolder { folder in
            try await folder.record(from: MockTransport { _ in .ok() }) { network in
                for path in ["a", "b", "c"] { try await network.get(path) }
            }
            let reason = await CassetteFolder.reason { try await folder.replay { try await $0.get("b") } }
            #expect(
                reason == """
                    No request used 2 interactions of the cassette \(folder.cassette.path). Send the missing requests, or remove the \
                    interactions with the option dropsUnused:
                      GET https://api.example/a: 200
                      GET https://api.example/c: 200
                    """
            )
            try await folder.replay(.with { $0.allowsUnused = true }) { try await $0.get("b") }

            let cassette = try Cassette(at: folder.cassette, mode: .none)
            #expect(throws: CassetteError.self) { try cassette.verifyAllUsed() }
            #expect(cassette.unused.count == 3)

            let drops = Cassette.Options.with { $0.dropsUnused = true }
            try await folder.replay(mode: .once, drops) { try await $0.get("b") }
            try await folder.replay { try await $0.get("b") }
            #expect(!folder.text.contains("/a\""))
        }
    }

    // MARK: Principals

    @Test func separatesUsersWithoutRecordingTheirIDs() async throws {
        try await withCassetteFolder { folder in
            let transport = MockTransport([.text("emily's"), .text("nobody's"), .text("bob's")])
            func send(_ ids: [(String?, String)], mode: Cassette.Mode) async throws {
                try await withCassette(at: folder.cassette, mode: mode) { cassette in
                    for (id, text) in ids {
                        let network = transport.modified(SignedIn(as: id)).cassette(cassette)
                        let response = try await network.data(.lawful)
                        #expect(response.data == Data(text.utf8))
                    }
                }
            }
            try await send([("emily", "emily's"), (nil, "nobody's"), ("bob", "bob's")], mode: .once)
            // The replay has other users in the same order.
            try await send([(nil, "nobody's"), ("carol", "emily's"), ("dave", "bob's")], mode: .none)
            #expect(!folder.text.contains("emily\""))
            #expect(folder.text.contains("\"principal\" : 2"))
        }
    }

    /// With names, users get their own responses whatever their order.
    @Test func separatesUsersByTheirPrincipalNames() async throws {
        try await withCassetteFolder { folder in
            let transport = MockTransport([.text("emily's"), .text("bob's")])
            func send(_ ids: [String], mode: Cassette.Mode, _ options: Cassette.Options) async throws {
                try await withCassette(at: folder.cassette, mode: mode, options: options) { cassette in
                    for id in ids {
                        let network = transport.modified(SignedIn(as: id)).cassette(cassette)
                        let response = try await network.data(.lawful)
                        #expect(response.data == Data(((id.hasPrefix("1") ? "emily" : "bob") + "'s").utf8))
                    }
                }
            }
            let named = Cassette.Options.with { options in
                options.principalName = { $0.id.hasPrefix("1") ? "sender" : "receiver" }
            }
            try await send(["1-of-the-recording", "2-of-the-recording"], mode: .once, named)
            try await send(["2-now", "1-now"], mode: .none, named)
            #expect(!folder.text.contains("of-the-recording"))
            let interactions = try Cassette(at: folder.cassette, mode: .none).interactions
            #expect(interactions.map(\.principalName) == ["sender", "receiver"])
            #expect(interactions.map(\.principal) == [nil, nil])

            let reason = await CassetteFolder.reason {
                try await send(["1"], mode: .none, .with { $0.principalName = { _ in "another" } })
            }
            #expect(reason?.contains("the user: recorded \"sender\", now \"another\"\nIf") == true)
        }
    }

    /// The error says what to do if users send their first requests in another order.
    @Test func errorForAnotherUserSuggestsPrincipalName() async throws {
        try await withCassetteFolder { folder in
            func get(_ path: String, by id: String, _ cassette: Cassette) async throws {
                try await MockTransport([.ok()]).modified(SignedIn(as: id)).cassette(cassette)
                    .server(authority: "api.example").get(path)
            }
            try await withCassette(at: folder.cassette, mode: .once) { cassette in
                try await get("a", by: "emily", cassette)
                try await get("b", by: "bob", cassette)
            }
            let cassette = try Cassette(at: folder.cassette, mode: .none)
            let reason = await CassetteFolder.reason { try await get("b", by: "bob", cassette) }
            #expect(
                reason?
                    .contains(
                        "the user: recorded user 2 of the recording, now user 1 of the recording (users are numbered "
                            + "in the order of their first requests: if several start at the same time, name them with "
                            + "principalName)"
                    ) == true
            )
        }
    }

    // MARK: Concurrency

    @Test func replaysConcurrentRequests() async throws {
        try await withCassetteFolder { folder in
            let transport = MockTransport { request in .text(request.query.i ?? "") }
            try await folder.record(from: transport) { network in
                try await withThrowingTaskGroup { group in
                    for index in 0..<1_000 {
                        group.addTask { try await network.get("a?i=\(index % 500)") }
                    }
                    try await group.waitForAll()
                }
            }
            try await folder.replay { network in
                try await withThrowingTaskGroup { group in
                    for index in 0..<1_000 {
                        group.addTask {
                            let response = try await network.data(.init(path: "a?i=\(index % 500)"))
                            #expect(response.data == Data("\(index % 500)".utf8))
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }
    }

    /// The file is always complete, and each call gets its response, a cancellation or an error.
    @Test(arguments: 0..<5) func concurrentCallsCancellationsAndFinishLeaveAWholeFile(_ round: Int) async throws {
        try await withCassetteFolder { folder in
            let cassette = try Cassette(at: folder.cassette, mode: .newEpisodes)
            let network = MockTransport { request in .text(request.query.i ?? "") }.cassette(cassette)
                .server(authority: "api.example")
            await withTaskGroup { group in
                for index in 0..<200 {
                    group.addTask {
                        let call = Task { try await network.get("a?i=\(index)", expecting: "\(index)") }
                        if index % 3 == 0 { call.cancel() }
                        switch await call.result {
                        case .success: break
                        case .failure(is CancellationError): break
                        case .failure(let error as NetworkingError): #expect(error.kind == .unimplemented)
                        case .failure(let error): Issue.record("\(error)")
                        }
                    }
                    if index == round * 50 { group.addTask { _ = try? cassette.finish() } }
                }
            }
            try? cassette.finish()
            // Most calls are not cancelled. Calls recorded before finish() are in the file, if there were any.
            let isSaved = !folder.text.isEmpty
            #expect(folder.names == (isSaved ? ["test.har"] : []))
            let urls = try isSaved ? Cassette(at: folder.cassette, mode: .none).interactions.map(\.request.url) : []
            #expect(isSaved == !urls.isEmpty)
            #expect(Set(urls).count == urls.count)
        }
    }
}
