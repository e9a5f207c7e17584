#if Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingSigning

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct AWSCredentialProviderTests {
    private let clock = ManualClock(start: Date(timeIntervalSince1970: 1_440_938_160))

    /// A role that returns keys with consecutive numbers.
    private final class Role: Sendable {
        private let count = Atomic<Int>(0)
        let lifetime: TimeInterval?
        private let clock: ManualClock
        private let (opened, opener) = AsyncStream<Void>.makeStream()

        init(lifetime: TimeInterval? = nil, clock: ManualClock, isOpen: Bool = true) {
            self.lifetime = lifetime
            self.clock = clock
            if isOpen {
                open()
            }
        }

        var calls: Int {
            count.load(ordering: .relaxed)
        }

        func open() {
            opener.finish()
        }

        func credentials() async throws -> AWSCredentials {
            let number = count.add(1, ordering: .relaxed).newValue
            for await _ in opened {}
            try Task.checkCancellation()
            return AWSCredentials(
                accessKeyID: "KEY\(number)",
                secretAccessKey: "secret-\(number)",
                sessionToken: "secret-token-\(number)",
                expirationDate: lifetime.map { clock.date.addingTimeInterval($0) }
            )
        }
    }

    private func stack(_ transport: MockTransport, _ provider: AWSCredentialProvider) -> some NetworkingComponent {
        transport
            .signed(with: AWSSigner(provider, region: "eu-central-1", service: "dynamodb"))
            .server(authority: "api.example.com")
            .environment(\.clock, .manual(clock))
    }

    private func keys(_ transport: MockTransport) -> [Substring?] {
        transport.requests.map { request in
            request.headerFields[.authorization]?.split(separator: "Credential=").last?.prefix { $0 != "/" }
        }
    }

    @Test func concurrentRequestsShareOneFetch() async throws {
        let role = Role(clock: clock, isOpen: false)
        let transport = MockTransport { _ in .ok() }
        let network = stack(transport, AWSCredentialProvider { try await role.credentials() })
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask { _ = try await network.data(HTTPRequestData(path: "a")) }
            }
            try await eventually("role.calls != 0") { role.calls != 0 }
            role.open()
            try await group.waitForAll()
        }
        #expect(role.calls == 1)
        #expect(keys(transport) == Array(repeating: "KEY1", count: 20))
    }

    @Test func cancelledCallerDoesNotCancelTheFetchForOthers() async throws {
        let role = Role(clock: clock, isOpen: false)
        let transport = MockTransport { _ in .ok() }
        let network = stack(transport, AWSCredentialProvider { try await role.credentials() })
        let first = Task { try await network.data(HTTPRequestData(path: "a")) }
        try await eventually("role.calls != 0") { role.calls != 0 }
        let second = Task { try await network.data(HTTPRequestData(path: "b")) }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        role.open()
        _ = try await second.value
        #expect(role.calls == 1)
        #expect(transport.requests.map(\.path) == ["/b"])
    }

    @Test func renewsCredentialsBeforeTheyExpire() async throws {
        let role = Role(lifetime: 3_600, clock: clock)
        let transport = MockTransport { _ in .ok() }
        let network = stack(transport, AWSCredentialProvider { try await role.credentials() })
        _ = try await network.data(HTTPRequestData(path: "a"))
        clock.advance(by: .seconds(3_539))
        _ = try await network.data(HTTPRequestData(path: "a"))
        #expect(keys(transport) == ["KEY1", "KEY1"])
        #expect(role.calls == 1)
        clock.advance(by: .seconds(1))
        // The renewal runs in the background: requests use the old key until the new one arrives.
        while keys(transport).last != "KEY2" {
            _ = try await network.data(HTTPRequestData(path: "a"))
            await Task.yield()
        }
        #expect(role.calls == 2)
        #expect(transport.requests.last?.headerFields[.amzSecurityToken] == "secret-token-2")
    }

    @Test(arguments: ["ExpiredToken", "ExpiredTokenException"])
    func renewsCredentialsThatAWSReportsAsExpired(code: String) async throws {
        let role = Role(clock: clock)
        let transport = MockTransport([
            MockResponse(status: .badRequest, data: Data("{\"__type\":\"\(code)\"}".utf8)), .ok(), .ok(),
        ])
        let network = stack(transport, AWSCredentialProvider { try await role.credentials() })
        _ = try await network.data(HTTPRequestData(path: "a"))
        _ = try await network.data(HTTPRequestData(path: "a"))
        #expect(keys(transport) == ["KEY1", "KEY2", "KEY2"])
    }

    @Test func doesNotRenewPermanentCredentials() async throws {
        let transport = MockTransport([
            MockResponse(status: .badRequest, data: Data("{\"__type\":\"ExpiredToken\"}".utf8))
        ])
        let credentials = AWSCredentials(accessKeyID: "a", secretAccessKey: "b")
        let network = stack(transport, AWSCredentialProvider(credentials))
        #expect(try await network.data(HTTPRequestData(path: "a")).status == .badRequest)
        #expect(transport.requests.count == 1)
    }

    @Test func failedFetchThrowsAndIsRetriedByTheNextRequest() async throws {
        struct NoRole: Error {}
        let calls = Atomic<Int>(0)
        let transport = MockTransport { _ in .ok() }
        let provider = AWSCredentialProvider {
            guard calls.add(1, ordering: .relaxed).newValue > 1 else { throw NoRole() }
            return AWSCredentials(accessKeyID: "KEY", secretAccessKey: "secret")
        }
        let network = stack(transport, provider)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData(path: "a")) }
        #expect(error?.kind == .unauthorized)
        #expect(error?.underlying is NoRole)
        #expect(error?.request.path == "/a")
        #expect(transport.requests.isEmpty)
        _ = try await network.data(HTTPRequestData(path: "a"))
        #expect(keys(transport) == ["KEY"])
    }

    /// The principal of such requests is the id of the key, and not that of the store.
    @Test(arguments: [nil, "role"])
    func failedFetchIsRetried(keyID: String?) async throws {
        let calls = Atomic<Int>(0)
        let transport = MockTransport { _ in .ok() }
        let provider = AWSCredentialProvider(keyID: keyID) { [clock] in
            let number = calls.add(1, ordering: .relaxed).newValue
            guard number != 2 else { throw NetworkingError(.timeout, request: HTTPRequestData()) }
            let date = clock.date.addingTimeInterval(3_600)
            return AWSCredentials(accessKeyID: "KEY\(number)", secretAccessKey: "secret", expirationDate: date)
        }
        let network =
            transport
            .signed(with: AWSSigner(provider, region: "eu-central-1", service: "dynamodb"))
            .retry(.immediate())
            .server(authority: "api.example.com")
            .environment(\.clock, .manual(clock))
        _ = try await network.data(HTTPRequestData(path: "a"))
        clock.advance(by: .seconds(3_600))
        #expect(try await network.data(HTTPRequestData(path: "a")).status == .ok)
        #expect(keys(transport) == ["KEY1", "KEY3"])
    }

    @Test func failedRenewalKeepsValidCredentials() async throws {
        struct NoRole: Error {}
        let calls = Atomic<Int>(0)
        let transport = MockTransport { _ in .ok() }
        let provider = AWSCredentialProvider { [clock] in
            guard calls.add(1, ordering: .relaxed).newValue == 1 else { throw NoRole() }
            let date = clock.date.addingTimeInterval(90)
            return AWSCredentials(accessKeyID: "KEY", secretAccessKey: "secret", expirationDate: date)
        }
        let network = stack(transport, provider)
        _ = try await network.data(HTTPRequestData(path: "a"))
        clock.advance(by: .seconds(60))
        _ = try await network.data(HTTPRequestData(path: "a"))
        #expect(calls.load(ordering: .relaxed) == 2)
        #expect(keys(transport) == ["KEY", "KEY"])
    }

    /// Only fetches of refused credentials count towards the limit on refreshes.
    @Test func acceptedCredentialsCanBeRenewedRepeatedly() async throws {
        let role = Role(lifetime: 1, clock: clock)
        let transport = MockTransport { _ in .ok() }
        let network = stack(transport, AWSCredentialProvider { try await role.credentials() })
        for _ in 0..<20 {
            #expect(try await network.data(HTTPRequestData(path: "a")).status == .ok)
            clock.advance(by: .seconds(1))
        }
        #expect(role.calls == 20)
    }

    @Test(arguments: [400, 401, 403, 429, 500])
    func refusedCredentialsCountTowardsTheLimit(status: Int) async throws {
        let role = Role(lifetime: 1, clock: clock)
        let transport = MockTransport { _ in MockResponse(status: HTTPResponse.Status(code: status)) }
        let network = stack(transport, AWSCredentialProvider { try await role.credentials() })
        for _ in 0..<20 {
            _ = try? await network.data(HTTPRequestData(path: "a"))
            clock.advance(by: .seconds(1))
        }
        #expect(role.calls == 5)
    }

    @Test func fetchCanUseTheStackThatWaitsForIt() async throws {
        let transport = MockTransport { _ in .text("KEY") }
        let stackBox = Mutex<AnyNetworkingComponent?>(nil)
        let provider = AWSCredentialProvider {
            let network = try #require(stackBox.withLock { $0 })
            let response = try await network.data(HTTPRequestData(path: "role"))
            return AWSCredentials(
                accessKeyID: String(decoding: response.data, as: UTF8.self),
                secretAccessKey: "secret"
            )
        }
        let network = AnyNetworkingComponent(stack(transport, provider))
        stackBox.withLock { $0 = network }
        _ = try await network.data(HTTPRequestData(path: "a"))
        #expect(transport.requests.map(\.path) == ["/role", "/a"])
        #expect(keys(transport) == [nil, "KEY"])
    }

    @Test func keyIDStaysTheSameAcrossRenewals() async throws {
        let role = Role(lifetime: 10, clock: clock)
        let provider = AWSCredentialProvider { try await role.credentials() }
        let signer = AWSSigner(provider, region: "r", service: "s")
        let name = signer.keyID
        _ = try await stack(MockTransport { _ in .ok() }, provider).data(HTTPRequestData(path: "a"))
        #expect(signer.keyID == name)
        #expect(
            AWSSigner(AWSCredentialProvider(keyID: "role") { try await role.credentials() }, region: "r", service: "s")
                .keyID == "role"
        )
    }
}
#endif
