#if Inspector
import FoundationForNetworking
import Networking
import NetworkingInspector
import Testing

extension Loopback {
    /// The error that an app can show when the port of its live page is in use.
    @Suite(.timeLimit(.minutes(20)))
    struct LivePageErrorTests {
        @Test func errorNamesThePortInUse() async throws {
            try await NetworkInspector()
                .withLivePage { url in
                    let port = try #require(url.port.map(UInt16.init))
                    let error = await #expect(throws: LivePageError.self) {
                        try await NetworkInspector().serveLivePage(port: port) { _ in }
                    }
                    #expect(error?.errorDescription == error?.reason)
                    #expect(error?.errorDescription?.contains("\(port)") == true)
                }
        }
    }
}
#endif
