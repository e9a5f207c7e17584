import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// Bodies that pass through the cache to a sink.
@Suite(.tags(.concurrency), .stoppedClock, .timeLimit(.minutes(20)))
struct CachedSinkTests {
    private let clock = ManualClock()
    private let store = MemoryCacheStore(entryCostLimit: 1_000)

    private func network(_ responses: MockResponse...) -> (AnyNetworkingComponent, MockTransport) {
        let transport = MockTransport(responses)
        return (
            AnyNetworkingComponent(transport.cached(in: store).environment(\.clock, .manual(clock))),
            transport
        )
    }

    private func mock(
        _ chunks: MockResponse.Chunk...,
        status: HTTPResponse.Status = .ok,
        fields: HTTPFields = [.cacheControl: "max-age=100"]
    ) -> MockResponse {
        .chunks(chunks, status: status, headerFields: fields)
    }

    private func send(_ network: some NetworkingComponent, to sink: any ResponseSink) async throws -> HTTPResponseData {
        try await network.data(.lawful.with { $0.sink = sink })
    }

    @Test func bodyIsStoredWhileTheSinkReceivesIt() async throws {
        let (network, transport) = network(mock(.text("one "), .text("two")))
        let sink = CollectingSink()
        let response = try await send(network, to: sink)
        #expect(response.body == .delivered(byteCount: 7))
        #expect(sink.chunks.count == 2)
        #expect(response.cacheStatus?.isStored == true)
        let again = CollectingSink()
        #expect(try await send(network, to: again).isCached)
        #expect(again.data == Data("one two".utf8))
        #expect(again.finished == 1)
        #expect(try await network.data(.lawful).data == Data("one two".utf8))
        #expect(transport.requests.count == 1)
    }

    @Test func truncatedBodyIsNotStored() async throws {
        let lost = NetworkingError(.connectionLost, request: .lawful)
        let (network, transport) = network(mock(.text("one "), .failure(lost)), mock(.text("whole")))
        await #expect(throws: NetworkingError.self) { try await send(network, to: CollectingSink()) }
        #expect(store.count == 0)
        #expect(try await network.data(.lawful).data == Data("whole".utf8))
        #expect(transport.requests.count == 2)
    }

    @Test func bodyBeyondTheEntryLimitIsDeliveredAndNotStored() async throws {
        let (network, _) = network(mock(.data(Data(count: 900)), .data(Data(count: 900))))
        let sink = CollectingSink()
        let response = try await send(network, to: sink)
        #expect(sink.data.count == 1_800)
        #expect(response.cacheStatus?.detail == "size")
        #expect(store.count == 0)
    }

    @Test func bodyThatTheSinkRefusesIsNotStored() async throws {
        let (network, _) = network(mock(.text("body")))
        let response = try await send(network, to: CollectingSink { _ in .refuse })
        #expect(response.status == .ok)
        #expect(store.count == 0)
    }

    /// The sink receives only the response for its caller, and receives it once.
    @Test func sinkReceivesNeitherA304NorAReplacedFailure() async throws {
        let (network, transport) = network(
            mock(.text("body"), fields: [.eTag: "\"a\"", .cacheControl: "max-age=1, stale-if-error=100"]),
            mock(status: .notModified, fields: [.eTag: "\"a\"", .cacheControl: "max-age=1, stale-if-error=100"]),
            mock(.text("sorry"), status: .serviceUnavailable)
        )
        _ = try await network.data(.lawful)
        for hit in ["fwd=stale; fwd-status=304", "fwd=stale; fwd-status=503"] {
            clock.advance(by: .seconds(2))
            let sink = CollectingSink { _ in .take }
            let response = try await send(network, to: sink)
            #expect("\(try #require(response.cacheStatus))".contains(hit))
            #expect(sink.data == Data("body".utf8))
            #expect(sink.heads.map(\.status) == [.ok])
        }
        #expect(transport.requests.count == 3)
    }

    /// A sink that cannot restart keeps the bytes that it received, and is notified of the failure.
    @Test func failureAfterTheFirstBytesIsNotReplaced() async throws {
        let lost = NetworkingError(.connectionLost, request: .lawful)
        let (network, _) = network(
            mock(.text("old"), fields: [.cacheControl: "max-age=1"]),
            mock(.text("ne"), .failure(lost), fields: [.cacheControl: "max-age=1"])
        )
        _ = try await network.data(.lawful)
        clock.advance(by: .seconds(2))
        let sink = CollectingSink()
        let error = await #expect(throws: NetworkingError.self) { try await send(network, to: sink) }
        #expect(error?.kind == .connectionLost)
        #expect(sink.data == Data("ne".utf8))
    }
}
