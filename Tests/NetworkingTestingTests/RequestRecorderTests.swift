import Foundation
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct RequestRecorderTests {
    private struct Failure: Error {}

    private let recorder = RequestRecorder()

    @Test func recordsRequestsAtItsPositionInTheStack() async throws {
        let network = MockTransport { _ in .ok() }.recorded(by: recorder).numbered().server(authority: "a.example")

        try await network.data(HTTPRequestData(path: "one"))
        try await network.data(HTTPRequestData(path: "two"))

        #expect(recorder.requests.map(\.url?.path) == ["/one", "/two"])
        #expect(recorder.requests.map(\.number) == [1, 2])
        #expect(recorder.active == 0)
        #expect(recorder.peakActive == 1)
    }

    @Test func doesNotRetainSinks() async throws {
        let network = MockTransport([.text("body")]).recorded(by: recorder)
        var request = HTTPRequestData.lawful
        request.sink = CollectingSink()
        request.progressHandler = { _ in }

        #expect(try await network.data(request).body == .delivered(byteCount: 4))

        #expect(recorder.requests.count == 1)
        #expect(recorder.first?.sink == nil)
        #expect(recorder.first?.progressHandler == nil)
    }

    @Test func recordsResults() async {
        let network = MockTransport([.status(.notFound), .failure(Failure())]).recorded(by: recorder)

        _ = try? await network.data(.lawful)
        await #expect(throws: Failure.self) { try await network.data(.lawful) }

        #expect(recorder.results.count == 2)
        #expect((try? recorder.results.first?.get())?.status == .notFound)
        #expect(throws: Failure.self) { try recorder.results.last?.get() }
    }

    @Test func separatesResponsesAndErrors() async throws {
        let network = MockTransport([.ok(), .failure(Failure()), .status(.notFound)]).recorded(by: recorder)
            .server(authority: "a.example")
        #expect(recorder.first == nil)

        for path in ["one", "two", "three"] {
            _ = try? await network.data(HTTPRequestData(path: path))
        }

        #expect(recorder.first?.path == "/one")
        #expect(recorder.last?.path == "/three")
        #expect(recorder.responses.map(\.status) == [.ok, .notFound])
        #expect(recorder.errors.count == 1)
        #expect(recorder.errors.first is Failure)
    }

    @Test func verifiesReceivedRequests() async throws {
        let network = MockTransport { _ in .ok() }.recorded(by: recorder).server(authority: "a.example")
        try recorder.verify()
        try recorder.verify(count: 0)
        let none = #expect(throws: UnexpectedRequests.self) { try recorder.verify("GET https://a.example/one") }
        #expect(none?.description == "Expected one request:\n  GET https://a.example/one\nbut received no requests")

        try await network.data(HTTPRequestData(path: "one"))
        try await network.data(HTTPRequestData(method: .delete, path: "two?token=secret"))

        try recorder.verify("GET https://a.example/one", "\(#require(recorder.last))")
        try recorder.verify(count: 2)
        let fewer = #expect(throws: UnexpectedRequests.self) { try recorder.verify(count: 3) }
        #expect(
            fewer?.description
                == "Expected 3 requests\nbut received 2 "
                + "requests:\n  GET https://a.example/one\n  \(try #require(recorder.last))"
        )
        #expect(fewer?.description.contains("secret") == false)
        #expect(throws: UnexpectedRequests.self) { try recorder.verify() }
    }

    @Test func countsActiveRequests() async throws {
        let gate = Suspension<Void>()
        let network = MockTransport { _ in
            try await gate.value()
            return .ok()
        }
        .recorded(by: recorder)
        let call = Task { try await network.data(.lawful) }

        try await recorder.waitForRequests()
        #expect(recorder.active == 1)
        #expect(recorder.results.isEmpty)
        call.cancel()

        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(recorder.active == 0)
        #expect(recorder.results.count == 1)
    }

    @Test func waitsForANumberOfRequests() async throws {
        let network = MockTransport { _ in .ok() }.recorded(by: recorder)
        let waiter = Task { try await recorder.waitForRequests(2) }

        try await network.data(.lawful)
        try await network.data(.lawful)

        try await waiter.value
        try await recorder.waitForRequests(1)
        try await recorder.waitForRequests(0)
    }

    @Test func cancelledWaiterThrowsAndOtherWaitersContinue() async throws {
        let leaving = Task { try await recorder.waitForRequests(1) }
        let staying = Task { try await recorder.waitForRequests(1) }
        leaving.cancel()
        await #expect(throws: CancellationError.self) { try await leaving.value }

        try await MockTransport { _ in .ok() }.recorded(by: recorder).data(.lawful)

        try await staying.value
    }

    @Test func countsConcurrentActiveRequests() async throws {
        let clock = ManualClock()
        let network = MockTransport { _ in .ok() }.delayed(by: .seconds(1)).recorded(by: recorder)
            .environment(\.clock, .manual(clock))
        try await withThrowingTaskGroup { group in
            for _ in 0..<1_000 {
                group.addTask { _ = try await network.data(.lawful) }
            }
            try await recorder.waitForRequests(1_000)
            #expect(recorder.active == 1_000)
            try await clock.advance(by: .seconds(1), afterSleepers: 1_000)
            try await group.waitForAll()
        }

        #expect(recorder.active == 0)
        #expect(recorder.peakActive == 1_000)
        #expect(recorder.results.count == 1_000)
    }
}
