import Foundation
import Networking
import NetworkingTesting
import Testing

@Suite(.timeLimit(.minutes(20)))
struct RequestSettingsTests {
    @Test func hasItsDefaults() {
        let request = HTTPRequestData()
        #expect(request.timeout == nil)
        #expect(request.deadline == nil)
        #expect(request.acceptedStatuses == .successful)
        #expect(request.maximumResponseBytes == 64 << 20)
        #expect(request.redirects.limit == 20)
        #expect(request.serverMutations == .enabled)
        #expect(request.authenticationMethod == nil)
        #expect(!request.allowsPlaintextCredentials)
        #expect(request.number == nil)
        #expect(request.logDetail == nil)
        #expect(request.progressHandler == nil)
        #expect(request.sink == nil)
    }

    @Test func keepsItsSettings() {
        var request = HTTPRequestData()
        request.timeout = .seconds(1)
        request.deadline = .seconds(2)
        request.acceptedStatuses = [404]
        request.maximumResponseBytes = 3
        request.redirects = .follow(upTo: 4)
        request.serverMutations = .disabled
        request.authenticationMethod = .bearer
        request.allowsPlaintextCredentials = true
        request.number = 5
        request.logDetail = .headers
        request.sink = CollectingSink()
        #expect(request.timeout == .seconds(1))
        #expect(request.deadline == .seconds(2))
        #expect(request.acceptedStatuses == [404])
        #expect(request.maximumResponseBytes == 3)
        #expect(request.redirects.limit == 4)
        #expect(request.serverMutations == .disabled)
        #expect(request.authenticationMethod == .bearer)
        #expect(request.allowsPlaintextCredentials)
        #expect(request.number == 5)
        #expect(request.logDetail == .headers)
        #expect(request.sink is CollectingSink)
    }

    @Test func limitsTheBodyInMemory() async throws {
        let transport = MockTransport { _ in .text("12345") }
        var request = HTTPRequestData(authority: "example.com")
        request.maximumResponseBytes = 5
        #expect(try await transport.data(request).data.count == 5)
        request.maximumResponseBytes = 4
        let error = await #expect(throws: NetworkingError.self) { try await transport.data(request) }
        #expect(error?.kind == .tooLarge)
        #expect(error?.reason.contains("4 bytes") == true)
        #expect(error?.reason.contains("maximumResponseBytes") == true)
        #expect(error?.response?.status == .ok)
        #expect(error?.response?.data.isEmpty == true)
    }

    /// Apps often compute the rest of a time budget, which is zero once it is used up.
    @Test func expiredTimeLimitFailsTheCall() async {
        let transport = MockTransport { _ in .ok() }
        var request = HTTPRequestData(authority: "example.com")
        request.timeout = .zero
        let late = request
        let timeout = await #expect(throws: NetworkingError.self) {
            try await transport.timeout(.seconds(1)).data(late)
        }
        #expect(timeout?.kind == .timeout)
        request.deadline = .seconds(-1)
        let later = request
        let deadline = await #expect(throws: NetworkingError.self) {
            try await transport.deadline(.seconds(1)).data(later)
        }
        #expect(deadline?.kind == .deadline)
        #expect(transport.requests.isEmpty)
    }
}
