#if Crypto
import Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingSigning
import NetworkingTesting
import Synchronization
import Testing

/// The accepted difference between clocks, and the time before expiry at which credentials are renewed.
@Suite(.timeLimit(.minutes(20)))
struct LeewayTests {
    // MARK: Message signatures

    private func isGood(_ request: HTTPRequestData, by verifier: MessageVerifier, after seconds: Double) async -> Bool {
        do {
            try await onTheDay(after: seconds) { try await verifier.verify(request) }
            return true
        } catch {
            return false
        }
    }

    /// A request signed at the time zero, with a lifetime of a minute.
    private var signed: HTTPRequestData {
        get async throws {
            try await Vectors.request
                .signed(by: MessageSigner(Vectors.secret, keyID: "app-1", lifetime: .seconds(60)))
        }
    }

    @Test(arguments: [
        (-31.0, false, true), (-30, true, true), (-121, false, false), (-120, false, true), (90, true, true),
        (91, false, true), (180, false, true), (181, false, false),
    ])
    func acceptsClockDifferencesWithinTheLeeway(after seconds: Double, isGoodByDefault: Bool, isGood: Bool) async throws
    {
        let request = try await signed
        let standard = MessageVerifier(Vectors.secret, keyID: "app-1", requiring: [.method])
        #expect(await self.isGood(request, by: standard, after: seconds) == isGoodByDefault)
        let patient = MessageVerifier(
            Vectors.secret,
            keyID: "app-1",
            requiring: [.method],
            leeway: .seconds(120)
        )
        #expect(await self.isGood(request, by: patient, after: seconds) == isGood)
        let asking = MessageVerifier(requiring: [.method], leeway: .seconds(120)) { _ in Vectors.secret }
        #expect(await self.isGood(request, by: asking, after: seconds) == isGood)
    }

    // MARK: Credentials of AWS

    private let clock = ManualClock(start: Date(timeIntervalSince1970: 1_440_938_160))

    private func network(_ provider: AWSCredentialProvider, _ transport: MockTransport) -> some NetworkingComponent {
        transport
            .signed(with: AWSSigner(provider, region: "eu-central-1", service: "dynamodb"))
            .server(authority: "api.example.com")
            .environment(\.clock, .manual(clock))
    }

    @Test func renewsCredentialsWithinTheLeeway() async throws {
        let calls = Mutex(0)
        let end = clock.date.addingTimeInterval(3_600)
        let provider = AWSCredentialProvider(leeway: .seconds(600)) {
            calls.withLock { $0 += 1 }
            return AWSCredentials(accessKeyID: "KEY", secretAccessKey: "secret-1", expirationDate: end)
        }
        let network = network(provider, MockTransport { _ in .ok() })
        try await network.data(HTTPRequestData(path: "a"))
        clock.advance(by: .seconds(2_999))
        try await network.data(HTTPRequestData(path: "a"))
        #expect(calls.withLock { $0 } == 1)
        clock.advance(by: .seconds(1))
        while calls.withLock({ $0 }) < 2 {
            try await network.data(HTTPRequestData(path: "a"))
            await Task.yield()
        }
    }

    @Test func fetchOfCredentialsTimesOut() async throws {
        let clock = clock
        let provider = AWSCredentialProvider(timeout: .seconds(5)) {
            try await NetworkClock.manual(clock).sleep(for: .seconds(3_600))
            return AWSCredentials(accessKeyID: "KEY", secretAccessKey: "secret-1")
        }
        let transport = MockTransport { _ in .ok() }
        let network = network(provider, transport)
        let call = Task { try await network.data(HTTPRequestData(path: "a")) }
        try await clock.waitForSleepers(2)
        defer { call.cancel() }
        try #require(clock.nextDeadline.map { clock.now.duration(to: $0) } == .seconds(5))
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .timeout)
        #expect(transport.requests.isEmpty)
    }
}
#endif
