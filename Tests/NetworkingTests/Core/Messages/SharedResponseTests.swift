import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// The public declarations that decide which requests share a response.
@Suite struct SharedResponseTests {
    fileprivate enum Lane: NetworkEnvironmentKey {
        static let defaultValue = 0
        static let affectsResponses = false
    }

    private struct Translated: NetworkingModifier {
        let stackPart = StackPart(roles: [.adaptation])
    }

    private let transport = MockTransport { _ in .ok(headerFields: [.cacheControl: "max-age=100"]) }

    @Test func optionThatAffectsOnlySendingSharesAStoredResponse() async throws {
        let importance = RequestOption("importance", default: 0, affects: .sending)
        let network = transport.cached()
        for value in [1, 2] {
            try await network.data(.lawful.with { $0[importance] = value })
        }
        #expect(transport.requests.count == 1)
    }

    @Test func environmentThatAffectsOnlySendingSharesAStoredResponse() async throws {
        let network = transport.cached()
        for value in [1, 2] {
            try await network.environment(\.lane, value).data(.lawful)
        }
        #expect(transport.requests.count == 1)
    }

    @Test func addedCredentialIsFound() async throws {
        let request = HTTPRequestData.lawful
        let response = try await transport.data(request.with { $0.setCredential("secret", for: .authorization) })
        #expect(response.hasCredentials(notIn: request))
        #expect(try await !transport.data(request).hasCredentials(notIn: request))
    }

    @Test func partThatAdaptsRequestsInsideOfACacheIsReported() {
        #expect(!transport.modified(Translated()).cached().diagnostics.isEmpty)
        #expect(transport.cached().modified(Translated()).diagnostics.isEmpty)
    }
}

extension NetworkEnvironment {
    fileprivate var lane: Int {
        get { self[SharedResponseTests.Lane.self] }
        set { self[SharedResponseTests.Lane.self] = newValue }
    }
}
