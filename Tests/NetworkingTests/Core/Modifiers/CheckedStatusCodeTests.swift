import Foundation
import Networking
import NetworkingTesting
import Testing

@Suite(.timeLimit(.minutes(20)))
struct CheckedStatusCodeTests {
    private struct NoSuchProduct: Error {}

    @Test(
        arguments: [
            (200, nil), (204, nil), (299, nil), (199, .status), (300, .status), (302, .status), (400, .status),
            (401, .unauthorized), (403, .status), (404, .status), (500, .status), (599, .status), (999, .status),
        ] as [(Int, NetworkingError.Kind?)]
    )
    func throwsForAStatusThatIsNoSuccess(code: Int, expected: NetworkingError.Kind?) async throws {
        let network = MockTransport { _ in .status(.init(code: code)) }.checkedStatusCode()

        let kind: NetworkingError.Kind?
        do {
            let response = try await network.data(.lawful)
            #expect(response.status.code == code)
            kind = nil
        } catch let error as NetworkingError {
            #expect(error.response?.status.code == code)
            kind = error.kind
        }

        #expect(kind == expected)
    }

    @Test(
        arguments: [
            (.all, 500, false), (.all, 401, false), ([404], 404, false), ([404], 200, true),
            (.successful.union([404]), 404, false), (.successful.union([404]), 410, true),
            (StatusSet(200...399), 304, false), ([], 200, true),
        ] as [(StatusSet, Int, Bool)]
    )
    func acceptedStatusesOfTheRequestAreApplied(accepted: StatusSet, code: Int, isError: Bool) async throws {
        let network = MockTransport { _ in .status(.init(code: code)) }.checkedStatusCode()
        let request = HTTPRequestData.lawful.with { $0.acceptedStatuses = accepted }

        if isError {
            await #expect(throws: NetworkingError.self) { try await network.data(request) }
        } else {
            #expect(try await network.data(request).status.code == code)
        }
    }

    @Test func errorHoldsTheResponseAndTheSentRequest() async throws {
        let network = MockTransport { _ in MockResponse.json(["reason": "gone"], status: .gone) }
            .checkedStatusCode()
            .server(authority: "api.example.com")

        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(HTTPRequestData(path: "users"))
        }

        #expect(error?.request.url?.absoluteString == "https://api.example.com/users")
        #expect(try error?.decodeBody(as: [String: String].self) == ["reason": "gone"])
        #expect(error?.reason.contains("410 Gone") == true)
    }

    @Test func customErrorReplacesTheStandardOne() async throws {
        let network = MockTransport { request in request.path == "/gone" ? .status(.gone) : .status(.notFound) }
            .checkedStatusCode { $0.status == .notFound ? NoSuchProduct() : nil }

        await #expect(throws: NoSuchProduct.self) { try await network.data(.lawful) }
        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(HTTPRequestData(authority: "laws.example", path: "gone"))
        }
        #expect(error?.kind == .status)
    }

    @Test func customErrorReplacesUnauthorizedToo() async throws {
        let network = MockTransport([.status(.unauthorized)]).checkedStatusCode { _ in NoSuchProduct() }

        await #expect(throws: NoSuchProduct.self) { try await network.data(.lawful) }
    }

    @Test func acceptedResponseIsNotMapped() async throws {
        let network = MockTransport([.status(.notFound)]).checkedStatusCode { _ in NoSuchProduct() }
        let request = HTTPRequestData.lawful.with { $0.acceptedStatuses = [404] }

        #expect(try await network.data(request).status == .notFound)
    }

    @Test func refusedResponseFillsNoSink() async {
        let sink = CollectingSink()
        let request = HTTPRequestData.lawful.with { $0.sink = sink }
        let network = MockTransport([.status(.notFound)]).checkedStatusCode()

        await #expect(throws: NetworkingError.self) { try await network.data(request) }
        #expect(sink.heads.isEmpty)
    }
}
