import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct TransferTests {
    private let photos = HTTPRequestData(path: "photos")

    @Test func transferHasAValueAndProgress() async throws {
        let network = MockTransport { _ in .ok() }.server(authority: "example.com")
        let transfer = network.transfer(uploading: .data(Data(count: 10)), to: photos)
        let response = try await transfer.value
        #expect(response.status == .ok)
        // The value can be read again, and after the end.
        #expect(try await transfer.value.status == .ok)
        var last: TransferProgress?
        for await progress in transfer.progress {
            last = progress
        }
        #expect(last?.sent == BytesSent(count: 10, expected: 10))
        transfer.cancel()
        #expect(try await transfer.value.status == .ok)
    }

    @Test func progressIsReportedToTheEnd() async throws {
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        let transfer = transport.server(authority: "example.com")
            .transfer(uploading: .data(Data(count: 10)), to: photos)
        var readers: [Task<Int, Never>] = []
        for _ in 0..<3 {
            let progress = transfer.progress
            readers.append(
                Task {
                    var count = 0
                    for await _ in progress {
                        count += 1
                    }
                    return count
                }
            )
        }
        try await transport.waitForRequests(1)
        held.respond()
        _ = try await transfer.value
        for reader in readers {
            _ = await reader.value
        }
    }

    @Test func decodesTheResponse() async throws {
        let network = MockTransport { _ in .json(["id": 7]) }.server(authority: "example.com")
        let transfer = network.transfer(uploading: .data(Data()), to: Request<[String: Int]>(photos))
        #expect(try await transfer.value.body == ["id": 7])
    }

    @Test func decodesTheResponseWithADecoder() async throws {
        let network = MockTransport { _ in .json(["user_id": 7]) }.server(authority: "example.com")
        let transfer = network.transfer(
            uploading: .data(Data()),
            to: Request<Owner>(.put("photos"), decoder: .json(keys: .convertFromSnakeCase))
        )
        #expect(try await transfer.value.body.userId == 7)
    }

    private struct Owner: Decodable {
        let userId: Int
    }

    @Test func failsWithTheErrorOfTheCall() async throws {
        let network = MockTransport { _ in .status(.notFound) }.server(authority: "example.com")
        let transfer = network.transfer(uploading: .data(Data()), to: photos)
        let error = await #expect(throws: NetworkingError.self) { try await transfer.value }
        #expect(error?.kind == .status)
    }

    @Test func cancelEndsTheExchange() async throws {
        let transport = MockTransport { _ in .never }
        let transfer = transport.server(authority: "example.com").transfer(uploading: .data(Data()), to: photos)
        try await transport.waitForRequests(1)
        transfer.cancel()
        await #expect(throws: CancellationError.self) { try await transfer.value }
        #expect(transport.active == 0)
    }

    @Test func releasingTheTransferEndsTheExchange() async throws {
        let transport = MockTransport { _ in .never }
        var transfer: Transfer<HTTPResponseData>? = transport.server(authority: "example.com")
            .transfer(uploading: .data(Data()), to: photos)
        try await transport.waitForRequests(1)
        #expect(transfer != nil)
        transfer = nil
        try await eventually("transport.active == 0") { transport.active == 0 }
    }

    @Test func cancelledWaiterDoesNotEndTheExchange() async throws {
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        let transfer = transport.server(authority: "example.com").transfer(uploading: .data(Data()), to: photos)
        let waiter = Task { try await transfer.value }
        try await transport.waitForRequests(1)
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        #expect(transport.active == 1)
        held.respond()
        #expect(try await transfer.value.status == .ok)
    }

    // MARK: Groups

    @Test func groupRetainsItsTransfersUntilTheirEnd() async throws {
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        let network = transport.server(authority: "example.com")
        let group = TransferGroup()
        for _ in 0..<3 {
            _ = network.transfer(uploading: .data(Data(count: 10)), to: photos, in: group)
        }
        try await transport.waitForRequests(3)
        #expect(group.count == 3)
        #expect(group.progress.sent.expected == 30)
        held.respond()
        try await eventually("group.count == 0") { group.count == 0 }
    }

    /// Transfers that wait for a permit have bytes to send too.
    @Test func groupCountsWaitingTransfers() async throws {
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        let network = transport.throttled(max: 1).server(authority: "example.com")
        let group = TransferGroup()
        let transfers = (0..<4).map { _ in network.transfer(uploading: .data(Data(count: 10)), to: photos, in: group) }
        #expect(group.progress.sent.expected == 40)
        var first: TransferProgress?
        for await progress in transfers[3].progress {
            first = progress
            break
        }
        #expect(first?.sent.expected == 10)
        held.respond()
        for transfer in transfers {
            _ = try await transfer.value
        }
    }

    @Test func readerOfTheProgressRetainsTheTransfer() async throws {
        let network = MockTransport { _ in .ok() }.server(authority: "example.com")
        var last: TransferProgress?
        for await progress in network.transfer(uploading: .data(Data(count: 10)), to: photos).progress {
            last = progress
        }
        #expect(last?.sent == BytesSent(count: 10, expected: 10))
    }

    @Test func cancellingAGroupEndsItsTransfers() async throws {
        let transport = MockTransport { _ in .never }
        let network = transport.server(authority: "example.com")
        let group = TransferGroup()
        let transfers = (0..<20).map { _ in network.transfer(uploading: .data(Data()), to: photos, in: group) }
        try await transport.waitForRequests(20)
        group.cancelAll()
        for transfer in transfers {
            await #expect(throws: CancellationError.self) { try await transfer.value }
        }
        try await eventually("group.count == 0") { group.count == 0 }
        #expect(group.progress == TransferProgress())
    }

    @Test func releasingAGroupEndsItsTransfers() async throws {
        let transport = MockTransport { _ in .never }
        var group: TransferGroup? = TransferGroup()
        if let group {
            _ = transport.server(authority: "example.com").transfer(uploading: .data(Data()), to: photos, in: group)
        }
        try await transport.waitForRequests(1)
        group = nil
        try await eventually("the transfer has ended") { transport.active == 0 }
    }

    @Test func groupReleasesTransfersThatEndAtOnce() async throws {
        let group = TransferGroup()
        let network = MockTransport { _ in .ok() }.server(authority: "example.com")
        let transfers = (0..<50).map { _ in network.transfer(uploading: .data(Data(count: 1)), to: photos, in: group) }
        for transfer in transfers {
            _ = try await transfer.value
        }
        try await eventually("group.count == 0") { group.count == 0 }
        #expect(group.progress.sent == BytesSent(count: 50, expected: 50))
    }
}
