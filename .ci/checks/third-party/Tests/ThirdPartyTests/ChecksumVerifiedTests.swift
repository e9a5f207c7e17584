import Foundation
import Logging
import Networking
import NetworkingTesting
import Testing
import ThirdParty

@Suite(.timeLimit(.minutes(20)))
struct ChecksumVerifiedTests {
    private let body = Data("Wikipedia".utf8)

    private func request(expecting checksum: Checksum32?, sink: (any ResponseSink)? = nil) -> HTTPRequestData {
        var request = HTTPRequestData.lawful
        request.expectedChecksum = checksum
        request.sink = sink
        return request
    }

    @Test func keepsTheLaws() async throws {
        try await checkLaws(of: ChecksumVerified())
    }

    @Test func checksumIsThatOfAdler32() {
        #expect(Checksum32(of: body).description == "11e60398")
    }

    @Test(arguments: [1, 3])
    func damagedBodyFails(steps: Int) async throws {
        let transport = MockTransport { [body] _ in MockResponse(status: .ok, data: body).inSteps(steps) }
        let network = transport.checksumVerified()
        let sink = CollectingSink()
        _ = try await network.data(request(expecting: Checksum32(of: body), sink: sink))
        #expect(sink.data == body)
        #expect(sink.finished == 1)

        let damaged = CollectingSink()
        for request in [request(expecting: Checksum32(), sink: damaged), request(expecting: Checksum32())] {
            let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
            #expect(error?.kind == .checksumMismatch)
        }
        #expect(damaged.finished == 0)
    }

    @Test func reportsTheChecksumToListeners() async throws {
        let recorder = EventRecorder()
        var request = request(expecting: nil)
        request.addObserver(recorder)
        try await MockTransport { [body] _ in MockResponse(status: .ok, data: body) }.checksumVerified().data(request)
        let events = recorder.events.compactMap { $0 as? ChecksumEvent }
        #expect(events.map(\.description) == ["checksumComputed(11e60398)"])
    }

    @Test func logsAndMetricsShowTheChecksumInTheirOwnForms() async throws {
        let log = LogRecorder()
        let network = MockTransport { [body] _ in MockResponse(status: .ok, data: body) }.checksumVerified()
        let response = try await network.logged(using: log.logger(.debug)).instrument().data(request(expecting: nil))
        #expect(log.messages.contains { $0.hasPrefix("checksum 11e60398: GET ") })
        #expect(response.metrics?.marks.map(\.mark) == [EventMark(.checksum)])
    }

    @Test func diagnosticsReportAPlaceOutsideRetryAndAnUnreadOption() {
        let transport = MockTransport { _ in .ok() }
        #expect(transport.retry().checksumVerified().diagnostics.map(\.modifier) == ["checksumVerified"])
        #expect(transport.checksumVerified().retry().diagnostics.isEmpty)
        let request = request(expecting: Checksum32())
        #expect(transport.checksumVerified().diagnostics(for: request).isEmpty)
        #expect(transport.diagnostics(for: request).map(\.option) == [.expectedChecksum])
    }
}
