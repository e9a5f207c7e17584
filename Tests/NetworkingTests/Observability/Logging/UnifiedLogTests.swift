#if canImport(os)
import Logging
import Networking
import NetworkingTesting
import Testing
import os

struct UnifiedLogTests {
    private let logger = os.Logger(subsystem: "com.example.tests", category: "network")
    private let signposter = OSSignposter(subsystem: "com.example.tests", category: "network")

    @Test func loggerOfTheAppIsADestination() async throws {
        let network = MockTransport { _ in .ok() }
            .logged(using: logger, signposter: signposter, logLevel: .debug, detail: .headers)
        let other = MockTransport { _ in .ok() }
            .logged(to: .unifiedLog(logger, signposter: signposter, logLevel: .debug), detail: .headers)

        #expect(network.outline == other.outline)
        #expect(network.outline.hasPrefix("logged(to: UnifiedLog, level: info, detail: headers)"))
        #expect(try await network.data(.lawful).status == .ok)
    }

    @Test func destinationHasItsLevel() {
        #expect(UnifiedLog(logger).logLevel == .info)
        #expect(UnifiedLog(logger, logLevel: .debug).logLevel == .debug)
    }
}
#endif
