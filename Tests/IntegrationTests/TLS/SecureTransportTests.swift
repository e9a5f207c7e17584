#if AsyncHTTPClient && TestServer
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

extension Loopback {
    /// Every transport over TLS, in HTTP/2 and HTTP/1.1.
    @Suite(.tags(.concurrency, .memory), .timeLimit(.minutes(20)))
    struct SecureTransportTests {
        static let versions = ["h2", "http/1.1"]

        // MARK: Exchanges

        @Test(arguments: SecureClient.allCases, [["h2", "http/1.1"], ["http/1.1"], ["h2"]])
        func speaksTheProtocolOfTheServer(client: SecureClient, protocols: [String]) async throws {
            try await client.run(speaking: protocols) { network, origin in
                let response = try await network.data(HTTPRequestData(path: "version"))
                #expect(String(decoding: response.data, as: UTF8.self) == protocols.first)
                #expect(origin.requests == ["GET /version"])
            }
        }

        @Test(arguments: SecureClient.allCases, versions)
        func manyRequestsAtOnceEachGetTheirResponse(client: SecureClient, version: String) async throws {
            try await client.run(speaking: [version]) { network, _ in
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

        @Test(arguments: SecureClient.allCases, versions)
        func sendsBodies(client: SecureClient, version: String) async throws {
            try await client.run(speaking: [version]) { network, origin in
                let bytes = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
                let streamed = RequestBody.stream {
                    AsyncStream { continuation in
                        for start in stride(from: 0, to: bytes.count, by: 100_000) {
                            continuation.yield(bytes[start..<min(start + 100_000, bytes.count)])
                        }
                        continuation.finish()
                    }
                }
                for body in [RequestBody.data(bytes), streamed] {
                    let response = try await network.data(HTTPRequestData(method: .post, path: "echo", body: body))
                    // Not in the expectation, which would search for the differences of a million bytes.
                    let isWhole = response.data == bytes
                    #expect(isWhole, "\(response.data.count) bytes")
                }
                #expect(origin.requests == ["POST /echo", "POST /echo"])
            }
        }

        /// The server sends the response head after the request head.
        ///
        /// It ends the response after the request body.
        @Test(.timeLimit(.minutes(20)), arguments: SecureClient.allCases, versions)
        func responseThatBeginsBeforeTheRequestEndsIsReadToItsEnd(client: SecureClient, version: String) async throws {
            try await client.run(speaking: [version]) { network, _ in
                let body = RequestBody.data(Data(count: 1_000_000))
                let response = try await network.data(HTTPRequestData(method: .post, path: "accepted", body: body))
                #expect(response.data == Data("accepted".utf8))
            }
        }

        @Test(arguments: SecureClient.allCases, versions)
        func requestsInSequenceUseOneConnection(client: SecureClient, version: String) async throws {
            try await client.run(speaking: [version]) { network, origin in
                for _ in 1...5 {
                    try await network.data(HTTPRequestData(path: "version"))
                }
                #expect(origin.requests.count == 5)
                #expect(origin.connections == 1)
            }
        }

        /// URLSession on Linux measures nothing (L17).
        @Test(arguments: SecureClient.allCases, versions)
        func metricsNameTheProtocolWhereTheTransportKnowsIt(client: SecureClient, version: String) async throws {
            try await client.run(speaking: [version]) { network, _ in
                let events = EventRecorder()
                try await network.observed(by: events).data(HTTPRequestData(path: "version"))
                let measured = events.events.compactMap { event in
                    if case ExchangeEvent.connectionMeasured(let metrics) = event {
                        metrics.protocolVersion
                    } else {
                        nil
                    }
                }
                #expect(measured == (client == .asyncHTTPClient ? [version == "h2" ? "2" : "1.1"] : []))
            }
        }

        // MARK: Connections that end

        @Test(arguments: SecureClient.allCases, versions)
        func connectionThatEndsWithinABodyIsAnError(client: SecureClient, version: String) async throws {
            try await client.run(speaking: [version]) { network, _ in
                let error = await #expect(throws: NetworkingError.self) {
                    try await network.data(HTTPRequestData(path: "reset"))
                }
                #expect(error?.kind == .truncated || error?.kind == .connectionLost, "\(String(reflecting: error))")
                let next = try await network.data(HTTPRequestData(path: "version"))
                #expect(next.status == .ok)
            }
        }

        @Test(arguments: SecureClient.allCases, versions)
        func stalledBodyTimesOut(client: SecureClient, version: String) async throws {
            try await client.run(speaking: [version]) { network, _ in
                let clock = ManualClock()
                let stalled = Task {
                    try await network.timeout(idle: .seconds(1)).environment(\.clock, .manual(clock))
                        .data(HTTPRequestData(path: "stall")) { progress in
                            if progress.received.count == 4 {
                                clock.advance(by: .seconds(1))
                            }
                        }
                }
                let result = await stalled.result
                let error = #expect(throws: NetworkingError.self) { try result.get() }
                #expect(error?.kind == .timeout)
                let next = try await network.data(HTTPRequestData(path: "version"))
                #expect(next.status == .ok)
            }
        }

        @Test(arguments: SecureClient.allCases, versions)
        func cancellationEndsTheExchange(client: SecureClient, version: String) async throws {
            try await client.run(speaking: [version]) { network, _ in
                let (reading, began) = AsyncStream.makeStream(of: Void.self)
                let call = Task {
                    try await network.data(HTTPRequestData(path: "stall")) { progress in
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

        @Test(arguments: SecureClient.allCases)
        func bodyUpToTheEndOfTheConnectionArrives(client: SecureClient) async throws {
            try await client.run(speaking: ["http/1.1"]) { network, _ in
                let response = try await network.data(HTTPRequestData(path: "ended"))
                #expect(response.data == Data("whole".utf8))
            }
        }

        /// Without a close_notify, anyone on the way may have cut the connection.
        ///
        /// libcurl takes such a body for complete (L41).
        @Test(arguments: SecureClient.allCases)
        func bodyUpToAnEndThatTheServerDoesNotConfirmIsTruncated(client: SecureClient) async throws {
            try await client.run(speaking: ["http/1.1"]) { network, origin in
                let check = {
                    let error = await #expect(throws: NetworkingError.self) {
                        try await network.data(HTTPRequestData(path: "cut"))
                    }
                    #expect(error?.kind == .truncated, "\(String(reflecting: error))")
                    #expect(error?.response?.status == .ok)
                }
                if client == .asyncHTTPClient {
                    await check()
                } else {
                    try await withKnownIssue("L41: it looks complete", upTo: .swift63) { await check() }
                }
                #expect(origin.requests == ["GET /cut"])
            }
        }

        @Test(arguments: SecureClient.allCases)
        func responseThatIsCompleteNeedsNoCloseNotify(client: SecureClient) async throws {
            try await client.run(speaking: ["http/1.1"]) { network, origin in
                for _ in 1...5 {
                    let response = try await network.data(HTTPRequestData(path: "abandoned"))
                    #expect(response.data == Data("whole".utf8))
                }
                #expect(origin.requests.count == 5)
                #expect(origin.connections == 5)
            }
        }

        /// The kind `tls` would say that the server has not seen the request.
        @Test(arguments: SecureClient.allCases)
        func damageWithinABodyIsNotAFailedHandshake(client: SecureClient) async throws {
            try await client.run(speaking: ["http/1.1"]) { network, _ in
                let error = await #expect(throws: NetworkingError.self) {
                    try await network.data(HTTPRequestData(path: "garbled"))
                }
                #expect(error?.kind == .truncated || error?.kind == .connectionLost, "\(String(reflecting: error))")
            }
        }

        /// The kind `tls` would say that the server has not seen the POST.
        @Test(arguments: SecureClient.allCases, ["/silent", "/silent/cut"])
        func connectionThatEndsBeforeTheHeadIsLost(client: SecureClient, path: String) async throws {
            try await client.run(speaking: ["http/1.1"]) { network, origin in
                let error = await #expect(throws: NetworkingError.self) {
                    let body = RequestBody.data(Data("body".utf8))
                    try await network.data(HTTPRequestData(method: .post, path: path, body: body))
                }
                #expect(error?.kind == .connectionLost, "\(String(reflecting: error))")
                #expect(origin.requests == ["POST \(path)"])
            }
        }

        // MARK: Handshakes that fail

        @Test(arguments: SecureClient.allCases, [SecureOrigin.Handshake.cutAfterClientHello, .cutWithinServerHello])
        func handshakeThatTheServerCutsOffIsAnError(
            client: SecureClient,
            handshake: SecureOrigin.Handshake
        ) async throws {
            try await client.run(handshake: handshake) { network, origin in
                let error = await #expect(throws: NetworkingError.self) {
                    try await network.data(HTTPRequestData(path: "version"))
                }
                #expect(error?.kind == .tls, "\(String(reflecting: error))")
                #expect(error?.isHandshakeFailure == true, "\(String(reflecting: error))")
                #expect(origin.requests.isEmpty)
                #expect(origin.connections == 1)
            }
        }

        /// A certificate that clients must refuse.
        enum Flaw: String, CaseIterable, Sendable {
            case unknownAuthority, authorityThatTheSystemLacks, anotherHost, expired, notYetValid

            var identity: TestCertificates.Identity {
                switch self {
                case .unknownAuthority: .unknown
                case .authorityThatTheSystemLacks: .trusted
                case .anotherHost: .elsewhere
                case .expired: .expired
                case .notYetValid: .early
                }
            }

            /// The reason in the words of the library that checks the certificate.
            func words(of client: SecureClient) -> String {
                guard client != .asyncHTTPClient else {
                    return self == .anotherHost ? "names another host" : "CERTIFICATE_VERIFY_FAILED"
                }
                return switch self {
                case .unknownAuthority, .authorityThatTheSystemLacks: "unable to get local issuer certificate"
                case .anotherHost: "no alternative certificate subject name matches target host name"
                case .expired: "certificate has expired"
                case .notYetValid: "certificate is not yet valid"
                }
            }
        }

        @Test(arguments: SecureClient.allCases, Flaw.allCases)
        func certificatesThatAreNotTrustedAreRefused(client: SecureClient, flaw: Flaw) async throws {
            try await client.run(
                trusting: flaw == .authorityThatTheSystemLacks ? nil : TestCertificates.authority,
                presenting: flaw.identity
            ) { network, origin in
                for method in [HTTPRequest.Method.get, .post] {
                    let connections = origin.connections
                    let body: RequestBody? = method == .post ? .data(Data("body".utf8)) : nil
                    let error = await #expect(throws: NetworkingError.self) {
                        try await network.data(HTTPRequestData(method: method, path: "echo", body: body))
                    }
                    #expect(error?.kind == .tls, "\(String(reflecting: error))")
                    #expect(error?.isHandshakeFailure == false, "\(String(reflecting: error))")
                    #expect(error?.reason.contains(flaw.words(of: client)) == true, "\(String(reflecting: error))")
                    #expect(error?.reason.contains("Check its certificate") == true)
                    #expect(origin.connections == connections + 1)
                }
                #expect(origin.requests.isEmpty)
            }
        }
    }
}
#endif
