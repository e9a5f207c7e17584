#if URLSession && canImport(FoundationNetworking)
import Foundation
import FoundationNetworking
import TestSupport
import Testing

import Networking
import NetworkingTesting
@testable import NetworkingURLSession

struct URLSessionPlatformTests {
    /// URLSession on Linux does not speak HTTP/3.
    @Test func diagnosticsReportAnAssumptionOfHTTP3() {
        var request = HTTPRequestData.lawful
        #expect(!request.assumesHTTP3)
        let transport = URLSessionTransport(configuration: .ephemeral)
        #expect(transport.diagnostics(for: request).isEmpty)
        request.assumesHTTP3 = true
        #expect(transport.diagnostics(for: request).map(\.description).contains { $0.contains("assumesHTTP3") })
    }

    /// Foundation on Linux truncates fractions, and a timeout of 0 s fails at once (L11 in
    /// `Documentation/Architecture/ClientDefects.md`).
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
