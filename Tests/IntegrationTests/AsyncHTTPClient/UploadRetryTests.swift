#if AsyncHTTPClient && TestServer
import Foundation
import Networking
import NetworkingAsyncHTTPClient
import NetworkingTestServer
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

extension Loopback {
    /// Uploads that are repeated while the first attempt still reads its body.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
    struct UploadRetryTests {
        /// The readers of a body, in the order in which they start and end.
        private final class Readers: Sendable {
            struct State {
                var started = 0
                var live = 0
                var maximumLive = 0
            }

            let state = Mutex(State())

            /// Starts a reader and returns its number.
            func start() -> Int {
                state.withLock { state in
                    state.started += 1
                    state.live += 1
                    state.maximumLive = max(state.maximumLive, state.live)
                    return state.started
                }
            }

            func end() {
                state.withLock { $0.live -= 1 }
            }
        }

        /// A body with a first reader that ends late after its cancellation.
        private struct SlowBody: AsyncSequence {
            typealias Element = Data

            let readers: Readers

            func makeAsyncIterator() -> Iterator {
                Iterator(readers: readers)
            }

            struct Iterator: AsyncIteratorProtocol {
                let readers: Readers
                private var number: Int?

                init(readers: Readers) {
                    self.readers = readers
                }

                mutating func next() async throws -> Data? {
                    guard let number else {
                        number = readers.start()
                        return Data(count: 64 << 10)
                    }
                    defer { readers.end() }
                    guard number == 1 else { return nil }
                    // The wait ends when the reader is cancelled, because the clock does not advance.
                    try? await ManualClock().sleep(for: .seconds(1))
                    // The wait is longer than the second request needs to arrive.
                    for _ in 0..<100_000 { await Task.yield() }
                    throw CancellationError()
                }
            }
        }

        @Test func retryStartsNoReaderBeforeTheFirstHasEnded() async throws {
            try await withTestServer(keepingBodiesUpTo: 0) { server in
                server.route(.put, "/") { _ in .ok }
                server.routeAtHead(.put, "/", times: 1) { _ in .status(.serviceUnavailable) }
                let readers = Readers()
                let body = RequestBody.stream { SlowBody(readers: readers) }
                let network = AsyncHTTPClientTransport().retry(.immediate())
                let response = try await network.data(HTTPRequestData(method: .put, url: server.url, body: body))
                #expect(response.status == .ok)
                let state = readers.state.withLock { $0 }
                #expect(state.started == 2)
                #expect(state.maximumLive == 1)
                #expect(state.live == 0)
                #expect(server.requests.count == 2)
            }
        }

        /// The source of the body waits for longer than the response takes, whether it is cancelled or not.
        @Test func earlyResponseDoesNotWaitForABodyThatIgnoresItsCancellation() async throws {
            try await withTestServer(keepingBodiesUpTo: 0) { server in
                server.routeAtHead(.put, "/") { _ in .status(.contentTooLarge) }
                let release = Gate()
                let body = RequestBody.stream {
                    AsyncStream<Data> {
                        // The task of its own is not cancelled with the reader.
                        await Task { try? await release.wait() }.value
                        return nil
                    }
                }
                let transport = AsyncHTTPClientTransport()
                let response = try await transport.data(HTTPRequestData(method: .put, url: server.url, body: body))
                #expect(response.status == .contentTooLarge)

                // The next exchange with the same body starts to read when the first reader has ended, or is cancelled.
                let next = Task {
                    try await transport.data(HTTPRequestData(method: .put, url: server.url, body: body))
                }
                next.cancel()
                await #expect(throws: CancellationError.self) { try await next.value }
                release.open()
                try await transport.shutdown()
            }
        }
    }
}
#endif
