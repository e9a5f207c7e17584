#if TestServer && URLSession
import Foundation
import Networking
import NetworkingTestServer
import NetworkingTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

#if AsyncHTTPClient
import AsyncHTTPClient
import NetworkingAsyncHTTPClient
#endif

/// The conformance suite over the transports of the package.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct ConformanceTests {
    /// The checks that URLSession on Linux fails, and why; the numbers are those of `Documentation/Transports.md`.
    #if canImport(FoundationNetworking)
    static let knownLimits: [String: String] = [
        "interleaved echo": "L6: streams are read to their end before anything is sent",
        "trailers": "L10: a trailer crashes the process",
        "end within the head": "L10: it crashes the process",
        "damaged responses": "L10: some end within the head",
    ]

    /// The known limits that end the process or wait for ever, so that they are not even tried.
    static let untried: Set = ["interleaved echo", "trailers", "end within the head", "damaged responses"]
    #else
    static let knownLimits: [String: String] = [:]
    static let untried: Set<String> = []
    #endif

    private static let tried = TransportCheck.all.filter { !untried.contains($0.name) }

    @Test(arguments: tried)
    func urlSessionTransport(check: TransportCheck) async throws {
        try await Self.run(check, on: URLSessionTransport(configuration: .ephemeral))
    }

    @Test(arguments: tried)
    func sharedURLSession(check: TransportCheck) async throws {
        try await Self.run(check, on: URLSession.shared)
    }

    #if AsyncHTTPClient
    @Test(arguments: TransportCheck.all)
    func asyncHTTPClientTransport(check: TransportCheck) async throws {
        let transport = AsyncHTTPClientTransport()
        try await check.run(on: transport)
        try await transport.shutdown()
    }

    @Test(arguments: TransportCheck.all)
    func httpClient(check: TransportCheck) async throws {
        let client = HTTPClient(configuration: .networking)
        defer { client.shutdown { _ in } }
        try await check.run(on: client)
    }
    #endif

    @Test(arguments: TransportCheck.all.filter { !$0.needsSockets })
    func mockTransport(check: TransportCheck) async throws {
        try await check.run { server in AnyNetworkingComponent(MockTransport(answeringAs: server)) }
    }

    private static func run(_ check: TransportCheck, on transport: some NetworkingComponent) async throws {
        guard let reason = knownLimits[check.name] else { return try await check.run(on: transport) }
        await withKnownIssue(Comment(rawValue: reason)) { try await check.run(on: transport) }
    }

    @Test func everyKnownLimitIsACheck() {
        #expect(Set(Self.knownLimits.keys).isSubset(of: Set(TransportCheck.all.map(\.name))))
        #expect(Self.untried.isSubset(of: Set(Self.knownLimits.keys)))
    }

    @Test func checksHaveNamesOfTheirOwn() {
        let names = TransportCheck.all.map(\.name)
        #expect(Set(names).count == names.count)
    }
}
#endif
