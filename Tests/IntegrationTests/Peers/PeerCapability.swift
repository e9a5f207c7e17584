#if TestServer && URLSession && AsyncHTTPClient && os(Linux)
import AsyncHTTPClient
import Foundation
import HTTPTypes
import Networking
import NetworkingAsyncHTTPClient
import NetworkingTesting
import NIOSSL
import Synchronization
import TestSupport
import Testing

/// A part of HTTP that a server and a transport must agree on.
enum PeerCapability: String, CaseIterable, Sendable {
    case keptConnection
    case limitedConnection
    case concurrentRequests
    case largeResponseFields
    case largeRequestFields
    case tooLargeRequestFields
    case slowBody
    case trailers
    case earlyHints
    case compression
    case range
    case head
    case notModified
    case redirect
    case upload
    case expectation
    case refusedUpload
    case download
    case resumedDownload

    /// Checks the capability over a stack with a transport and the URL of a server, or of the relay to it.
    func check(_ network: AnyNetworkingComponent, _ peer: Peer, _ relay: Relay?) async throws {
        switch self {
        case .keptConnection:
            var ports: Set<String?> = []
            for _ in 0..<5 {
                let response = try await network.data(HTTPRequestData(path: "text.txt"))
                ports.insert(response.headerFields[Self.port])
            }
            #expect(ports.count == 1 && !ports.contains(nil), "\(ports)")
        case .limitedConnection:
            // The server closes a connection after two requests, which must not fail a third.
            var ports: Set<String?> = []
            for _ in 0..<12 {
                let response = try await network.data(HTTPRequestData(path: "closing/ready.txt"))
                #expect(response.status == .ok)
                ports.insert(response.headerFields[Self.port])
            }
            #expect(ports.count > 1, "\(ports)")
        case .concurrentRequests:
            try await Self.sendConcurrently(network)
        case .largeResponseFields:
            let response = try await network.data(HTTPRequestData(path: "app/large"))
            for field in PeerSite.largeFields {
                #expect(response.headerFields[field.name] == field.value)
            }
            #expect(response.data == Data("large".utf8))
        case .largeRequestFields:
            var request = HTTPRequestData(path: "text.txt")
            request.headerFields[Self.large] = String(repeating: "v", count: 6_000)
            try await Self.expectText(network, request)
        case .tooLargeRequestFields:
            var request = HTTPRequestData(path: "text.txt")
            request.headerFields[Self.large] = String(repeating: "v", count: 100_000)
            let result = await Result { [request] in try await network.data(request).status }
            // A server may close the connection while the client still sends. AsyncHTTPClient refuses a head that does
            // not fit into a frame of HTTP/2.
            switch result {
            case .success(let status): #expect(status == .ok || status.kind == .clientError, "\(status)")
            case .failure(let error as NetworkingError) where error.kind == .invalidRequest: break
            case .failure(let error): Self.expectLostConnection(error)
            }
            try await Self.expectText(network)
        case .slowBody:
            let response = try await network.data(HTTPRequestData(path: "app/slow"))
            #expect(response.data == Data(PeerSite.slowText.utf8))
        case .trailers:
            let response = try await network.data(HTTPRequestData(path: "app/trailers"))
            #expect(response.data == Data("with trailers".utf8))
            try await Self.expectText(network)
        case .earlyHints:
            let response = try await network.data(HTTPRequestData(path: "app/hints"))
            #expect(response.status == .ok)
            #expect(response.data == Data("page".utf8))
        case .compression:
            let events = EventRecorder()
            var request = HTTPRequestData(path: "text.txt")
            request.headerFields[.acceptEncoding] = "gzip"
            let response = try await network.observed(by: events).data(request)
            let isWhole = response.data == PeerSite.text
            #expect(isWhole, "\(response.data.count) bytes")
            #expect(response.headerFields[.contentEncoding] == nil)
            #expect(response.headerFields[.vary]?.lowercased().contains("accept-encoding") ?? true)
        case .range:
            let start = PeerSite.film.count - 1_000
            var request = HTTPRequestData(path: "film.bin")
            request.headerFields[.range] = "bytes=\(start)-"
            let response = try await network.data(request)
            #expect(response.status == .partialContent)
            #expect(response.data == PeerSite.film.bytes[start...])
        case .head:
            for _ in 0..<3 {
                let response = try await network.data(HTTPRequestData(method: .head, path: "film.bin"))
                #expect(response.headerFields[.contentLength] == "\(PeerSite.film.count)")
                #expect(response.data.isEmpty)
            }
            try await Self.expectText(network)
        case .notModified:
            var request = HTTPRequestData(path: "text.txt")
            let first = try await network.data(request)
            let eTag: String = try #require(first.headerFields[.eTag])
            request.headerFields[.ifNoneMatch] = eTag
            for _ in 0..<3 {
                let response = try await network.data(request)
                #expect(response.status == .notModified)
                #expect(response.data.isEmpty)
            }
        case .redirect:
            let response = try await network.data(HTTPRequestData(path: "folder"))
            #expect(response.data == Data("<p>index</p>".utf8))
            #expect(response.redirects.count == 1)
        case .upload:
            try await Self.expectUploads(network, peer)
        case .expectation:
            var request = HTTPRequestData(method: .post, path: "app/echo", body: .data(Self.bytes))
            request.headerFields[.expect] = "100-continue"
            let response = try await network.data(request)
            #expect(response.status == .ok)
            let isWhole = response.data == Self.bytes
            #expect(isWhole, "\(response.data.count) bytes")
        case .refusedUpload:
            let request = HTTPRequestData(method: .post, path: "limited/echo", body: .data(Data(count: 4 << 20)))
            let result = await Result { try await network.data(request).status }
            switch result {
            case .success(let status): #expect(status == .contentTooLarge)
            case .failure(let error): Self.expectLostConnection(error)
            }
            try await Self.expectText(network)
        case .download:
            try await withTemporaryDirectory { directory in
                let file = directory.appending(path: "film.bin")
                let downloaded = try await network.download(HTTPRequestData(path: "film.bin"), to: file)
                #expect(downloaded.byteCount == Int64(PeerSite.film.count))
                let isWhole = try Data(contentsOf: file) == PeerSite.film.bytes
                #expect(isWhole)
            }
        case .resumedDownload:
            try await Self.expectResumedDownload(network, peer, try #require(relay))
        }
    }

    private static let port = HTTPField.Name("X-Port")!
    private static let large = HTTPField.Name("X-Large")!
    private static let bytes = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })

    private static func expectText(
        _ network: AnyNetworkingComponent,
        _ request: HTTPRequestData = HTTPRequestData(path: "text.txt")
    ) async throws {
        let response = try await network.data(request)
        #expect(response.status == .ok)
        let isWhole = response.data == PeerSite.text
        #expect(isWhole, "\(response.data.count) bytes")
    }

    private static func expectLostConnection(_ error: any Error) {
        let kind = (error as? NetworkingError)?.kind
        #expect(kind == .connectionLost, "\(String(reflecting: error))")
    }

    /// Ranges of different lengths, so that a response to another request is noticed.
    private static func sendConcurrently(_ network: AnyNetworkingComponent) async throws {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 1...60 {
                group.addTask {
                    let start = PeerSite.film.count - number * 1_000
                    var request = HTTPRequestData(path: "film.bin")
                    request.headerFields[.range] = "bytes=\(start)-"
                    return try await network.data(request).data == PeerSite.film.bytes[start...]
                }
            }
            for try await isRight in group {
                #expect(isRight)
            }
        }
    }

    /// Bodies with a length and without one, echoed by the origin or stored by the server.
    private static func expectUploads(_ network: AnyNetworkingComponent, _ peer: Peer) async throws {
        let streamed = RequestBody.stream {
            AsyncStream { continuation in
                for start in stride(from: 0, to: bytes.count, by: 100_000) {
                    continuation.yield(bytes[start..<start + 100_000])
                }
                continuation.finish()
            }
        }
        for body in [RequestBody.data(bytes), streamed] {
            let response = try await network.data(HTTPRequestData(method: .post, path: "app/echo", body: body))
            let isWhole = response.data == bytes
            #expect(isWhole, "\(response.status): \(response.data.count) bytes")
            guard peer.kind.storesUploads else { continue }
            let name = UUID().uuidString
            let stored = try await network.data(HTTPRequestData(method: .put, path: "upload/\(name)", body: body))
            #expect(stored.status == .created)
            let isSame = try await network.data(HTTPRequestData(path: "upload/\(name)")).data == bytes
            #expect(isSame)
        }
    }

    /// The server crashes within the body and starts again, and the next call continues.
    private static func expectResumedDownload(
        _ network: AnyNetworkingComponent,
        _ peer: Peer,
        _ relay: Relay
    ) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "film.bin")
            let error = await #expect(throws: NetworkingError.self) {
                try await network.download(HTTPRequestData(path: "film.bin"), to: file) { progress in
                    if progress.received.count > 1 << 20 {
                        peer.crash()
                    }
                }
            }
            #expect(error?.kind == .connectionLost || error?.kind == .truncated, "\(String(reflecting: error))")
            peer.end()
            relay.endLimit()
            let again = try await Peer.start(peer.kind, peer.site)
            let restarted = try #require(again, "the server did not start again: \(peer.site.log)")
            let result = await Result {
                let downloaded = try await network.download(HTTPRequestData(path: "film.bin"), to: file)
                #expect(downloaded.resumedByteCount > 0)
                let isWhole = try Data(contentsOf: file) == PeerSite.film.bytes
                #expect(isWhole)
            }
            restarted.end()
            try result.get()
        }
    }
}

/// A capability, a transport and a version of HTTP.
struct PeerCase: Sendable, CustomTestStringConvertible {
    let kind: String
    let capability: PeerCapability
    let client: Client
    let version: PeerVersion

    var testDescription: String {
        "\(kind), \(client.rawValue), \(version.rawValue), \(capability)"
    }

    /// The cases of a kind of server that are tried.
    static func all(of kind: PeerKind) -> [PeerCase] {
        product(of: kind).filter { PeerDifferences.untried($0) == nil }
    }

    /// The cases of a kind of server that are not tried.
    static func untried(of kind: PeerKind) -> [PeerCase] {
        product(of: kind).filter { PeerDifferences.untried($0) != nil }
    }

    private static func product(of kind: PeerKind) -> [PeerCase] {
        PeerCapability.allCases.filter { !kind.lacks.contains($0) }
            .flatMap { capability in
                Client.allCases.flatMap { client in
                    kind.versions.map {
                        PeerCase(kind: kind.name, capability: capability, client: client, version: $0)
                    }
                }
            }
    }

    /// Checks the case with the server of the current suite, or expects its known difference.
    func check() async throws {
        let reason = PeerDifferences.known[testDescription]
        let hasFailed = Atomic(false)
        defer { PeerTable.record(self, passes: !hasFailed.load(ordering: .relaxed)) }
        try await withKnownIssue(
            reason.map { Comment(rawValue: $0) },
            isIntermittent: reason == nil || PeerDifferences.intermittent.contains(testDescription)
        ) {
            try await checkOverTransport()
        } matching: { _ in
            hasFailed.store(true, ordering: .relaxed)
            return reason != nil
        }
    }

    private func checkOverTransport() async throws {
        let current = try #require(Peer.current)
        guard capability == .resumedDownload else { return try await check(current) }
        // A server of its own, because it is killed.
        try await Peer.run(current.kind) { peer in
            let target = version == .http1 ? peer.site.port : peer.site.securePort
            try await Relay.run(to: target, passing: 4 << 20) { relay in try await check(peer, over: relay) }
        }
    }

    private func check(_ peer: Peer, over relay: Relay? = nil) async throws {
        let url = try peer.site.url(version, port: relay?.port)
        switch client {
        case .asyncHTTPClient:
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(TestCertificates.authority)
            var configuration = HTTPClient.Configuration.networking
            configuration.tlsConfiguration = tls
            let transport = AsyncHTTPClientTransport(configuration: configuration)
            try await transport.untilShutDown {
                let stack = transport.timeout(.seconds(30)).server(baseURL: url)
                try await capability.check(AnyNetworkingComponent(stack), peer, relay)
            }
        case .urlSession:
            try #require(TrustedAuthority.isAvailable, "This libcurl does not use an OpenSSL that can be called.")
            try await TrustedAuthority.trusting(TestCertificates.authority) {
                let stack = URLSessionTransport(configuration: .ephemeral).timeout(.seconds(30)).server(baseURL: url)
                try await capability.check(AnyNetworkingComponent(stack), peer, relay)
            }
        }
    }
}
#endif
