#if URLSession
import Foundation
import HTTPTypes
import NetworkingTesting
import TestSupport
import Testing

import Networking
@testable import NetworkingURLSession

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Bodies that arrive faster than their sink processes them.
@Suite(.tags(.concurrency, .memory), .timeLimit(.minutes(20)))
struct URLSessionSpillTests {
    private static let chunk = Data((0..<700_000).map { UInt8(truncatingIfNeeded: $0 / 3) })

    private func exchange(into sink: CollectingSink) throws -> URLSessionExchange {
        var request = HTTPRequestData.lawful
        request.sink = sink
        let exchange = URLSessionExchange(request: request, cookies: nil, upload: nil)
        let url = try #require(request.url)
        let head = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: [:])
        exchange.receive(try #require(head))
        return exchange
    }

    @Test func bodyInFilesIsDeliveredInOrderAfterTheEnd() async throws {
        let sink = CollectingSink()
        let exchange = try exchange(into: sink)
        for _ in 0..<5 {
            exchange.receive(Self.chunk)
        }
        exchange.complete(with: nil)
        let response = try await exchange.respond()
        #expect(response.body == .delivered(byteCount: 3_500_000))
        #expect(sink.data == [Data](repeating: Self.chunk, count: 5).reduce(Data(), +))
    }

    @Test func bytesThatArrivedBeforeAFailureAreDelivered() async throws {
        let sink = CollectingSink()
        let exchange = try exchange(into: sink)
        for _ in 0..<3 {
            exchange.receive(Self.chunk)
        }
        exchange.complete(with: URLError(.networkConnectionLost))
        let error = await #expect(throws: NetworkingError.self) { try await exchange.respond() }
        #expect(error?.kind == .connectionLost)
        #expect(sink.data.count == 2_100_000)
    }
}
#endif
