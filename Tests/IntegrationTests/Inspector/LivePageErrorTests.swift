#if Inspector
import Networking
import NetworkingInspector
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Loopback {
    /// What an app can show when its live page has no port.
    @Suite(.timeLimit(.minutes(5)))
    struct LivePageErrorTests {
        @Test func aPortThatIsTakenIsNamed() async throws {
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
