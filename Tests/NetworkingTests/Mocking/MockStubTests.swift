import Foundation
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// The selection of a response for a request, and the error messages if no response matches.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct MockStubTests {
    private let transport = MockTransport()

    private func get(_ path: String) async throws -> String {
        let response = try await transport.data(HTTPRequestData(authority: "a.example", path: path))
        return String(decoding: response.data, as: UTF8.self)
    }

    private func failure(_ path: String) async -> String? {
        let error = await #expect(throws: NetworkingError.self) { try await get(path) }
        #expect(error?.kind == .unimplemented)
        return error?.description
    }

    private func unused() -> [String]? {
        let error = #expect(throws: UnusedMocks.self) { try transport.verifyAllUsed() }
        #expect(error?.description == error?.sentences.joined(separator: "\n"))
        return error?.sentences
    }

    // MARK: Matching

    @Test func pathParametersAreDecoded() async throws {
        transport.on(.get, "/users/:id/:page") { request in
            .text("\(request.pathParameters["id"] ?? "-") \(request.pathParameters["page"] ?? "-")")
        }

        #expect(try await get("/users/emily%20b/2") == "emily b 2")
        #expect(transport.requests.first?.pathParameters == [:])
    }

    @Test func parametersOfAMatcherWithoutAMatchAreDropped() async throws {
        transport.on(.path("/:wrong") && .query("page"), .text("no"))
        transport.on(!.path("/:wrong/x") && (.path("/:a/x") || .path("/:b"))) { request in
            .text(request.pathParameters.map { "\($0.key)=\($0.value)" }.joined())
        }

        #expect(try await get("/users") == "b=users")
    }

    @Test func streamedBodyIsInMemoryForTheMatcher() async throws {
        transport.on(.body(containing: "two"), .text("matched"))
        let body = RequestBody.stream(contentType: "text/plain") {
            AsyncStream { continuation in
                continuation.yield(Data("one ".utf8))
                continuation.yield(Data("two".utf8))
                continuation.finish()
            }
        }
        let request = HTTPRequestData(method: .post, authority: "a.example", path: "/", body: body)

        #expect(try await transport.data(request).data == Data("matched".utf8))
    }

    @Test func matcherMayReadTheTransport() async throws {
        transport.on(.where("the second request") { [transport] _ in transport.requests.count == 2 }, .text("second"))
        transport.on(.any, .text("any"))

        #expect(try await get("/") == "any")
        #expect(try await get("/") == "second")
    }

    // MARK: Uses

    @Test func laterStubsReplaceAUsedUpOne() async throws {
        transport.on(.get, "/", uses: .once, .text("first"))
        transport.on(.get, "/", uses: .exactly(2)) { _ in .text("then") }
        transport.on(.get, "/", .text("last"))

        var responses: [String] = []
        for _ in 0..<5 { responses.append(try await get("/")) }

        #expect(responses == ["first", "then", "then", "last", "last"])
        try transport.verifyAllUsed()
    }

    @Test func concurrentRequestsRespectTheUsesOfEachStub() async throws {
        transport.on(.any, uses: .exactly(100), .text("stub"))
        transport.on(.any, .text("rest"))

        let responses = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<300 { group.addTask { try await get("/") } }
            return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }

        #expect(responses == ["stub": 100, "rest": 200])
    }

    @Test func usesAreDescribed() {
        #expect(
            "\(MockUses.once), \(MockUses.exactly(2)), \(MockUses.atLeastOnce), \(MockUses.any)"
                == "once, exactly 2 times, at least once, any number of times"
        )
    }

    // MARK: Requests without a response

    @Test func closestStubIsNamedWithItsMismatches() async throws {
        transport.on(.get, "/posts", .ok())
        transport.on(.request(.get, "/users/:id") && .headerField(.accept), .ok())
        transport.on(.post, "/users/:id", .ok())

        #expect(
            await failure("/users/42?token=geheim") == """
                GET https://a.example/users/42?token=<redacted>: MockTransport has no stub that matches. \
                The closest of its 3 stubs is GET /users/:id and field Accept: There is no header field Accept. \
                Add a stub with on(_:uses:respond:), or correct the request.
                """
        )
    }

    @Test func usedUpStubIsNamedWithItsRequests() async throws {
        transport.on(.get, "/users/*", uses: .once, .ok())
        _ = try await get("/users/1")

        #expect(
            await failure("/users/2") == """
                GET https://a.example/users/2: The stub GET /users/* matches, but it may be used once, \
                and was last used for GET https://a.example/users/1. \
                Give it uses: .exactly(2) or .any to use it again, or add another stub after it.
                """
        )
    }

    @Test func usedUpScriptIsNamed() async throws {
        transport.enqueue(.text("one"), .text("two"))
        #expect(try await get("/") == "one")
        #expect(try await get("/") == "two")

        #expect(
            await failure("/") == """
                GET https://a.example/: MockTransport has no response left: all responses of its script (2) are used. \
                Add one to the script, or add a stub for several requests with on(_:uses:respond:).
                """
        )
    }

    @Test func messagesContainNoSecret() async throws {
        let secret = "geheim"
        let request = HTTPRequestData(
            method: .post,
            authority: "a.example",
            path: "/login?token=\(secret)1",
            headerFields: [.authorization: "Bearer \(secret)2", .cookie: "a=\(secret)3"],
            body: .json(["user": "emily", "password": "\(secret)4"])
        )
        let stub =
            RequestMatcher.equal(to: request.with { $0.query.token = "\(secret)5" })
            && .headerField(.authorization, "Bearer \(secret)6") && .query("token", "\(secret)7")
            && .json(["user": "emily", "password": "\(secret)8"]) && .body(text: #"{"password":"\#(secret)9"}"#)
            && .formField("password", secret)
        transport.on(stub, .json(["token": secret]))

        let error = await #expect(throws: NetworkingError.self) { try await transport.data(request) }
        let sentences = try #require(unused())

        var printed =
            "\(error as Any) \(sentences) \(stub) \(MockResponse.text(secret)) \(MockResponse.Chunk.text(secret))"
        dump((error, sentences, stub, transport, MockResponse.json([secret])), to: &printed)
        #expect(error?.reason.contains("The query item token has another value, which is not shown.") == true)
        #expect(!printed.contains(secret))
    }

    // MARK: Conversations

    @Test func expectationsAreMetInOrder() async throws {
        transport.expect(.post, "/login", .text("session"))
        transport.expect(.request(.get, "/me") && .query("full")) { _ in .text("emily") }
        transport.expect(.get, "/users/:id") { .text($0.pathParameters["id"] ?? "-") }
        transport.on(.get, "/health", uses: .any, .text("well"))

        #expect(
            await failure("/me?full=1") == """
                GET https://a.example/me?full=1: MockTransport expects POST /login next, as request 1 of 3. \
                The method is GET, not POST. The path is /me, not /login. \
                Send the expected request, or add a stub for requests in any order with on(_:uses:respond:).
                """
        )
        _ = try await transport.data(HTTPRequestData(method: .post, authority: "a.example", path: "/login"))
        #expect(try await get("/health") == "well")
        #expect(try await get("/me?full=1") == "emily")
        #expect(transport.unusedResponses == 1)
        #expect(try await get("/users/42") == "42")
    }

    @Test func requestOutOfOrderFailsDespiteAClosure() async {
        let transport = MockTransport { _ in .text("closure") }
        transport.expect(.get, "/first", .ok())

        await #expect(throws: NetworkingError.self) {
            try await transport.data(HTTPRequestData(authority: "a.example", path: "/second"))
        }
    }

    @Test func concurrentRequestsMeetEachExpectationOnce() async throws {
        // A slow matcher, so that several requests are compared with the same expectation.
        let slow = RequestMatcher.where("any") { _ in (0..<2_000).reduce(0, &+) > 0 }
        for index in 0..<200 { transport.expect(slow, .text("\(index)")) }

        let responses = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<200 { group.addTask { try await get("/") } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }

        #expect(responses.count == 200)
        try transport.verifyAllUsed()
    }

    @Test func requestThatLosesARaceIsComparedWithTheNextExpectation() async throws {
        let tasks = HandRunTasks()
        let first = Task(executorPreference: tasks) { try await get("/first") }
        // Another request arrives while this one is compared.
        let isFirst = RequestMatcher.where("the first") { request in
            if request.path != "/first" { tasks.run() }
            return request.path == "/first"
        }
        transport.expect(isFirst, .text("one"))
        transport.expect(.get, "/second", .text("two"))
        transport.expect(.get, "/third", .text("three"))

        #expect(try await get("/second") == "two")
        #expect(try await first.value == "one")
        #expect(
            await failure("/fourth")?.contains("expects GET /third next, as request 3 of 3. The path is /fourth")
                == true
        )
    }

    // MARK: Unused stubs

    @Test func unusedStubsAreReported() async throws {
        transport.on(.get, "/users", .ok())
        transport.on(.get, "/posts", uses: .exactly(2), .ok())
        transport.on(.get, "/health", uses: .any, .ok())
        transport.expect(.any, .ok())
        transport.expect(.get, "/me", .ok())
        _ = try await get("/posts")
        _ = try await get("/something")

        #expect(
            unused() == [
                "GET /users was not used; expected at least once.",
                "GET /posts was used once; expected exactly 2 times.",
                "The script has 1 response left of 2; the next is for GET /me.",
            ]
        )
    }

    @Test func shadowedStubIsReported() async throws {
        transport.on(.get, "/users/*", .ok())
        transport.on(.get, "/users/me", .ok())
        _ = try await get("/users/1")
        _ = try await get("/users/me")

        #expect(
            unused() == [
                """
                GET /users/me was not used; expected at least once. The earlier stub GET /users/* was used for 1 request \
                that this one matches too, such as GET https://a.example/users/me: add the more specific stub first.
                """
            ]
        )
    }

    @Test func unmatchedRequestsAreReportedEvenIfTheAppIgnoresTheError() async throws {
        transport.on(.get, "/users", .ok())
        _ = try await get("/users")
        _ = try? await get("/uesrs?token=geheim")

        #expect(
            unused() == [
                """
                No stub matched GET https://a.example/uesrs?token=<redacted>. MockTransport has no stub that matches. Its only stub is \
                GET /users: The path is /uesrs, not /users. Add a stub with on(_:uses:respond:), or correct the request.
                """
            ]
        )
    }

    @Test func missIsExplainedByTheStubsOfItsTime() async throws {
        _ = try? await get("/users")
        transport.on(.get, "/users", .ok())

        #expect(
            unused() == [
                "GET /users was not used; expected at least once.",
                "No stub matched GET https://a.example/users. MockTransport has no responses. Add one with "
                    + "on(_:uses:respond:), or to its script.",
            ]
        )
    }

    @Test func usedStubsAreNotReported() async throws {
        transport.on(.get, "/users", uses: .once, .ok())
        transport.enqueue(.ok())
        _ = try await get("/users")
        _ = try await get("/other")

        #expect(throws: Never.self) { try transport.verifyAllUsed() }
    }

    // MARK: Latency

    @Test func delaysUseTheClockOfTheEnvironment() async throws {
        let clock = ManualClock()
        transport.on(.any, MockResponse.text("late").delayed(by: .seconds(1)))
        transport.delay(by: .seconds(2), jitter: .seconds(4))
        let halves = RandomSource { 1 << 63 }
        let network = transport.environment(\.clock, .manual(clock)).environment(\.random, halves)
        let call = Task { try await network.data(HTTPRequestData(authority: "a.example", path: "/")) }

        try await clock.waitForSleepers()
        let first = try #require(clock.nextDeadline?.offset)
        #expect(first >= .seconds(2) && first <= .seconds(6))
        #expect(abs((first - .seconds(4)) / .seconds(1)) < 0.01)
        clock.advanceToNextDeadline()
        try await clock.waitForSleepers()
        #expect(clock.nextDeadline?.offset == first + .seconds(1))
        clock.advanceToNextDeadline()

        #expect(try await call.value.data == Data("late".utf8))
    }

    // MARK: Requests in progress

    @Test func waiterForARequestResumesAfterItsResponseIsSelected() async throws {
        let tasks = HandRunTasks()
        let journal = Journal()
        let other = RequestMatcher.where("another request") { _ in
            // The waiting task gets a chance to resume while the response is being selected.
            tasks.run()
            journal.note("looked at")
            return false
        }
        transport.on(other, uses: .any, .ok())
        transport.enqueue(.text("first"), .text("second"))
        let waiter = Task(executorPreference: tasks) { [transport] in
            try await transport.waitForRequests()
            journal.note("\(transport.unusedResponses) of 2 responses left")
        }
        tasks.run()

        #expect(try await get("/") == "first")
        tasks.run()
        try await waiter.value
        #expect(journal.entries == ["looked at", "1 of 2 responses left"])
        #expect(try await get("/") == "second")
    }

    @Test func responseWithCancellationErrorIsNoCancellation() async throws {
        transport.on(.any, .failure(CancellationError()))

        await #expect(throws: CancellationError.self) { try await get("/") }
        #expect(transport.ended == 1)
        #expect(transport.cancelled == 0)
    }

    @Test func recordedRequestsRetainNoSink() async throws {
        let held = HeldResponse()
        held.respond(with: .text("now"))
        let seen = Mutex(false)
        let hasSink = RequestMatcher.where("a request with a sink") { $0.sink != nil }
        transport.on(hasSink) { request in
            seen.withLock { $0 = request.progressHandler != nil }
            return .held(by: held)
        }
        var request = HTTPRequestData.lawful
        request.sink = CollectingSink()
        request.progressHandler = { _ in }

        try await transport.data(request)

        #expect(seen.withLock { $0 })
        for recorded in transport.requests + held.requests {
            #expect(recorded.sink == nil)
            #expect(recorded.progressHandler == nil)
            #expect(recorded == request)
        }
        #expect(held.requests.count == 1)
    }

    @Test func exchangesAreCounted() async throws {
        let held = HeldResponse()
        transport.on(.any, .held(by: held))
        let calls = (0..<3).map { _ in Task { try await get("/") } }

        try await transport.waitForRequests(3)
        try await held.waitForRequests(3)
        #expect(transport.active == 3)
        calls[0].cancel()
        try await held.waitForCancellations()
        try await transport.waitForEnds()
        #expect(transport.active == 2)
        #expect(transport.cancelled == 1)
        held.respond(with: .text("now"))
        try await transport.waitForEnds(3)

        await #expect(throws: CancellationError.self) { try await calls[0].value }
        #expect(try await calls[1].value == "now")
        #expect(transport.active == 0)
        #expect(transport.ended == 3)
    }

    @Test func cancelledWaiterForRequestsGetsCancellationError() async {
        let wait = Task { try await transport.waitForRequests() }
        wait.cancel()

        await #expect(throws: CancellationError.self) { try await wait.value }
    }
}

/// An executor that runs jobs when the test calls it, on the calling thread.
private final class HandRunTasks: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    /// Runs the jobs that are ready, including jobs that these add.
    func run() {
        while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
