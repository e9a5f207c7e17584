import Foundation
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct OpenStreamsTests {
    private struct PacedSink: ResponseSink {
        var isReaderPaced: Bool { true }

        func receive(_ chunk: Data) async throws {}
    }

    private let streams = OpenStreams(limit: 2)
    private let stream = HTTPRequestData.lawful.with { $0.sink = PacedSink() }

    private func call(_ events: EventRecorder, authority: String? = nil) -> HTTPRequestData {
        HTTPRequestData.lawful.with {
            $0.authority = authority ?? $0.authority
            $0.addObserver(events)
        }
    }

    @Test func callWaitsWhileStreamsHoldEveryConnection() throws {
        let events = EventRecorder()
        let first = try #require(streams.begin(stream))
        #expect(streams.begin(call(events)) == nil)
        _ = try #require(streams.begin(stream))
        #expect(streams.begin(call(events, authority: "other.example.com")) == nil)
        #expect(events.names.isEmpty)
        let waiting = try #require(streams.begin(call(events)))
        #expect(events.names == ["waiting"])
        streams.end(first)
        #expect(events.names == ["waiting", "waited"])
        streams.end(waiting)
        streams.end(first)
        #expect(events.names == ["waiting", "waited"])
        #expect(streams.begin(call(events)) == nil)
    }

    @Test func serverHasOneLimitInAnySpelling() throws {
        let events = EventRecorder()
        _ = try #require(streams.begin(stream))
        _ = try #require(streams.begin(stream))
        let authority = try #require(stream.authority)
        #expect(streams.begin(call(events, authority: "\(authority.uppercased()):443")) != nil)
        #expect(events.names == ["waiting"])
    }

    @Test func finishedCallNoLongerCountsAsWaiting() throws {
        let events = EventRecorder()
        let first = try #require(streams.begin(stream))
        _ = try #require(streams.begin(stream))
        streams.end(try #require(streams.begin(call(events))))
        streams.end(first)
        #expect(events.names == ["waiting", "waited"])
    }

    /// A stream that ends while it waits has no connection that another exchange could get.
    @Test func endOfAWaitingStreamEndsNoOtherWait() throws {
        let events = EventRecorder()
        let first = try #require(streams.begin(stream))
        _ = try #require(streams.begin(stream))
        let third = try #require(streams.begin(stream))
        _ = try #require(streams.begin(call(events)))
        streams.end(third)
        #expect(events.names == ["waiting"])
        streams.end(first)
        #expect(events.names == ["waiting", "waited"])
    }

    @Test func connectionOfACallThatHasWaitedGoesToTheNext() throws {
        let events = EventRecorder()
        let first = try #require(streams.begin(stream))
        _ = try #require(streams.begin(stream))
        let earlier = try #require(streams.begin(call(EventRecorder())))
        _ = try #require(streams.begin(call(events)))
        streams.end(first)
        #expect(events.names == ["waiting"])
        streams.end(earlier)
        #expect(events.names == ["waiting", "waited"])
    }

    @Test func shortageCountsTheStreamsToTheServer() throws {
        #expect(streams.shortage(for: .lawful) == nil)
        let first = try #require(streams.begin(stream))
        _ = try #require(streams.begin(stream))
        #expect(streams.shortage(for: .lawful)?.hasPrefix("2 streams") == true)
        #expect(streams.shortage(for: HTTPRequestData.lawful.with { $0.authority = "other.example.com" }) == nil)
        streams.end(first)
        #expect(streams.shortage(for: .lawful) == nil)
    }

    private struct Full: NetworkingTransport {
        func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
            HTTPResponseData(request: request, status: .ok, data: Data())
        }

        var stackPart: StackPart { StackPart(connectionShortage: { _ in "6 streams are open." }) }
    }

    @Test func errorOfATimeoutNamesTheStreams() async {
        let network = AnyNetworkingComponent(Full().delayed(by: .zero)).timeout(.seconds(1))
        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(.lawful.with { $0.timeout = .zero })
        }
        #expect(error?.kind == .timeout)
        #expect(error?.reason.hasSuffix("6 streams are open.") == true)
    }
}
