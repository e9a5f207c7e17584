import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct UploadTests {
    private struct Photo: Codable, Equatable, Sendable {
        let id: Int
    }

    private let photos = HTTPRequestData(path: "photos")

    @Test func sendsABodyAndReturnsTheResponse() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.server(authority: "example.com")
        let response = try await network.upload(.data(Data("abc".utf8), contentType: "image/png"), to: photos)
        #expect(response.status == .ok)
        #expect(transport.requests.map(\.debugDescription) == ["POST https://example.com/photos"])
        #expect(transport.requests[0].body?.data == Data("abc".utf8))
        #expect(transport.requests[0].headerFields[.contentType] == "image/png")
    }

    @Test func keepsAMethodOtherThanGET() async throws {
        let transport = MockTransport { _ in .ok() }
        var request = photos
        request.method = .put
        try await transport.server(authority: "example.com").upload(.form(["a": "b"]), to: request)
        #expect(transport.requests.map(\.method) == [.put])
    }

    @Test func decodesTheResponse() async throws {
        let network = MockTransport { _ in .json(Photo(id: 7)) }.server(authority: "example.com")
        let (photo, response) = try await network.upload(.data(Data()), to: Request<Photo>(photos))
        #expect(photo == Photo(id: 7))
        #expect(response.status == .ok)
        let request = Request<Photo>(photos)
        #expect(try await network.upload(.data(Data()), to: request).body == Photo(id: 7))
    }

    @Test(arguments: [(HTTPResponse.Status.notFound, NetworkingError.Kind.status), (.unauthorized, .unauthorized)])
    func statusThatIsNoSuccessIsAnError(status: HTTPResponse.Status, kind: NetworkingError.Kind) async throws {
        let network = MockTransport { _ in .status(status) }.server(authority: "example.com")
        let error = await #expect(throws: NetworkingError.self) { try await network.upload(.data(Data()), to: photos) }
        #expect(error?.kind == kind)
        #expect(error?.response?.status == status)
    }

    // MARK: Progress

    @Test func reportsEachChangeInBothDirectionsOnce() async throws {
        let reports = Mutex<[TransferProgress]>([])
        let network = MockTransport { _ in .json(Photo(id: 7)).inSteps(3) }.server(authority: "example.com")
        let response = try await network.upload(.data(Data(count: 10)), to: photos) { progress in
            reports.withLock { $0.append(progress) }
        }
        let seen = reports.withLock { $0 }
        let length = Int64(response.data.count)
        #expect(zip(seen, seen.dropFirst()).allSatisfy { $0 != $1 })
        #expect(seen.first == TransferProgress(sent: BytesSent(count: 0, expected: 10)))
        #expect(seen.contains(TransferProgress(sent: BytesSent(count: 10, expected: 10))))
        #expect(Set(seen.map(\.sent.count)) == [0, 10])
        #expect(Set(seen.map(\.received.count)).count > 2)
        #expect(seen.last?.received == BytesReceived(count: length, expected: length))
    }

    @Test func reportsAStreamOfUnknownLength() async throws {
        let sent = Mutex<[BytesSent]>([])
        let network = MockTransport { _ in .ok() }.server(authority: "example.com")
        let chunks = AsyncStream<Data> { continuation in
            continuation.yield(Data(count: 4))
            continuation.yield(Data(count: 6))
            continuation.finish()
        }
        try await network.upload(.stream(chunks), to: photos) { progress in
            sent.withLock { sent in
                if sent.last != progress.sent {
                    sent.append(progress.sent)
                }
            }
        }
        let expected = [(0, nil), (4, nil), (10, nil), (10, 10)] as [(Int64, Int64?)]
        #expect(sent.withLock { $0 } == expected.map { BytesSent(count: $0.0, expected: $0.1) })
    }

    /// Uploads 10 bytes, and returns the different counts of sent bytes that were reported.
    private func progress(of request: HTTPRequestData, over network: some NetworkingComponent) async throws -> [Int64] {
        let sent = Mutex<[Int64]>([])
        try await network.upload(.data(Data(count: 10)), to: request) { progress in
            sent.withLock { sent in
                if sent.last != progress.sent.count {
                    sent.append(progress.sent.count)
                }
            }
        }
        return sent.withLock { $0 }
    }

    @Test func progressRestartsWithEachAttempt() async throws {
        let network = MockTransport([.status(.serviceUnavailable), .ok()]).retry(.immediate())
            .server(authority: "example.com")
        var request = photos
        request.method = .put
        #expect(try await progress(of: request, over: network) == [0, 10, 0, 10])
    }

    @Test func progressRestartsWithEachHop() async throws {
        let network = MockTransport([.redirect(to: "/y", status: .permanentRedirect), .ok()])
            .server(authority: "example.com")
        #expect(try await progress(of: photos, over: network) == [0, 10, 0, 10])
    }

    @Test func keepsTheHandlerOfTheRequest() async throws {
        let own = Atomic(0)
        var request = photos
        request.progressHandler = { _ in own.add(1, ordering: .relaxed) }
        let network = MockTransport { _ in .ok() }.server(authority: "example.com")
        try await network.upload(.data(Data(count: 10)), to: request) { _ in }
        #expect(own.load(ordering: .relaxed) > 1)
    }

    @Test func trackerAddsUpUploads() async throws {
        let tracker = ProgressTracker()
        let network = MockTransport { _ in .ok() }.server(authority: "example.com")
        async let one = network.upload(.data(Data(count: 10)), to: photos, trackedBy: tracker)
        async let other = network.upload(.data(Data(count: 30)), to: photos, trackedBy: tracker)
        _ = try await (one, other)
        #expect(tracker.progress.sent == BytesSent(count: 40, expected: 40))
        let failing = MockTransport { _ in .status(.notFound) }.server(authority: "example.com")
        await #expect(throws: NetworkingError.self) {
            try await failing.upload(.data(Data(count: 5)), to: photos, trackedBy: tracker)
        }
        #expect(tracker.progress.sent == BytesSent(count: 40, expected: 40))
    }
}
