#if AsyncHTTPClient && TestServer
import AsyncHTTPClient
import Foundation
import HTTPTypes
import Networking
import NetworkingAsyncHTTPClient
import NetworkingTestServer
import NetworkingTesting
import NIOCore
import NIOSSL
import Synchronization
import TestSupport
import Testing

extension Loopback {
    /// AsyncHTTPClient over TLS, in HTTP/2 and HTTP/1.1.
    @Suite(
        .timeLimit(.minutes(5)),
        .requires(.trustme)
    )
    struct SecureTransportTests {
        /// Runs a server with a certificate, and a transport that trusts an authority, the tests' own or the system's.
        private static func withTransport(
            trusting authority: KeyPath<Certificates, String>? = \.authority,
            presenting identity: KeyPath<Certificates, Certificates.Identity> = \.right,
            speaking protocols: [String] = ["h2", "http/1.1"],
            _ body: nonisolated(nonsending) (AsyncHTTPClientTransport, URL) async throws -> Void
        ) async throws {
            try await withTemporaryDirectory { directory in
                let certificates = try await Certificates(in: directory)
                var configuration = HTTPClient.Configuration.networking
                if let authority {
                    var tls = TLSConfiguration.makeClientConfiguration()
                    tls.trustRoots = .file(certificates[keyPath: authority])
                    configuration.tlsConfiguration = tls
                }
                let transport = AsyncHTTPClientTransport(configuration: configuration)
                try await SecureOrigin.run(with: certificates[keyPath: identity], speaking: protocols) { origin in
                    try await body(transport, try #require(URL(string: "https://127.0.0.1:\(origin.port)")))
                }
                try await transport.shutdown()
            }
        }

        @Test(arguments: [["h2", "http/1.1"], ["http/1.1"], ["h2"]])
        func speaksWhatTheServerDoes(protocols: [String]) async throws {
            try await Self.withTransport(speaking: protocols) { transport, url in
                let network = transport.timeout(.seconds(60)).server(baseURL: url)
                let response = try await network.data(HTTPRequestData(path: "version"))
                #expect(String(decoding: response.data, as: UTF8.self) == protocols.first)
                // Many at once, as streams of one connection or over several.
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for index in 0..<200 {
                        group.addTask { try await network.data(HTTPRequestData(path: "zeros/\(index)")).data.count }
                    }
                    let counts = try await group.reduce(into: Set<Int>()) { $0.insert($1) }
                    #expect(counts == Set(0..<200))
                }
                let large = try await network.data(HTTPRequestData(path: "zeros/10000000"))
                #expect(large.data.count == 10_000_000)
            }
        }

        /// The answer comes while the body is being sent, and each waits for the other.
        @Test(arguments: ["h2", "http/1.1"])
        func speaksAndListensAtOnce(version: String) async throws {
            try await Self.withTransport(speaking: [version]) { transport, url in
                let (lines, continuation) = AsyncStream.makeStream(of: Data.self)
                var request = HTTPRequestData(method: .post, url: url.appending(path: "echo"))
                request.body = .stream(lines)
                continuation.yield(Data("1".utf8))
                let echo = try await transport.timeout(.seconds(60)).stream(request)
                var heard: [String] = []
                for try await chunk in echo {
                    heard.append(String(decoding: chunk, as: UTF8.self))
                    if heard.count == 5 {
                        continuation.finish()
                    } else {
                        continuation.yield(Data("\(heard.count + 1)".utf8))
                    }
                }
                #expect(heard == ["1", "2", "3", "4", "5"])
            }
        }

        @Test(arguments: ["h2", "http/1.1"])
        func whatBreaksOffIsAnError(version: String) async throws {
            try await Self.withTransport(speaking: [version]) { transport, url in
                let network = transport.timeout(.seconds(60)).server(baseURL: url)
                let broken = await #expect(throws: NetworkingError.self) {
                    try await network.data(HTTPRequestData(path: "reset"))
                }
                #expect(broken?.kind == .truncated || broken?.kind == .connectionLost)
                let clock = ManualClock()
                let stalled = Task {
                    try await transport.timeout(idle: .seconds(1)).environment(\.clock, .manual(clock))
                        .data(HTTPRequestData(url: url.appending(path: "stall"))) { progress in
                            if progress.received.count == 4 {
                                clock.advance(by: .seconds(1))
                            }
                        }
                }
                let result = await stalled.result
                let error = #expect(throws: NetworkingError.self) { try result.get() }
                #expect(error?.kind == .timeout)
                // The connection goes on.
                let next = try await network.data(HTTPRequestData(path: "version"))
                #expect(next.status == .ok)
            }
        }

        @Test(arguments: ["h2", "http/1.1"])
        func cancellationEndsTheExchange(version: String) async throws {
            try await Self.withTransport(speaking: [version]) { transport, url in
                let (reading, began) = AsyncStream.makeStream(of: Void.self)
                let call = Task {
                    try await transport.data(HTTPRequestData(url: url.appending(path: "stall"))) { progress in
                        if progress.received.count == 4 {
                            began.yield()
                        }
                    }
                }
                for await _ in reading { break }
                call.cancel()
                await #expect(throws: CancellationError.self) { try await call.value }
            }
        }

        // MARK: What would end the process

        @Test(arguments: [0, 9, 99, 1_000, 1_234])
        func aStatusThatIsNoneIsRefused(code: Int) async throws {
            try await Self.withTransport(speaking: ["h2"]) { transport, url in
                let error = await #expect(throws: NetworkingError.self) {
                    try await transport.timeout(.seconds(60))
                        .data(HTTPRequestData(url: url.appending(path: "status/\(code)")))
                }
                #expect(error?.kind == .invalidResponse)
            }
        }

        /// The whole answer, and then a reset, while the body is on its way; NIO may drop the one for the other.
        @Test(arguments: 0..<10)
        func anAnswerThatWantsNoMoreIsAnAnswer(round: Int) async throws {
            try await Self.withTransport(speaking: ["h2"]) { transport, url in
                var request = HTTPRequestData(method: .post, url: url.appending(path: "early"))
                request.body = .stream {
                    AsyncStream { continuation in
                        for _ in 0..<256 { continuation.yield(Data(count: 64 << 10)) }
                        continuation.finish()
                    }
                }
                do {
                    let response = try await transport.timeout(.seconds(60)).data(request)
                    #expect(response.data == Data("early".utf8))
                } catch let error as NetworkingError {
                    #expect(error.kind == .connectionLost)
                }
                let next = try await transport.data(HTTPRequestData(url: url.appending(path: "version")))
                #expect(next.data == Data("h2".utf8))
            }
        }

        // MARK: Bytes behind a response

        @Test func bytesBehindAResponseDoNotReachTheNextOne() async throws {
            try await Self.withTransport(speaking: ["http/1.1"]) { transport, url in
                let network = transport.timeout(.seconds(60)).server(baseURL: url)
                for _ in 1...20 {
                    let response = try await network.data(HTTPRequestData(path: "poison"))
                    #expect(response.data == Data("ok".utf8))
                    for _ in 1...2 {
                        let next = try await network.data(HTTPRequestData(path: "version"))
                        #expect(next.data == Data("http/1.1".utf8))
                        #expect(!next.headerFields.contains { $0.name.rawName.hasPrefix("X-") })
                    }
                }
            }
        }

        /// The server answers at the head, reads no more and keeps the stream open.
        @Test(.timeLimit(.minutes(1)), arguments: ["h2", "http/1.1"])
        func refusedUploadEndsAndIsReleased(version: String) async throws {
            final class Token: Sendable {
                let isReleased = Gate()
                deinit { isReleased.open() }
            }
            try await Self.withTransport(speaking: [version]) { transport, url in
                var gates: [Gate] = []
                for _ in 1...10 {
                    let token = Token()
                    gates.append(token.isReleased)
                    let body = RequestBody.stream {
                        AsyncStream { [token] in withExtendedLifetime(token) { Data(count: 64 << 10) } }
                    }
                    let request = HTTPRequestData(method: .post, url: url.appending(path: "refused"), body: body)
                    let response = try await transport.data(request)
                    #expect(response.status.code == 413)
                    #expect(response.data == Data("refused".utf8))
                }
                for gate in gates { try await gate.wait() }
            }
        }

        // MARK: Certificates

        @Test(arguments: ["unknown authority", "another host", "expired"])
        func certificatesThatAreNotTrustedAreRefused(flaw: String) async throws {
            let identity: KeyPath<Certificates, Certificates.Identity> =
                switch flaw {
                case "another host": \.elsewhere
                case "expired": \.expired
                default: \.right
                }
            try await Self.withTransport(
                trusting: flaw == "unknown authority" ? nil : \.authority,
                presenting: identity
            ) { transport, url in
                let error = await #expect(throws: NetworkingError.self) {
                    try await transport.timeout(.seconds(60)).data(HTTPRequestData(url: url.appending(path: "version")))
                }
                #expect(error?.kind == .tls, "\(String(describing: error?.underlying))")
                #expect(error?.reason.contains("certificate") == true)
            }
        }
    }
}
#endif
