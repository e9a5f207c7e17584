#if URLSession
import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

import Networking
import NetworkingTesting
@testable import NetworkingURLSession

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct URLSessionReportTests {
    @Test func callReturnsAfterItsLastProgressReportAlsoWhenTheResponseCameFirst() async throws {
        let isOpen = DispatchSemaphore(value: 0)
        let lastCount = Mutex<Int64>(0)
        var request = HTTPRequestData.lawful
        request.progressHandler = { progress in
            isOpen.wait()
            isOpen.signal()
            lastCount.withLock { $0 = progress.received.count }
        }
        let exchange = URLSessionExchange(request: request, cookies: nil, upload: nil)
        let url = try #require(request.url)
        exchange.receive(
            try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: [:]))
        )
        exchange.receive(Data("complete".utf8))
        exchange.complete(with: nil)

        async let countAtReturn = {
            _ = try await exchange.respond()
            return lastCount.withLock { $0 }
        }()
        // A call that does not wait for the reports returns meanwhile.
        for _ in 0..<20 {
            await Task.yield()
        }
        isOpen.signal()
        #expect(try await countAtReturn == 8)
    }
}
#endif
