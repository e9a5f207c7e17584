import Foundation
import Logging
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct LoggedTests {
    private let log = LogRecorder()

    // MARK: Lines

    @Test func requestHasALineAtItsStartAndAtItsEnd() async throws {
        let network = MockTransport { _ in .text("hello") }
            .delayed(by: .milliseconds(34.56))
            .logged(using: log.logger())
            .server(authority: "api.example.com")
            .environment(\.clock, .immediate())

        try await network.data(HTTPRequestData(method: .post, path: "users/42?page=2"))

        #expect(
            log.messages == [
                "→ POST https://api.example.com/users/42?page=2",
                "← 200 OK POST https://api.example.com/users/42?page=2, 5 bytes in 34.5 ms",
            ]
        )
        #expect(log.lines.map(\.level) == [.info, .info])
    }

    @Test(
        arguments: [
            (.zero, "0.0 ms"), (.microseconds(99), "0.0 ms"), (.microseconds(100), "0.1 ms"),
            (.milliseconds(999), "999.0 ms"), (.seconds(3), "3000.0 ms"), (.seconds(3_600), "3600000.0 ms"),
        ] as [(Duration, String)]
    )
    func elapsedTimeIsInMilliseconds(elapsed: Duration, expected: String) async throws {
        let network = MockTransport { _ in .ok() }.delayed(by: elapsed).logged(using: log.logger())
            .environment(\.clock, .immediate())

        try await network.data(.lawful)

        #expect(log.messages.last?.hasSuffix("in \(expected)") == true)
    }

    @Test(arguments: [.trace, .debug, .info, .notice, .error] as [Logger.Level])
    func linesHaveTheLevelOfTheModifier(level: Logger.Level) async throws {
        try await MockTransport { _ in .ok() }.logged(using: log.logger(.trace), level: level).data(.lawful)

        #expect(log.lines.map(\.level) == [level, level])
    }

    @Test func loggerWithAHigherLevelGetsNothing() async throws {
        try await MockTransport { _ in .ok() }.logged(using: log.logger(.notice)).data(.lawful)

        #expect(log.lines.isEmpty)
    }

    @Test func anyStatusIsLoggedAsAResponse() async throws {
        try await MockTransport([.status(.serviceUnavailable)]).logged(using: log.logger()).data(.lawful)

        #expect(
            log.messages.last?.hasPrefix("← 503 Service Unavailable GET https://laws.example/check, 0 bytes") == true
        )
        #expect(log.lines.last?.level == .info)
    }

    @Test func statusWithoutAPhraseLeavesNoGap() async throws {
        try await MockTransport([.status(.init(code: 599))]).logged(using: log.logger()).data(.lawful)

        #expect(log.messages.last?.hasPrefix("← 599 GET https://laws.example/check") == true)
    }

    @Test func failureOfTheLibraryIsAWarningWithItsReason() async throws {
        let network = MockTransport { _ in .ok() }.delayed(by: .seconds(3)).logged(using: log.logger())
            .checkedStatusCode()
            .environment(\.clock, .immediate())
        let failing = MockTransport([.status(.notFound)]).checkedStatusCode().logged(using: log.logger())

        try await network.data(.lawful)
        await #expect(throws: NetworkingError.self) { try await failing.data(.lawful) }

        #expect(log.lines.last?.level == .warning)
        let message = try #require(log.messages.last)
        #expect(message.hasPrefix("✗ GET https://laws.example/check failed after "))
        #expect(message.hasSuffix(" ms (status): The server responded with 404 Not Found. The body may say why."))
    }

    @Test func foreignErrorIsLoggedWithItsTypeOnly() async {
        struct Foreign: Error, CustomStringConvertible {
            let description = "secret"
        }
        let network = MockTransport([.failure(Foreign())]).logged(using: log.logger())

        await #expect(throws: Foreign.self) { try await network.data(.lawful) }

        #expect(log.messages.last?.hasSuffix(": Foreign") == true)
        #expect(!log.text.contains("secret"))
    }

    @Test func cancellationIsNoWarning() async throws {
        let transport = MockTransport { _ in .never }
        let network = transport.logged(using: log.logger())
        let call = Task { try await network.data(.lawful) }
        try await transport.waitForRequests()

        call.cancel()

        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(log.messages.last?.hasPrefix("✗ GET https://laws.example/check was cancelled after ") == true)
        #expect(log.lines.map(\.level) == [.info, .info])
    }

    @Test func positionInTheStackSelectsCallsOrAttempts() async throws {
        let transport = MockTransport { _ in .ok() }

        try await transport.resent(times: 3).logged(using: log.logger()).data(.lawful)
        #expect(log.lines.count == 2)

        try await transport.logged(using: log.logger()).resent(times: 3).data(.lawful)
        #expect(log.lines.count == 2 + 6)
    }

    /// Inside both modifiers, the log has the sent attempts, with redacted credentials.
    @Test func attemptsAreLoggedAsTheyAreSent() async throws {
        let retried = RetryPolicy.exponential(maximumRetries: 1)
        let calls = LogRecorder()
        let network = MockTransport([.status(.serviceUnavailable), .text("hello")])
            .logged(using: log.logger(), detail: .headers)
            .authenticated(withBearer: { "SECRET" }, at: ["laws.example"])
            .retry(retried)
            .logged(using: calls.logger(), detail: .headers)
            .server(headerField: .accept, "text/plain")
            .environment(\.clock, .immediate())

        try await network.data(.lawful)

        #expect(log.messages.map { $0.prefix(5) } == ["→ GET", "← 503", "→ GET", "← 200"])
        let sent: Logger.MetadataValue = ["Accept: text/plain", "Authorization: <redacted>"]
        #expect([log.lines[0], log.lines[2]].map { $0.metadata["headers"] } == [sent, sent])
        #expect(calls.messages.map { $0.prefix(5) } == ["→ GET", "← 200"])
        #expect(calls.lines[0].metadata["headers"] == ["Accept: text/plain"])
        #expect(!log.text.contains("SECRET"))
    }

    @Test func linesOfConcurrentCallsHaveDifferentIDs() async throws {
        let network = MockTransport { request in .text(request.path ?? "") }
            .logged(using: log.logger(), detail: .body())
            .numbered()

        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<1_000 {
                group.addTask { try await network.data(HTTPRequestData(authority: "a.example", path: "/\(index)")) }
            }
            try await group.waitForAll()
        }

        let lines = Dictionary(grouping: log.lines) { "\($0.metadata["request-number"] ?? "")" }
        #expect(lines.count == 1_000)
        for pair in lines.values {
            let path = try #require(pair.first?.message.dropFirst("→ GET https://a.example".count))
            #expect(pair.count == 2)
            #expect(pair.last?.metadata["body"] == "\(path)")
            #expect(pair.last?.message.contains(" GET https://a.example\(path), ") == true)
        }
    }

    // MARK: Metadata

    @Test func linesOfARequestShareItsID() async throws {
        let request = HTTPRequestData.lawful

        try await MockTransport { _ in .ok() }.logged(using: log.logger()).data(request)

        #expect(log.lines.map { $0.metadata["request-id"].map { "\($0)" } } == ["\(request.id)", "\(request.id)"])
        #expect(log.lines.allSatisfy { $0.metadata["request-number"] == nil })
    }

    @Test func numberOfTheRequestIsLogged() async throws {
        let network = MockTransport { _ in .ok() }.logged(using: log.logger()).numbered()

        try await network.data(.lawful)
        try await network.data(.lawful)

        #expect(log.lines.map { $0.metadata["request-number"].map { "\($0)" } } == ["1", "1", "2", "2"])
    }

    @Test func linesOfFailuresAndEventsHaveTheIDToo() async {
        let request = HTTPRequestData.lawful
        let network = MockTransport().delayed(by: .seconds(1)).logged(using: log.logger(.debug))
            .environment(\.clock, .immediate())

        await #expect(throws: NetworkingError.self) { try await network.data(request) }

        #expect(log.lines.count == 3)
        #expect(log.lines.allSatisfy { $0.metadata["request-id"].map { "\($0)" } == "\(request.id)" })
    }

    // MARK: Detail

    @Test(
        arguments: [
            (.off, 0, []), (.basic, 2, ["request-id"]), (.headers, 2, ["headers", "request-id"]),
            (.body(limit: 100), 2, ["body", "headers", "request-id"]),
        ] as [(LogDetail, Int, [String])]
    )
    func detailSelectsTheLoggedParts(detail: LogDetail, lines: Int, keys: [String]) async throws {
        let network = MockTransport { _ in .text("hello") }.logged(using: log.logger(), detail: detail)
        let request = HTTPRequestData(method: .post, authority: "a.example", body: .json(["question": 1]))

        try await network.data(request)

        #expect(log.lines.count == lines)
        #expect(log.lines.allSatisfy { $0.metadata.keys.sorted() == keys })
    }

    @Test(
        arguments: [
            (LogDetail.basic, .off, 0), (.off, .basic, 2), (.body(), .basic, 2), (.basic, nil, 2),
        ] as [(LogDetail, LogDetail?, Int)]
    )
    func detailOfTheRequestReplacesThatOfTheStack(stack: LogDetail, own: LogDetail?, lines: Int) async throws {
        let network = MockTransport { _ in .ok() }.logged(using: log.logger(), detail: stack)

        try await network.data(.lawful.with { $0.logDetail = own })

        #expect(log.lines.count == lines)
        #expect(log.lines.allSatisfy { $0.metadata.keys.sorted() == ["request-id"] })
    }

    @Test func headersAreLoggedAsTheyAreSent() async throws {
        let network = MockTransport { _ in .text("x") }.logged(using: log.logger(), detail: .headers)
            .server(headerField: .accept, "text/plain")
            .server(authority: "a.example")

        try await network.data(HTTPRequestData(method: .post, body: .json([1])))

        #expect(log.lines.first?.metadata["headers"] == ["Accept: text/plain", "Content-Type: application/json"])
        #expect(log.lines.last?.metadata["headers"] == ["Content-Type: text/plain; charset=utf-8"])
    }

    @Test(
        arguments: [
            (.json(["b": 1, "a": 2]), #"{"a":2,"b":1}"#),
            (.data(Data(#"{"b": 1.10, "a": 2}"#.utf8), contentType: "application/json"), #"{"b":1.10,"a":2}"#),
            (.form(["a": "1 2", "b": "ü"]), "a=1+2&b=%C3%BC"),
            (.data(Data("text".utf8), contentType: "text/plain"), "text"),
            (.data(Data("<a/>".utf8), contentType: "application/xml"), "<a/>"),
            (.data(Data([0, 159, 146, 150]), contentType: "image/png"), "4 bytes of image/png"),
            (.data(Data([0xFF, 0xC0]), contentType: "text/plain"), "2 bytes of text/plain"),
            (.data(Data("{".utf8), contentType: "application/json"), "1 bytes of application/json"),
        ] as [(RequestBody, String)]
    )
    func textBodiesAreLoggedAsText(body: RequestBody, expected: String) async throws {
        let network = MockTransport { _ in .ok() }.logged(using: log.logger(), detail: .body())

        try await network.data(HTTPRequestData(method: .post, authority: "a.example", body: body))

        #expect(log.lines.first?.metadata["body"] == "\(expected)")
    }

    @Test func emptyBodiesAreNotLogged() async throws {
        let network = MockTransport { _ in .ok() }.logged(using: log.logger(), detail: .body())

        try await network.data(HTTPRequestData(method: .post, authority: "a.example", body: .data(Data())))

        #expect(log.lines.count == 2)
        #expect(log.lines.allSatisfy { $0.metadata["body"] == nil })
        #expect(log.lines.last?.message.contains(", 0 bytes in ") == true)
    }

    @Test func longBodiesAreTruncated() async throws {
        let text = String(repeating: "0123456789", count: 10)
        let network = MockTransport { _ in .text(text) }.logged(using: log.logger(), detail: .body(limit: 10))

        try await network.data(.lawful)

        #expect(log.lines.last?.metadata["body"] == "0123456789… (100 bytes)")
    }

    @Test func bodiesCanBePrettyPrinted() async throws {
        let network = MockTransport { _ in .json(["a": ["b": 1]]) }
            .logged(using: log.logger(), detail: .body(prettyPrinted: true))

        try await network.data(.lawful)

        #expect(log.lines.last?.metadata["body"] == "{\n  \"a\": {\n    \"b\": 1\n  }\n}")
    }

    // MARK: Privacy

    @Test(
        arguments: [
            (.auto, "?x=1&token=<redacted>", "Accept: a", #"{"b":1,"pin":"<redacted>"}"#),
            (.public, "?x=1&token=<redacted>", "Accept: a", #"{"b":1,"pin":"<redacted>"}"#),
            (.private, "?x=<private>&token=<redacted>", "Accept: <private>", "<private> (17 bytes)"),
            (.sensitive, "?x=<redacted>&token=<redacted>", "Accept: <redacted>", "<redacted> (17 bytes)"),
        ] as [(LogPrivacy, String, String, String)]
    )
    func privacySelectsTheLoggedValues(privacy: LogPrivacy, query: String, field: String, body: String) async throws {
        let network = MockTransport { _ in .ok() }
            .logged(using: log.logger(.debug), detail: .body(), privacy: privacy)
        let request = HTTPRequestData(
            method: .post,
            authority: "a.example",
            path: "/p?x=1&token=2",
            headerFields: [.accept: "a", .cookie: "c"],
            body: .data(Data(#"{"b":1,"pin":"2"}"#.utf8), contentType: "application/json")
        )

        try await network.data(request)

        let first = try #require(log.lines.first)
        #expect(first.message == "→ POST https://a.example/p\(query)")
        guard case .array(let fields) = first.metadata["headers"] else {
            Issue.record("no fields")
            return
        }
        #expect(fields.first == "\(field)")
        #expect(fields.dropFirst().first == "Cookie: <redacted>")
        #expect(first.metadata["body"] == "\(body)")
        #expect(log.messages.last?.hasPrefix("← 200 OK POST https://a.example/p\(query), 0 bytes in ") == true)
    }

    // MARK: Hooks

    @Test func hooksReplaceTheirLinesInOrder() async throws {
        let journal = Journal()
        let network = MockTransport { request in
            journal.note("transport")
            return request.path == "/ok" ? .text("12345") : .failure(URLError(.timedOut))
        }
        .delayed(by: .seconds(2))
        .logged(
            using: log.logger(),
            onStart: { _, request in journal.note("start \(request.path ?? "")") },
            onSuccess: { _, request, response, elapsed in
                journal.note("success \(request.path ?? "") \(response.data.count) \(elapsed)")
            },
            onFailure: { _, request, error, elapsed in
                journal.note("failure \(request.path ?? "") \(type(of: error)) \(elapsed)")
            }
        )
        .environment(\.clock, .immediate())

        try await network.data(HTTPRequestData(authority: "a.example", path: "ok"))
        await #expect(throws: URLError.self) {
            try await network.data(HTTPRequestData(authority: "a.example", path: "bad"))
        }

        #expect(
            journal.entries == [
                "start /ok", "transport", "success /ok 5 2.0 seconds",
                "start /bad", "transport", "failure /bad URLError 2.0 seconds",
            ]
        )
        #expect(log.lines.isEmpty)
    }

    @Test func eachHookReplacesOneLine() async throws {
        let network = MockTransport { _ in .ok() }
            .logged(using: log.logger(), onStart: { logger, _ in logger.notice("hook") })

        try await network.data(.lawful)

        #expect(log.messages.count == 2)
        #expect(log.messages.first == "hook")
        #expect(log.messages.last?.hasPrefix("← 200 OK") == true)
    }

    @Test func hooksAreCalledAtAnyLevelOfTheLogger() async throws {
        let journal = Journal()
        let network = MockTransport { _ in .ok() }
            .logged(using: log.logger(.critical), onStart: { _, _ in journal.note("start") })

        try await network.data(.lawful)

        #expect(journal.entries == ["start"])
    }

    // MARK: Events

    @Test func eventsAreLoggedAtDebug() async throws {
        let network = MockTransport([.redirect(to: "/elsewhere"), .ok()])
            .delayed(by: .seconds(3))
            .logged(using: log.logger(.debug))
            .environment(\.clock, .immediate())

        try await network.data(.lawful)

        #expect(log.lines.map(\.level) == [.info, .debug, .debug, .info])
        #expect(log.messages[1] == "waiting 3.0 seconds (delay): GET https://laws.example/check")
        #expect(
            log.messages[2] == "redirected to GET https://laws.example/elsewhere: GET https://laws.example/check"
        )
    }

    @Test(arguments: [true, false])
    func expiredTimeLimitsAreLoggedAtDebug(isTimeout: Bool) async throws {
        let clock = ManualClock()
        let transport = MockTransport { _ in .never }
        let limited =
            isTimeout
            ? AnyNetworkingComponent(transport.timeout(.seconds(3)))
            : AnyNetworkingComponent(transport.deadline(.seconds(3)))
        let network = limited.logged(using: log.logger(.debug)).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }

        try await clock.advance(by: .seconds(3), afterSleepers: 1)

        await #expect(throws: NetworkingError.self) { try await call.value }
        let expected = isTimeout ? "timed out after 3.0 seconds" : "deadline of 3.0 seconds exceeded"
        #expect(log.messages.contains("\(expected): GET https://laws.example/check"))
    }

    @Test func eventsAreNotLoggedAtInfo() async throws {
        let network = MockTransport([.redirect(to: "/elsewhere"), .ok()]).logged(using: log.logger())

        try await network.data(.lawful)

        #expect(log.lines.count == 2)
    }

    /// The request of a response does not keep the listener of the stack.
    @Test func requestThatIsSentAgainIsLoggedOnce() async throws {
        let network = MockTransport { _ in .ok() }.delayed(by: .seconds(1)).logged(using: log.logger(.debug))
            .environment(\.clock, .immediate())

        let first = try await network.data(.lawful)
        let second = try await network.data(first.sentRequest)
        try await network.data(second.sentRequest)

        #expect(log.messages.count { $0.hasPrefix("waiting") } == 3)
    }

    @Test func listenerOfTheCallerIsKeptByTheRequest() async throws {
        let events = EventRecorder()
        let network = MockTransport { _ in .ok() }.logged(using: log.logger(.debug))

        let first = try await network.data(.lawful.with { $0.addObserver(events) })
        try await network.data(first.sentRequest)

        #expect(events.names.count { $0 == "exchangeStarted" } == 2)
    }

    // MARK: Secrets

    /// No detail level logs a secret of any part of the request.
    @Test(arguments: [LogDetail.basic, .headers, .body()])
    func secretsAreNotLogged(detail: LogDetail) async throws {
        let transport = MockTransport([
            .redirect(to: "https://laws.example/next?code=SECRET&state=ok#access_token=SECRET"),
            .json(
                ["access_token": "SECRET", "name": "emily"],
                status: .ok
            ),
            .failure(URLError(.badURL, userInfo: ["url": "https://x/?token=SECRET"])),
        ])
        let network = transport.logged(using: log.logger(.trace), detail: detail)
            .server(headerField: .authorization, "Bearer SECRET")
            .server(authority: "laws.example")
        let fields: HeaderFields = [.cookie: "id=SECRET", .referer: "https://laws.example/?api_key=SECRET"]
        let apiKey = try #require(HTTPField.Name("X-API-Key"))
        let request = HTTPRequestData(
            method: .put,
            path: "login?token=SECRET&access%5Ftoken=SECRET&name=emily",
            headerFields: fields,
            body: .form(["password": "SECRET", "user": "emily"])
        )
        .with { $0.headerFields[apiKey] = "SECRET" }

        try await network.data(request)
        await #expect(throws: URLError.self) { try await network.data(request) }

        #expect(log.text.contains("name=emily"))
        #expect(!log.text.contains("SECRET"), "\(log.text)")
    }

    @Test func secretsOfAReturnedRedirectAreNotLogged() async throws {
        let location = "https://app.example/callback?code=SECRET&state=visible#access_token=SECRET&id=1"
        let network = MockTransport([.redirect(to: location)]).logged(using: log.logger(), detail: .headers)

        try await network.data(.lawful.with { $0.redirects = .never })

        #expect(log.text.contains("Location: https://app.example/callback?code=<redacted>&state=visible"))
        #expect(!log.text.contains("SECRET"))
    }

    @Test func secretsOfJSONBodiesAreNotLoggedAtAnyDepth() async throws {
        let network = MockTransport { _ in .ok() }.logged(using: log.logger(), detail: .body())
        let body = ["user": ["name": "emily", "password": "SECRET"]]

        try await network.data(HTTPRequestData(method: .post, authority: "a.example", body: .json(body)))

        #expect(log.lines.first?.metadata["body"] == #"{"user":{"name":"emily","password":"<redacted>"}}"#)
    }

    @Test func secretsOfCustomRulesAreNotLogged() async throws {
        let redaction = Redaction.standard.addingHeaderFields("X-Session").addingQueryItems("ticket")
            .addingBodyFields("iban")
        let transport = MockTransport([
            .redirect(to: "/next?ticket=SECRET"), .redirect(to: "/next?ticket=SECRET"),
        ])
        let network = transport.logged(using: log.logger(.trace), detail: .body(), redaction: redaction)
        let session = try #require(HTTPField.Name("X-Session"))
        let request = HTTPRequestData(
            method: .put,
            authority: "laws.example",
            path: "start?ticket=SECRET",
            headerFields: [.init(session): "SECRET"],
            body: .json(["iban": "SECRET", "name": "emily"])
        )

        // The second redirect is a loop, which is a failure with a reason.
        await #expect(throws: NetworkingError.self) { try await network.data(request) }

        #expect(log.messages.contains { $0.contains("redirected to PUT https://laws.example/next?ticket=<redacted>") })
        #expect(log.text.contains("emily"))
        #expect(!log.text.contains("SECRET"), "\(log.text)")
    }

    // MARK: Forged lines

    @Test func externalTextCannotForgeALine() async throws {
        let forged = "x\r\n2026-01-01 info: forged \u{1B}[2J \u{85} \u{2028} \u{9B}2J \u{202E}"
        let transport = MockTransport { _ in
            MockResponse(
                status: .init(code: 299, reasonPhrase: forged),
                data: Data("a=\(forged)".utf8),
                headerFields: [.contentType: "application/x-www-form-urlencoded", .server: forged]
            )
        }
        let network = transport.logged(using: log.logger(.trace), detail: .body())

        try await network.data(.lawful)
        let texts = MockTransport { _ in .text(forged) }.logged(using: log.logger(.trace), detail: .body())
        try await texts.data(.lawful)
        let failing = MockTransport { request in
            throw NetworkingError(.connection, request: request, reason: "reason \(forged)")
        }
        await #expect(throws: NetworkingError.self) {
            try await failing.logged(using: log.logger()).data(.lawful)
        }

        for line in log.lines {
            let text = "\(line.message) \(line.metadata)"
            #expect(!text.contains { $0.isNewline })
            #expect(!text.unicodeScalars.contains { "\u{1B}\u{85}\u{2028}\u{9B}\u{202E}".unicodeScalars.contains($0) })
        }
    }
}
