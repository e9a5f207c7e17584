import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct MockedTests {
    private struct Failure: Error {}

    private let transport = MockTransport { _ in .text("upstream") }

    private func text(_ path: String, over network: some NetworkingComponent) async throws -> String {
        let response = try await network.data(HTTPRequestData(authority: "a.example", path: path))
        return String(decoding: response.data, as: UTF8.self)
    }

    // MARK: Matching

    @Test func mocksEveryRequest() async throws {
        let network = transport.mocked(all: .text("mock"))

        #expect(try await text("/one", over: network) == "mock")
        #expect(try await text("/two", over: network) == "mock")
        #expect(transport.requests.isEmpty)
    }

    @Test func mocksAnEqualRequestOnly() async throws {
        let network = transport.mocked(HTTPRequestData(authority: "a.example", path: "/one"), with: .text("mock"))

        #expect(try await text("/one", over: network) == "mock")
        #expect(try await text("/one?page=2", over: network) == "upstream")
        #expect(transport.requests.map(\.closedTarget) == ["/one?page=2"])
    }

    @Test func mocksMatchingRequestsOnly() async throws {
        let network = transport.mocked(.path("/users/*"), with: .text("mock"))

        #expect(try await text("/users/42", over: network) == "mock")
        #expect(try await text("/posts/42", over: network) == "upstream")
    }

    @Test func mocksRequestsThatSatisfyAPredicateOnly() async throws {
        let network = transport.mocked(where: { $0.path == "/one" }, with: .text("mock"))

        #expect(try await text("/one", over: network) == "mock")
        #expect(try await text("/two", over: network) == "upstream")
    }

    @Test func closureReturnsAResponseThrowsOrPassesTheRequestOn() async throws {
        let network = transport.mocked(by: { request in
            switch request.path {
            case "/one": .text("mock")
            case "/fail": throw Failure()
            default: nil
            }
        })

        #expect(try await text("/one", over: network) == "mock")
        #expect(try await text("/two", over: network) == "upstream")
        await #expect(throws: Failure.self) { try await text("/fail", over: network) }
        #expect(transport.requests.count == 1)
    }

    @Test func closureCanSendUpstream() async throws {
        let network = transport.mocked(withUpstream: { request, upstream in
            var response = try await upstream.send(request)
            response.data += Data(", changed".utf8)
            return response
        })

        #expect(try await text("/", over: network) == "upstream, changed")
    }

    // MARK: As a transport

    @Test func upstreamModifiersStillResolveTheRequest() async throws {
        let seen = Mutex<[String?]>([])
        let network = transport.server(authority: "a.example")
            .mocked(by: { request in
                seen.withLock { $0.append(request.authority) }
                return .ok()
            })

        try await network.data(HTTPRequestData(path: "/"))
        #expect(seen.withLock { $0 } == ["a.example"])
    }

    @Test func followsRedirectsToMocksAndUpstream() async throws {
        let network = transport.mocked(by: { request in
            switch request.path {
            case "/one": .redirect(to: "/two")
            case "/two": .redirect(to: "/three")
            default: nil
            }
        })

        let response = try await network.data(HTTPRequestData(authority: "a.example", path: "/one"))

        #expect(response.data == Data("upstream".utf8))
        #expect(response.redirects.map(\.request.path) == ["/one", "/two"])
        #expect(transport.requests.map(\.path) == ["/three"])
    }

    @Test func sinkReceivesTheChunksOfAMockedBody() async throws {
        let sink = CollectingSink()
        var request = HTTPRequestData.lawful
        request.sink = sink

        let response = try await transport.mocked(all: .chunks(["one", "two"])).data(request)

        #expect(response.body == .delivered(byteCount: 6))
        #expect(sink.chunks == [Data("one".utf8), Data("two".utf8)])
        #expect(sink.finished == 1)
    }

    @Test func bodyReadByAMatcherIsStillSent() async throws {
        let body = RequestBody.stream(
            AsyncStream { continuation in
                continuation.yield(Data("streamed".utf8))
                continuation.finish()
            },
            contentType: "text/plain"
        )
        let request = HTTPRequestData(method: .post, authority: "a.example", path: "/", body: body)

        try await transport.mocked(.body(text: "other"), with: .ok()).data(request)

        #expect(transport.requests.first?.body?.data == Data("streamed".utf8))
    }

    @Test func closuresGetTheBodyInMemory() async throws {
        let network = transport.mocked(where: { $0.body?.data == Data("one".utf8) }, with: .text("where"))
            .mocked(by: { $0.body?.data == Data("two".utf8) ? .text("by") : nil })
        func response(to text: String) async throws -> String {
            let body = RequestBody.stream(
                AsyncStream { continuation in
                    continuation.yield(Data(text.utf8))
                    continuation.finish()
                },
                contentType: "text/plain"
            )
            let request = HTTPRequestData(method: .post, authority: "a.example", path: "/", body: body)
            return String(decoding: try await network.data(request).data, as: UTF8.self)
        }

        #expect(try await response(to: "one") == "where")
        #expect(try await response(to: "two") == "by")
        #expect(try await response(to: "three") == "upstream")
        #expect(transport.requests.map(\.body?.data) == [Data("three".utf8)])
    }

    @Test func retryWorksOverAMock() async throws {
        let count = Atomic(0)
        let clock = NetworkClock.immediate()
        let network =
            transport.mocked(by: { _ in
                count.add(1, ordering: .relaxed).newValue == 1 ? .status(.serviceUnavailable) : nil
            })
            .retry()
            .environment(\.clock, clock)

        #expect(try await text("/", over: network) == "upstream")
        #expect(count.load(ordering: .relaxed) == 2)
    }

    @Test func cancelledCallerOfAMockGetsCancellationError() async throws {
        let held = HeldResponse()
        let network = transport.mocked(all: .held(by: held))
        let call = Task { try await network.data(.lawful) }
        try await held.waitForRequests()

        call.cancel()

        await #expect(throws: CancellationError.self) { try await call.value }
    }

    // MARK: Laws

    @Test func keepsTheLawsForUnmatchedRequests() async throws {
        try await checkLaws { AnyNetworkingComponent($0.mocked(.path("/other"), with: .ok())) }
        try await checkLaws { AnyNetworkingComponent($0.mocked(.lawful.other, with: .ok())) }
        try await checkLaws { AnyNetworkingComponent($0.mocked(where: { _ in false }, with: .ok())) }
        try await checkLaws { AnyNetworkingComponent($0.mocked(by: { _ in nil })) }
        try await checkLaws { AnyNetworkingComponent($0.mocked(withUpstream: { try await $1.send($0) })) }
    }

    @Test func outlineNamesTheMocks() {
        let network = transport.mocked(all: .ok()).mocked(.path("/users/:id"), with: .ok())

        #expect(network.outline.contains("mocked(/users/:id)"))
        #expect(network.outline.contains("mocked(all)"))
    }
}

extension HTTPRequestData {
    fileprivate var other: HTTPRequestData {
        HTTPRequestData(authority: "other.example", path: "/")
    }
}

/// The function that verifies the mocks at its end.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct WithMockTransportTests {
    private struct Failure: Error {}

    @Test func returnsTheResultOfTheClosure() async throws {
        let status = try await withMockTransport { transport in
            transport.on(.get, "/check", uses: .once, .status(.created))
            return try await transport.data(.lawful).status
        }

        #expect(status == .created)
    }

    @Test func throwsForUnusedMocks() async {
        let error = await #expect(throws: UnusedMocks.self) {
            try await withMockTransport { $0.on(.get, "/users", .ok()) }
        }

        #expect(error?.description == "GET /users was not used; expected at least once.")
    }

    @Test func errorOfTheTestTakesPrecedence() async {
        await #expect(throws: Failure.self) {
            try await withMockTransport { transport in
                transport.on(.get, "/users", .ok())
                throw Failure()
            }
        }
    }

    @Test @MainActor func testStaysOnItsActor() async throws {
        try await withMockTransport { _ in MainActor.assertIsolated() }
    }
}
