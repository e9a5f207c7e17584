import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct CallTransferTests {
    private let request = HTTPRequestData(authority: "example.com", path: "users")

    @Test func hasTheResponseWithAnyStatus() async throws {
        let call = MockTransport { _ in .status(.notFound) }.transfer(request)
        #expect(try await call.value.status == .notFound)
    }

    @Test func decodesATypedRequest() async throws {
        let call = MockTransport { _ in .json(["id": 7]) }.transfer(Request<[String: Int]>(request))
        #expect(try await call.value.body == ["id": 7])
        var last: TransferProgress?
        for await progress in call.progress {
            last = progress
        }
        #expect(last?.received.count == 8)
    }

    @Test func refusedStatusFailsATypedRequest() async throws {
        let call = MockTransport { _ in .status(.notFound) }.transfer(Request<[String: Int]>(request))
        let error = await #expect(throws: NetworkingError.self) { _ = try await call.value }
        #expect(error?.kind == .status)
    }

    @Test func releasingTheHandleCancelsTheCall() async throws {
        let transport = MockTransport { _ in .never }
        var call: Transfer<HTTPResponseData>? = transport.transfer(request)
        try await transport.waitForRequests(1)
        #expect(call != nil)
        call = nil
        try await eventually("the exchange has ended") { transport.active == 0 }
    }

    @Test func groupRetainsAndCancelsItsCalls() async throws {
        let transport = MockTransport { _ in .never }
        let group = TransferGroup()
        _ = transport.transfer(request, in: group)
        _ = transport.transfer(Request<[String: Int]>(request), in: group)
        try await transport.waitForRequests(2)
        #expect(group.count == 2)
        group.cancelAll()
        try await eventually("the calls have ended") { group.count == 0 }
        #expect(transport.active == 0)
    }
}
