import Foundation
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct MockTransportTests {
    private struct Failure: Error {}

    private func text(_ response: HTTPResponseData) -> String {
        String(decoding: response.data, as: UTF8.self)
    }

    private func request(_ path: String, method: HTTPRequest.Method = .get) -> HTTPRequestData {
        HTTPRequestData(method: method, authority: "a.example", path: path)
    }

    // MARK: Responses

    @Test func responsesOfAScriptAreReturnedOnceInOrder() async throws {
        let transport = MockTransport([.text("one"), .status(.notFound), .failure(Failure())])
        #expect(transport.unusedResponses == 3)

        #expect(text(try await transport.data(.lawful)) == "one")
        #expect(try await transport.data(.lawful).status == .notFound)
        await #expect(throws: Failure.self) { try await transport.data(.lawful) }

        #expect(transport.unusedResponses == 0)
        #expect(transport.requests.count == 3)
    }

    @Test func closureReturnsTheResponseToEachRequest() async throws {
        let transport = MockTransport { request in .text(request.path ?? "") }

        #expect(text(try await transport.data(request("one"))) == "/one")
        #expect(text(try await transport.data(request("two"))) == "/two")
    }

    @Test func closureMayThrow() async {
        let transport = MockTransport { _ in throw Failure() }

        await #expect(throws: Failure.self) { try await transport.data(.lawful) }
        #expect(transport.requests.count == 1)
    }

    @Test func requestsAreMatchedByMethodAndPathWithAnyQuery() async throws {
        let transport = MockTransport()
        transport.on(.get, "users") { _ in .text("get") }
        transport.on(.post, "/users") { _ in .text("post") }

        #expect(text(try await transport.data(request("users?page=2"))) == "get")
        #expect(text(try await transport.data(request("users", method: .post))) == "post")
        await #expect(throws: NetworkingError.self) { try await transport.data(request("users/42")) }
    }

    @Test func requestsAreMatchedByEquality() async throws {
        let transport = MockTransport()
        let expected = HTTPRequestData(scheme: "https", authority: "a.example", path: "/users?page=2")
        transport.on(expected) { _ in .text("equal") }

        #expect(text(try await transport.data(request("users?page=2"))) == "equal")
        await #expect(throws: NetworkingError.self) { try await transport.data(request("users?page=3")) }
    }

    @Test func firstMatchingStubIsUsed() async throws {
        let transport = MockTransport()
        transport.on("anything", where: { _ in true }, uses: .once, respond: { _ in .text("first") })
        transport.on("anything again", where: { _ in true }, uses: .once, .text("second"))
        transport.on(.get, "users") { _ in .text("third") }

        for response in ["first", "second", "third"] {
            #expect(text(try await transport.data(request("users"))) == response)
        }
    }

    @Test func stubsPrecedeTheScriptAndTheScriptPrecedesTheClosure() async throws {
        let scripted = MockTransport([.text("script")])
        scripted.on(.get, "matched") { _ in .text("match") }
        #expect(text(try await scripted.data(request("matched"))) == "match")
        #expect(scripted.unusedResponses == 1)
        #expect(text(try await scripted.data(request("other"))) == "script")

        let closure = MockTransport { _ in .text("closure") }
        closure.on(.get, "matched") { _ in .text("match") }
        #expect(text(try await closure.data(request("matched"))) == "match")
        #expect(text(try await closure.data(request("other"))) == "closure")
    }

    @Test func unexpectedRequestFailsWithTheExpectedOnes() async throws {
        let transport = MockTransport([.ok()])
        transport.on(.get, "users") { _ in .ok() }
        transport.on("a login", where: { $0.path == "/login" }, respond: { _ in .ok() })
        try await transport.data(request("first"))

        let error = await #expect(throws: NetworkingError.self) { try await transport.data(request("uesrs")) }

        #expect(error?.kind == .unimplemented)
        #expect(
            error?.description == """
                GET https://a.example/uesrs: MockTransport has no stub that matches, and its script is used up. \
                The closest of its 2 stubs is GET /users: The path is /uesrs, not /users. \
                Add a stub with on(_:uses:respond:), or correct the request.
                """
        )
    }

    @Test func transportWithoutResponsesFailsWithAReason() async {
        let error = await #expect(throws: NetworkingError.self) { try await MockTransport().data(.lawful) }

        #expect(error?.reason.hasPrefix("MockTransport has no responses.") == true)
    }

    // MARK: Recording

    @Test func requestsAreRecordedAsTheyArriveAndCanBeSentAgain() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.server(prefixPath: "v1").server(authority: "a.example")

        try await network.data(HTTPRequestData(path: "users"))
        let recorded = try #require(transport.requests.first)
        try await network.data(recorded)

        #expect(recorded.url?.absoluteString == "https://a.example/v1/users")
        #expect(transport.requests.map(\.path) == ["/v1/users", "/v1/users"])
    }

    @Test func refusedRequestsAreNotRecorded() async {
        let transport = MockTransport { _ in .ok() }

        await #expect(throws: NetworkingError.self) { try await transport.data(HTTPRequestData(path: "users")) }

        #expect(transport.requests.isEmpty)
    }

    @Test func concurrentRequestsAreRecordedAndGetEachResponseOnce() async throws {
        let transport = MockTransport((0..<1_000).map { .text("\($0)") })
        let responses = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<1_000 {
                group.addTask { String(decoding: try await transport.data(.lawful).data, as: UTF8.self) }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }

        #expect(responses.count == 1_000)
        #expect(transport.requests.count == 1_000)
        #expect(transport.unusedResponses == 0)
    }

    // MARK: Cancellation

    @Test func cancelledCallerSendsNothing() async {
        let transport = MockTransport { _ in .ok() }
        let call = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await transport.data(.lawful)
        }

        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(transport.requests.isEmpty)
    }

    @Test func delayedResponseEndsAtTheCancellation() async throws {
        let clock = ManualClock()
        let network = MockTransport([.ok().delayed(by: .seconds(3))]).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers()

        call.cancel()

        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(clock.sleepers == 0)
    }

    @Test func responseAfterTheCancellationIsDropped() async {
        let transport = MockTransport { _ in
            withUnsafeCurrentTask { $0?.cancel() }
            return .ok()
        }
        let call = Task { try await transport.data(.lawful) }

        await #expect(throws: CancellationError.self) { try await call.value }
    }

    // MARK: Redirects

    @Test func redirectsAreFollowedAsByARealTransport() async throws {
        let transport = MockTransport([.redirect(to: "two"), .redirect(to: "https://b.example/three"), .text("there")])

        let response = try await transport.data(request("dir/one"))

        #expect(text(response) == "there")
        #expect(
            transport.requests.map(\.url?.absoluteString) == [
                "https://a.example/dir/one", "https://a.example/dir/two", "https://b.example/three",
            ]
        )
        #expect(response.url?.absoluteString == "https://b.example/three")
        #expect(response.redirects.map(\.request.path) == ["/dir/one", "/dir/two"])
        #expect(response.request.path == "/dir/one")
    }
}
