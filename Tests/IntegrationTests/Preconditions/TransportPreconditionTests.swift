#if (os(Linux) || os(macOS)) && URLSession && AsyncHTTPClient
import Networking
import NetworkingAsyncHTTPClient
import Testing

/// Invalid settings of transports stop the program at the line that sets them.
@Suite(.serialized, .timeLimit(.minutes(20)))
struct TransportPreconditionTests {
    @Test func maximumConnectionsPerHostMustBePositive() async {
        let results = [
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                _ = URLSessionTransport(maximumConnectionsPerHost: 0)
            },
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                _ = AsyncHTTPClientTransport(maximumConnectionsPerHost: 0)
            },
        ]
        for result in results {
            let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            #expect(message.contains("maximumConnectionsPerHost must be greater than zero (is 0)"))
        }
    }
}
#endif
