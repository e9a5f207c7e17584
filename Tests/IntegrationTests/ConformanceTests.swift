#if TestServer && URLSession
import Foundation
import Networking
import NetworkingTestServer
@testable import NetworkingTesting
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

#if AsyncHTTPClient
import AsyncHTTPClient
import NetworkingAsyncHTTPClient
#endif

extension Loopback {
    /// The conformance suite, run over the transports of the package.
    @Suite(.serialized, .timeLimit(.minutes(20)))
    struct ConformanceTests {
        #if canImport(FoundationNetworking)
        /// The checks that URLSession on Linux fails, with the reason.
        ///
        /// The numbers are those of `Documentation/Architecture/ClientDefects.md`.
        static let knownLimits: [String: String] = [
            "repeated headers in any spelling": "L21: their order is lost",
            "header values in ISO 8859-1": "L20: refused",
            "GET with a body": "L22: refused, since it would not be sent",
            "field without a space": "L20: refused",
            "gzip of the caller that ends early": "L38: libcurl takes what it has decoded for the whole",
            "chunk size with trailing bytes": "L39: libcurl ignores it",
            "interleaved echo": "L6: streams are read to their end before anything is sent",
            "trailers": "L10: they crash the process",
            "end within the head": "L10: it crashes the process",
            "damaged responses": "L10: some end within the head",
            "bytes after a response": "L37: they reach the next response",
            "bytes on an idle connection": "L37: they reach the next response",
        ]

        /// The known limits that would crash the process or wait until the stack's timeout.
        static let untried: Set = ["interleaved echo", "trailers", "end within the head", "damaged responses"]

        /// The known limits that occur only at random.
        static let intermittent: Set = ["repeated headers in any spelling", "bytes after a response"]
        #else
        static let knownLimits: [String: String] = [:]
        static let untried: Set<String> = []
        static let intermittent: Set<String> = []
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
        @Test(.tags(.concurrency, .memory), arguments: TransportCheck.all)
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
            try await check.run { server in AnyNetworkingComponent(MockTransport(respondingAs: server)) }
        }

        private static func run(_ check: TransportCheck, on transport: some NetworkingComponent) async throws {
            guard let reason = knownLimits[check.name] else { return try await check.run(on: transport) }
            try await withKnownIssue(
                Comment(rawValue: reason),
                upTo: .swift63,
                isIntermittent: intermittent.contains(check.name)
            ) {
                try await check.run(on: transport)
            }
        }

        // MARK: Documentation

        @Test func checkNamesAreUniqueAndKnown() {
            let names = TransportCheck.all.map(\.name)
            #expect(Set(names).count == names.count)
            #expect(Set(Self.knownLimits.keys).isSubset(of: names))
            #expect(Self.untried.union(Self.intermittent).isSubset(of: Self.knownLimits.keys))
        }

        /// The table of `Documentation/Architecture/Conformance.md` names each check, and marks it as it is run here.
        @Test func documentedTableMatchesTheChecks() throws {
            let file = URL(filePath: #filePath)
                .appending(path: "../../../Documentation/Architecture/Conformance.md").standardized
            let text = try String(contentsOf: file, encoding: .utf8)
            var marks: [String: [Substring]] = [:]
            for row in text.split(separator: "\n") where row.hasPrefix("| `") {
                let cells = row.split(separator: "|").map { $0.drop { $0 == " " }.prefix { $0 != " " } }
                for name in row.split(separator: "|")[0].matches(of: /`([^`]+)`/) {
                    #expect(
                        marks.updateValue(Array(cells.dropFirst()), forKey: String(name.1)) == nil,
                        "\(name.1) twice"
                    )
                }
            }
            #expect(Set(marks.keys) == Set(TransportCheck.all.map(\.name)))
            for check in TransportCheck.all {
                let marks = try #require(marks[check.name])
                #expect((marks[1] == "✓") == !check.needsSockets, "MockTransport, \(check)")
                #if canImport(FoundationNetworking)
                #expect((marks[0] == "✓") == (Self.knownLimits[check.name] == nil), "URLSession, \(check)")
                #endif
            }
        }
    }
}
#endif
