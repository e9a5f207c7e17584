#if URLSession && canImport(FoundationNetworking)
import Foundation
import FoundationNetworking
import TestSupport
import Testing

import Networking
@testable import NetworkingURLSession

@Suite(.tags(.concurrency))
struct URLSessionPlatformTests {
    /// Fractions are cut there, and a timeout of 0 s ends at once (L11 in `Documentation/Transports.md`).
    @Test(arguments: [(0.2, 1), (1, 1), (2.5, 3), (60, 60)] as [(TimeInterval, TimeInterval)])
    func timeoutsOfAConfigurationAreRoundedUp(given: TimeInterval, used: TimeInterval) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = given
        let session = URLSession.forExchanges(configuration)
        defer { session.invalidateAndCancel() }
        #expect(session.configuration.timeoutIntervalForRequest == used)
        #expect(configuration.timeoutIntervalForRequest == given)
    }
}
#endif
