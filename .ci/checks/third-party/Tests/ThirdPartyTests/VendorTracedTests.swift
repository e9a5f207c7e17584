import HTTPTypes
import Logging
import Networking
import NetworkingTesting
import Testing
import ThirdParty

@Suite(.timeLimit(.minutes(20)))
struct VendorTracedTests {
    @Test func keepsTheLaws() async throws {
        try await checkLaws(of: VendorTraced())
    }

    @Test func everyAttemptHasTheNumberOfTheTrace() async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .ok()])
        let response = try await transport.retry(.immediate()).vendorTraced().data(.lawful)
        let numbers = transport.requests.map { $0.headerFields[.vendorTrace] }
        #expect(numbers.count == 2)
        #expect(numbers[0] != nil && numbers[0] == numbers[1])
        // The mark belongs to the send.
        #expect(response.request.trace == nil)
    }

    @Test func outerTraceStaysAloneAndNamesLogLines() async throws {
        let log = LogRecorder()
        let transport = MockTransport { _ in .ok() }
        try await transport.traced().vendorTraced().logged(using: log.logger(.trace)).vendorTraced().data(.lawful)
        let sent = try #require(transport.requests.first)
        let number = try #require(sent.headerFields[.vendorTrace])
        #expect(sent.headerFields[HTTPField.Name("traceparent")!] == nil)
        #expect(log.lines.contains { $0.metadata["trace-id"].map { "\($0)" } == number })
    }
}
